//! Rust.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::{Cover, Unit};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Rust",
    runners: &runners::ALL,
    manifests: &["Cargo.toml"],
    unit,
    tests_alone: None,
    test_files: &["*_test.rs"],
    gates: &gates::ALL,
    programs: &[("cargo", "install Rust with rustup")],
    caches: &[("CARGO_HOME", ".cargo")],
    registry: None,
    example: "cargo test --workspace",
};

/// Files that name a version of the tools.
const VERSIONS: [&str; 2] = ["rust-toolchain.toml", "rust-toolchain"];

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    folder.text("Cargo.toml")?;
    let manager = match folder.first(&VERSIONS) {
        Some(file) => format!("cargo, of the version in {file}"),
        None => "cargo".to_owned(),
    };
    let mut unit = Unit::new("Cargo.toml", &manager).needs("cargo");
    let manifest = folder.toml("Cargo.toml").unwrap_or_default();
    if let Some(workspace) = manifest.get("workspace") {
        unit.covers = Cover::Below {
            except: super::manifest::strings(workspace.get("exclude")),
        };
    }
    // The members, too, whatever `default-members` names.
    Some(unit.tested_by("cargo test", "cargo test --quiet --workspace"))
}
