//! C and C++.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "C and C++",
    runners: &runners::ALL,
};
