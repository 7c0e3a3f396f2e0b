//! .NET.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: ".NET",
    runners: &runners::ALL,
};
