//! Ruby.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Ruby",
    runners: &runners::ALL,
};
