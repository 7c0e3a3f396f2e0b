//! Files that decide what commands of Go do.

use std::path::Path;
use std::sync::LazyLock;

use regex::RegexSet;

use crate::toolchains::gates::{Gate, Parts};

pub(super) static ALL: [Gate; 4] = [
    Gate::Shadows(takes_packages_out),
    Gate::Anywhere(&["go.work", "go.env", "vendor/modules.txt"]),
    Gate::Named(&[
        "magefile.go",
        "Taskfile.yml",
        "Taskfile.yaml",
        ".golangci.*",
    ]),
    Gate::Partly(&["go.mod"], Parts::Lines(&REQUIREMENTS)),
];

/// A new module takes the packages of its folder out of the one around it.
fn takes_packages_out(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "go.mod")
}

/// Requirements of `go.mod`, comments and ends of blocks.
static REQUIREMENTS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r"^(?:require )?[\w.~/!-]+ v[\w.+-]+(?: // indirect)?$",
        r"^require \($",
        r"^\)$",
        r"^//",
    ])
    .unwrap_or_default()
});
