//! Node.js.

mod gates;
mod managers;
mod runners;
mod workspaces;

use serde_json::Value;

use super::manifest::Manifest;
use super::tree::Folder;
use super::unit::{Probe, Program, Step, Unit, plain_program};
use super::{Toolchain, is_test_file};
use managers::Manager;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Node.js",
    runners: &runners::ALL,
    manifests: &["package.json"],
    unit,
    tests_alone: Some(tests_alone),
    test_files: &[
        "*.test.js",
        "*.test.jsx",
        "*.test.ts",
        "*.test.tsx",
        "*.test.mjs",
        "*.test.cjs",
        "*.test.mts",
        "*.test.cts",
        "*.spec.js",
        "*.spec.jsx",
        "*.spec.ts",
        "*.spec.tsx",
        "*.spec.mjs",
        "*.spec.cjs",
        "*.spec.mts",
        "*.spec.cts",
        "test.js",
        "test.jsx",
        "test.ts",
        "test.tsx",
        "test.mjs",
        "test.cjs",
        "test.mts",
        "test.cts",
    ],
    gates: &gates::ALL,
    programs: &[
        ("node", "install Node.js"),
        ("npm", "install Node.js, which has npm"),
        ("npx", "install Node.js, which has npx"),
        (
            "pnpm",
            "install pnpm (`npm install -g pnpm`, or `corepack enable pnpm`)",
        ),
        (
            "yarn",
            "install Yarn (`npm install -g yarn`, or `corepack enable yarn`)",
        ),
        ("bun", "install Bun"),
    ],
    caches: &[
        ("npm_config_cache", ".npm"),
        ("npm_config_store_dir", ".local/share/pnpm/store"),
        ("YARN_CACHE_FOLDER", ".cache/yarn"),
        ("YARN_GLOBAL_FOLDER", ".yarn/berry"),
        ("BUN_INSTALL_CACHE_DIR", ".bun/install/cache"),
    ],
    registry: Some("npm config get registry"),
    example: "npm test",
};

/// Scripts of `package.json` that decide what testing means.
pub(super) const SCRIPTS: [&str; 9] = [
    "pretest",
    "test",
    "posttest",
    "prelint",
    "lint",
    "postlint",
    "prebuild",
    "build",
    "postbuild",
];
/// Most files of tests that are read.
const MAX_READ: usize = 100;
/// Text that `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";
/// Lists of dependencies in `package.json`.
const DEPENDENCIES: [&str; 4] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
];

fn script<'v>(package: &'v Value, name: &str) -> Option<&'v str> {
    package.pointer("/scripts")?.get(name)?.as_str()
}

/// The test script of a package, if it tests anything.
fn test_script(package: &Value) -> Option<&str> {
    script(package, "test").filter(|test| !test.contains(NO_TESTS))
}

fn has_dependencies(package: &Value) -> bool {
    DEPENDENCIES.iter().any(|name| {
        let listed = package.get(name).and_then(Value::as_object);
        listed.is_some_and(|listed| !listed.is_empty())
    })
}

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let package = folder.json("package.json")?;
    let manager = Manager::of(folder, &package);
    let mut unit = Unit::new("package.json", &manager.text(folder, &package));
    unit.programs.push(manager.program(&package));
    unit.manifests
        .push(Manifest::package_json("package.json", &package));
    let workspace = workspaces::Workspace::of(folder, &package);
    if has_dependencies(&package) || workspace.is_some() {
        unit.install = Some(manager.install(folder).to_owned());
        unit.fills = Some("node_modules");
    }
    let run = |name: &str| manager.run(name);
    if script(&package, "lint").is_some() {
        unit.lint.push(Step::plain(&run("lint")));
    }
    if needs_build(folder, &package) {
        unit.build.push(Step::plain(&run("build")));
    }
    if test_script(&package).is_some() {
        unit.test.push(Step::plain(&run("test")));
    } else if workspace.is_none() && manager == Manager::Bun && has_bun_tests(folder) {
        unit.test.push(Step::plain("bun test"));
    } else if workspace.is_none() && has_node_tests(folder) {
        unit.test.push(Step::plain("node --test"));
        unit.programs.push(Program::command("node"));
    }
    for name in ["lint", "test"] {
        // Yarn may find programs in archives, where no other program can see them.
        let is_other = name == "test" && test_script(&package).is_none();
        if is_other || manager == Manager::YarnBerry {
            continue;
        }
        let program = script(&package, name).and_then(plain_program);
        unit.programs.extend(program.map(|program| Program {
            probe: Probe::Installed,
            ..Program::command(program)
        }));
    }
    if let Some(workspace) = workspace {
        workspace.add_to(&mut unit, folder, &package, manager);
    }
    Some(unit)
}

/// True if the package's own entry is built: a file that is not in the repository, with a script that
/// makes it, which neither the tests nor the install run themselves.
fn needs_build(folder: &Folder<'_>, package: &Value) -> bool {
    let runs_build = |name: &str| script(package, name).is_some_and(|text| text.contains("build"));
    if script(package, "build").is_none()
        || test_script(package).is_none()
        || ["pretest", "test", "prepare"]
            .iter()
            .any(|name| runs_build(name))
    {
        return false;
    }
    let entry = |name: &str| package.get(name).and_then(Value::as_str);
    let mut entries = ["main", "module"].into_iter().filter_map(entry);
    entries.any(|entry| {
        let path = entry.trim_start_matches("./");
        let has = |path: &str| folder.holds(path);
        !has(path) && !has(&format!("{path}.js")) && !has(&format!("{path}/index.js"))
    })
}

/// Tests without a `package.json`.
fn tests_alone(folder: &Folder<'_>, file: &str) -> Option<Unit> {
    let unit = Unit::new(file, "node").needs("node");
    has_node_tests(folder).then(|| unit.tested_by("node --test", "node --test"))
}

/// True if a file that `node --test` finds is written for it.
fn has_node_tests(folder: &Folder<'_>) -> bool {
    let is_test = |file: &&str| {
        let is_script = [".js", ".mjs", ".cjs"]
            .iter()
            .any(|end| file.ends_with(end));
        is_script && is_test_file(file.as_ref())
    };
    let mut texts = folder
        .files()
        .filter(is_test)
        .take(MAX_READ)
        .filter_map(|file| folder.text(file));
    texts.any(|text| text.contains("node:test"))
}

/// Names of the files in which `bun test` finds tests.
fn has_bun_tests(folder: &Folder<'_>) -> bool {
    folder.files().any(|file| {
        let name = file.rsplit('/').next().unwrap_or_default();
        [".test.", ".spec.", "_test.", "_spec."]
            .iter()
            .any(|part| name.contains(part))
    })
}
