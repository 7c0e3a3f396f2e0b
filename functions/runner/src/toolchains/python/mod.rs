//! Python.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Python",
    runners: &runners::ALL,
};
