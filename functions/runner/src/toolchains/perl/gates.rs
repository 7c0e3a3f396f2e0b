//! Files that decide what commands of Perl do.

use std::path::Path;

use crate::toolchains::gates::{Gate, shadows};

pub(super) static ALL: [Gate; 3] = [
    Gate::Anywhere(&[".proverc", ".perl-version", "cpanfile.snapshot", ".yath.rc"]),
    Gate::Named(&["Makefile.PL", "Build.PL", "dist.ini", "cpanfile"]),
    Gate::Shadows(stands_before_a_module),
];

/// Modules that tests and their runner load by name, or the first part of these.
static MODULES: [&str; 22] = [
    "App", "Carp", "Config", "Cwd", "Data", "Encode", "Exporter", "Fcntl", "File", "IO", "IPC",
    "List", "POSIX", "Scalar", "Storable", "TAP", "Test", "Test2", "Time", "feature", "strict",
    "warnings",
];

/// `prove -l` puts `lib` before the modules of Perl.
fn stands_before_a_module(path: &Path) -> bool {
    shadows(path, &["lib"], |parts| {
        let is_module = parts.last().is_some_and(|file| file.ends_with(".pm"));
        let name = parts.first().map(|part| part.trim_end_matches(".pm"));
        is_module && name.is_some_and(|name| MODULES.contains(&name))
    })
}
