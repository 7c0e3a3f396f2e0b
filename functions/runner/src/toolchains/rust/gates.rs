//! Files that decide what commands of Rust do.

use crate::toolchains::gates::{Gate, Parts};

pub(super) static ALL: [Gate; 3] = [
    Gate::Anywhere(&[
        "rust-toolchain",
        "rust-toolchain.toml",
        ".cargo/config",
        ".cargo/config.toml",
        ".config/nextest.toml",
        "nextest.toml",
    ]),
    Gate::Named(&[
        "build.rs",
        "Makefile.toml",
        "clippy.toml",
        ".clippy.toml",
        "xtask/",
    ]),
    Gate::Partly(&["Cargo.toml"], Parts::Toml(&FREE)),
];

/// Keys of `Cargo.toml` for dependencies and for people.
static FREE: [&str; 32] = [
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "target.*.dependencies",
    "target.*.dev-dependencies",
    "target.*.build-dependencies",
    "workspace.dependencies",
    "workspace.package",
    "features",
    "badges",
    "package.version",
    "package.authors",
    "package.description",
    "package.license",
    "package.license-file",
    "package.repository",
    "package.homepage",
    "package.documentation",
    "package.readme",
    "package.keywords",
    "package.categories",
    "package.include",
    "package.exclude",
    "package.publish",
    "package.rust-version",
    "package.metadata.docs",
    "package.metadata.binstall",
    "package.metadata.deb",
    "package.metadata.release",
    "package.default-run",
    "package.links",
    "package.edition",
];
