//! Java.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Java",
    runners: &runners::ALL,
};
