//! PHP.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "PHP",
    runners: &runners::ALL,
};
