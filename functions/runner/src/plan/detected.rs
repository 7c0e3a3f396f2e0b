//! The plan of a repository without `verify.yaml`, derived from its manifests.
//!
//! Every top-level manifest with tests adds them; a makefile's `test` counts only if no other
//! manifest has tests, since it usually runs the same ones.
//!
//! The commands are those of the base: a `scripts.test` or a make target that an agent changed is
//! restored in the verified checkout, and every test file of the base must still exist.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::types::{Command, Plan};
use super::{FrozenPlan, MAX_PLAN_BYTES};
use super::{makefile, python};
use crate::safe_files;

/// Scripts of `package.json` that decide what testing means.
const SCRIPTS: [&str; 6] = ["pretest", "test", "posttest", "prelint", "lint", "postlint"];
/// Targets of a makefile that do.
const TARGETS: [&str; 2] = ["test", "lint"];
/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

/// A manifest of the base, as far as it must not change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Manifest {
    /// The scripts of `package.json` at the base.
    PackageJson {
        scripts: Vec<(String, Option<Value>)>,
    },
    /// A makefile at the base.
    Makefile { name: String, text: String },
}

/// The plan that the manifests in `dir` suggest.
pub(super) fn detect(dir: &Path) -> FrozenPlan {
    let mut frozen = FrozenPlan {
        plan: Plan::default(),
        manifests: Vec::new(),
        keeps_test_files: true,
    };
    let has = |name: &str| text(dir, name).is_some();
    if has("Cargo.toml") {
        let test = Command::new("cargo test", "cargo test --quiet");
        frozen.plan.tests.push(test);
    }
    if let Some(package) = text(dir, "package.json") {
        package_json(dir, &package, &mut frozen);
    }
    if python::MANIFESTS.into_iter().any(has) {
        let test = Command::new("python tests", python::command(dir));
        frozen.plan.tests.push(test);
    }
    if has("go.mod") {
        let test = Command::new("go test", "go test ./...");
        frozen.plan.tests.push(test);
    }
    let makefile = makefile::NAMES
        .into_iter()
        .find_map(|name| Some((name, text(dir, name)?)));
    if let Some((name, text)) = makefile {
        from_makefile(name, text, &mut frozen);
    }
    frozen
}

fn text(dir: &Path, name: &str) -> Option<String> {
    let bytes = safe_files::read(&dir.join(name), MAX_PLAN_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

fn package_json(dir: &Path, text: &str, frozen: &mut FrozenPlan) {
    let Ok(package) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let script = |name: &str| package.pointer("/scripts")?.get(name)?.as_str();
    let tests = script("test").filter(|test| !test.contains(NO_TESTS));
    let lints = script("lint");
    if tests.is_none() && lints.is_none() {
        return;
    }
    let depends = ["dependencies", "devDependencies"].iter().any(|name| {
        let listed = package.get(name).and_then(Value::as_object);
        listed.is_some_and(|listed| !listed.is_empty())
    });
    let install = if !depends {
        None
    } else if dir.join("package-lock.json").is_file() {
        Some("npm ci --no-audit --no-fund")
    } else {
        Some("npm install --no-audit --no-fund --no-package-lock")
    };
    let plan = &mut frozen.plan;
    plan.setup
        .extend(install.map(|run| Command::new("install", run)));
    if tests.is_some() {
        plan.tests.push(Command::new("npm test", "npm test"));
    }
    if lints.is_some() {
        let lint = Command::new("npm run lint", "npm run lint");
        plan.contracts.commands.push(lint);
    }
    let scripts = SCRIPTS.map(|name| {
        let script = package.pointer("/scripts").and_then(|all| all.get(name));
        (name.to_owned(), script.cloned())
    });
    frozen.manifests.push(Manifest::PackageJson {
        scripts: scripts.to_vec(),
    });
}

fn from_makefile(name: &str, text: String, frozen: &mut FrozenPlan) {
    let plan = &mut frozen.plan;
    // The name is given, so that no other makefile comes before it.
    if makefile::rules(&text, "test").is_some() && plan.tests.is_empty() {
        let test = Command::new("make test", &format!("make -f {name} test"));
        plan.tests.push(test);
    }
    if makefile::rules(&text, "lint").is_some() && plan.contracts.commands.is_empty() {
        let lint = Command::new("make lint", &format!("make -f {name} lint"));
        plan.contracts.commands.push(lint);
    }
    frozen.manifests.push(Manifest::Makefile {
        name: name.to_owned(),
        text,
    });
}

impl Manifest {
    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Manifest::PackageJson { .. } => "package.json",
            Manifest::Makefile { name, .. } => name,
        }
    }

    /// The text that `now`, the commit's, must be replaced by; none if its commands are those of
    /// the base. Without the file there is nothing to run, and that fails by itself.
    pub(crate) fn put_back(&self, now: &str) -> Option<String> {
        match self {
            Manifest::PackageJson { scripts } => put_scripts_back(scripts, now),
            Manifest::Makefile { text, .. } => TARGETS
                .iter()
                .any(|target| makefile::rules(text, target) != makefile::rules(now, target))
                .then(|| text.clone()),
        }
    }
}

fn put_scripts_back(base: &[(String, Option<Value>)], now: &str) -> Option<String> {
    let mut package: Value = serde_json::from_str(now).ok()?;
    let object = package.as_object_mut()?;
    let scripts = object
        .entry("scripts")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if !scripts.is_object() {
        *scripts = Value::Object(serde_json::Map::new());
    }
    let scripts = scripts.as_object_mut()?;
    let mut changed = false;
    for (name, script) in base {
        if scripts.get(name) != script.as_ref() {
            changed = true;
            match script {
                Some(script) => scripts.insert(name.clone(), script.clone()),
                None => scripts.remove(name),
            };
        }
    }
    changed.then(|| package.to_string())
}

/// True for paths that by custom hold tests.
pub(super) fn is_test_file(path: &Path) -> bool {
    let in_test_folder = path.parent().is_some_and(|parent| {
        parent.components().any(|part| {
            matches!(
                part.as_os_str().to_str(),
                Some("tests" | "test" | "__tests__" | "spec")
            )
        })
    });
    let name = path.file_name().and_then(|name| name.to_str());
    in_test_folder || name.is_some_and(has_test_name)
}

/// Files that can switch the tests of a detected plan off, or lead their runner astray.
const SWITCHES: [&str; 17] = [
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.py",
    "unittest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "package.json",
    ".npmrc",
    "Cargo.toml",
    "build.rs",
    "go.work",
    ".mocharc",
];
/// Beginnings of the names of others.
const SWITCH_STEMS: [&str; 6] = [
    "jest.config.",
    "vitest.config.",
    "vite.config.",
    ".mocharc.",
    "karma.conf.",
    "playwright.config.",
];

/// True for paths that by custom decide whether and how tests run.
pub(crate) fn can_switch_off(path: &Path) -> bool {
    let parts = || {
        path.components()
            .filter_map(|part| part.as_os_str().to_str())
    };
    let Some(name) = parts().next_back() else {
        return false;
    };
    let in_cargo_config = path
        .parent()
        .is_some_and(|parent| parent.ends_with(".cargo"))
        && matches!(name, "config" | "config.toml");
    in_cargo_config
        || SWITCHES.contains(&name)
        || SWITCH_STEMS.iter().any(|stem| name.starts_with(stem))
        || parts().any(|part| part.ends_with(".egg-info") || part.ends_with(".dist-info"))
        || parts().any(|part| matches!(part, "pytest" | "_pytest"))
}

fn has_test_name(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    match extension {
        "py" => stem.starts_with("test_") || stem.ends_with("_test"),
        "go" | "rs" => stem.ends_with("_test"),
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" => {
            stem.ends_with(".test") || stem.ends_with(".spec") || stem == "test"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_the_base_are_put_back_and_the_rest_is_the_agents() {
        let base = Manifest::PackageJson {
            scripts: vec![
                ("pretest".to_owned(), None),
                ("test".to_owned(), Some(Value::from("node --test"))),
            ],
        };
        let now = r#"{"name":"x","scripts":{"test":"true","pretest":"x","build":"y"}}"#;
        let back: Value = serde_json::from_str(&base.put_back(now).unwrap()).unwrap();
        assert_eq!(
            back,
            serde_json::json!({"name": "x", "scripts": {"test": "node --test", "build": "y"}})
        );
        let same = r#"{"name":"other","scripts":{"test":"node --test"}}"#;
        assert_eq!(base.put_back(same), None);
        assert!(base.put_back(r#"{"scripts":5}"#).is_some());
    }

    #[test]
    fn a_makefile_whose_targets_are_the_same_is_left_alone() {
        let base = Manifest::Makefile {
            name: "Makefile".to_owned(),
            text: "test:\n\ta\n".to_owned(),
        };
        assert_eq!(base.put_back("X = 1\ntest:\n\ta\n"), None);
        assert!(base.put_back("test:\n\ttrue\n").is_some());
        assert!(base.put_back("test:\n\ta\n\ntest:\n\ttrue\n").is_some());
    }

    #[test]
    fn test_files_are_known_by_custom() {
        for yes in [
            "tests/a.rs",
            "a/__tests__/x.js",
            "test_a.py",
            "x.spec.ts",
            "a/b_test.go",
        ] {
            assert!(is_test_file(Path::new(yes)), "{yes}");
        }
        for no in [
            "src/tests.rs",
            "contest.py",
            "README.md",
            "tests",
            "latest.go",
        ] {
            assert!(!is_test_file(Path::new(no)), "{no}");
        }
    }
}
