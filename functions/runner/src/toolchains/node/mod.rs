//! Node.js.

mod runners;

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Node.js",
    runners: &runners::ALL,
};
