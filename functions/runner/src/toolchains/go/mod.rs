//! Go.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Go",
    runners: &runners::ALL,
};
