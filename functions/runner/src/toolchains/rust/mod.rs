//! Rust.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Rust",
    runners: &runners::ALL,
};
