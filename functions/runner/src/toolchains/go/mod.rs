//! Go.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::{Cover, Unit, quoted};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Go",
    runners: &runners::ALL,
    manifests: &["go.work", "go.mod"],
    unit,
    tests_alone: None,
    test_files: &["*_test.go"],
    gates: &gates::ALL,
    programs: &[("go", "install Go")],
    caches: &[("GOMODCACHE", "go/pkg/mod"), ("GOCACHE", ".cache/go-build")],
    registry: None,
    example: "go test ./...",
};

/// Most modules of a workspace that are tested.
const MAX_MODULES: usize = 50;

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    if let Some(text) = folder.text("go.work") {
        let modules = uses(&text);
        let packages: Vec<String> = modules.iter().map(|module| packages_of(module)).collect();
        let mut unit = Unit::new("go.work", &manager(&text, "go.work")).needs("go");
        unit.covers = Cover::Members(modules);
        let run = format!("go test {}", packages.join(" "));
        return Some(if packages.is_empty() || !has_packages(folder) {
            unit
        } else {
            unit.tested_by("go test", &run)
        });
    }
    let text = folder.text("go.mod")?;
    let unit = Unit::new("go.mod", &manager(&text, "go.mod")).needs("go");
    // Without any package `go test` is an error, and there is nothing to test.
    if !has_packages(folder) {
        return Some(unit);
    }
    Some(unit.tested_by("go test", "go test ./..."))
}

fn has_packages(folder: &Folder<'_>) -> bool {
    folder.files().any(|file| file.ends_with(".go"))
}

/// Go, of the version that a file's `toolchain` or `go` line names.
fn manager(text: &str, file: &str) -> String {
    let value = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key));
    match value("toolchain go").or_else(|| value("go ")) {
        Some(version) => format!("go {} by {file}", version.trim()),
        None => "go".to_owned(),
    }
}

/// Folders of the modules of a `go.work`.
fn uses(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let module = match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => {
                in_block = true;
                continue;
            }
            Some(rest) if rest.starts_with([' ', '\t']) => rest.trim(),
            _ if line == ")" => {
                in_block = false;
                continue;
            }
            _ if in_block => line,
            _ => continue,
        };
        if !module.is_empty() && modules.len() < MAX_MODULES {
            modules.push(module.trim_matches('"').trim_start_matches("./").to_owned());
        }
    }
    modules
}

fn packages_of(module: &str) -> String {
    match module {
        "." | "" => "./...".to_owned(),
        module => quoted(&format!("./{module}/...")),
    }
}
