//! Deno.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Deno",
    runners: &runners::ALL,
};
