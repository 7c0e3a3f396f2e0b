//! Elixir.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Elixir",
    runners: &runners::ALL,
};
