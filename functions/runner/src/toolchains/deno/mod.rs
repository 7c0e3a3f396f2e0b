//! Deno.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::{Cover, Step, Unit};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Deno",
    runners: &runners::ALL,
    manifests: &["deno.json", "deno.jsonc"],
    unit,
    tests_alone: Some(tests_alone),
    test_files: &[
        "*_test.ts",
        "*_test.tsx",
        "*_test.js",
        "*_test.jsx",
        "*_test.mts",
        "*_test.mjs",
    ],
    gates: &gates::ALL,
    programs: &[("deno", "install Deno")],
    caches: &[("DENO_DIR", ".cache/deno")],
    registry: None,
    example: "deno test",
};

/// Parts of the names of files in which `deno test` finds tests.
const TESTS: [&str; 2] = ["_test.", ".test."];

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let by = folder.first(&["deno.json", "deno.jsonc"])?;
    let mut unit = Unit::new(by, "deno").needs("deno");
    let configuration = folder.json(by).unwrap_or_default();
    if configuration.get("workspace").is_some() {
        unit.covers = Cover::Below { except: Vec::new() };
    }
    let task = |name: &str| {
        let tasks = configuration.get("tasks");
        tasks.is_some_and(|tasks| tasks.get(name).is_some())
    };
    let is_test = |file: &str| {
        let name = file.rsplit('/').next().unwrap_or_default();
        TESTS.iter().any(|part| name.contains(part))
    };
    if folder.has("deno.lock") {
        unit.install = Some("deno install --frozen".to_owned());
    }
    if task("lint") {
        unit.lint.push(Step::plain("deno task lint"));
    }
    let frozen = if folder.has("deno.lock") {
        " --frozen"
    } else {
        ""
    };
    let package = folder.json("package.json").unwrap_or_default();
    let is_of_node = package.pointer("/scripts/test").is_some();
    Some(if task("test") {
        unit.tested_by("deno task test", "deno task test")
    } else if !is_of_node && folder.files().any(is_test) {
        // What a test may do is its own matter here: it runs in the run's confinement.
        unit.tested_by("deno test", &format!("deno test --allow-all{frozen}"))
    } else {
        unit
    })
}

/// Tests without a `deno.json`.
fn tests_alone(folder: &Folder<'_>, file: &str) -> Option<Unit> {
    let is_of_deno = folder.text(file)?.contains("Deno.test(");
    let unit = Unit::new(file, "deno").needs("deno");
    is_of_deno.then(|| unit.tested_by("deno test", "deno test --allow-all"))
}
