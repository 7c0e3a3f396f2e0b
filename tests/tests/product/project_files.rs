//! Files for people who pick the project up: one toolchain everywhere, the steps of CI, automatic
//! updates of everything that is pinned, and the container for development.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use regex::Regex;
use serde_norway::Value;

use crate::template::root;

const DEVELOPMENT: &str = ".devcontainer/Dockerfile";
const WORKFLOWS: [&str; 2] = [".github/workflows/ci.yml", ".github/workflows/release.yml"];

fn file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    serde_norway::from_str(&file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The only match of an expression's group in a file.
fn value(path: &str, expression: &str) -> String {
    let text = file(path);
    let values: BTreeSet<&str> = Regex::new(expression)
        .unwrap()
        .captures_iter(&text)
        .map(|captures| captures.get(1).unwrap().as_str())
        .collect();
    assert_eq!(values.len(), 1, "{path}, {expression}: {values:?}");
    (*values.first().unwrap()).to_owned()
}

#[test]
fn one_version_of_rust_is_used_everywhere() {
    let minimum = value("Cargo.toml", r#"(?m)^rust-version = "(\d+\.\d+)"$"#);
    let channel = value("rust-toolchain.toml", r#"(?m)^channel = "([\d.]+)"$"#);
    assert!(
        channel.starts_with(&format!("{minimum}.")),
        "{channel}: {minimum}"
    );
    let base = r"(?m)^ARG RUST_IMAGE=rust:(.*)$";
    let image = value("infra/runner/Dockerfile", base);
    assert!(image.starts_with(&format!("{minimum}-slim-")), "{image}");
    assert_eq!(value(DEVELOPMENT, base), image);
    let components = value("rust-toolchain.toml", r"(?m)^components = (.*)$");
    assert_eq!(components, r#"["clippy", "rustfmt"]"#);
    // The image builds with its own toolchain; it has no use for a file that names another one.
    assert!(!file("infra/runner/Dockerfile.dockerignore").contains("rust-toolchain"));
    let versions = Regex::new(r"Rust (\d+\.\d+)").unwrap();
    for page in ["docs/agents.md", "CONTRIBUTING.md"] {
        let text = file(page);
        for version in versions.captures_iter(&text) {
            assert_eq!(&version[1], minimum, "{page}");
        }
    }
}

/// `.ci/run` beside a `make` that does nothing but print its arguments.
struct Ci {
    dir: tempfile::TempDir,
}

impl Ci {
    /// The script with an edit.
    fn new(edit: impl Fn(&str) -> String) -> Ci {
        let dir = tempfile::tempdir().unwrap();
        let make = "#!/bin/sh\necho \"made $*\"\n[ \"$1\" != \"$FAILING\" ]\n";
        let script = edit(&file(".ci/run"));
        for (name, text) in [("bin/make", make), (".ci/run", script.as_str())] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Ci { dir }
    }

    fn run(&self, arguments: &[&str], failing: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let bin = self.dir.path().join("bin");
        Command::new("bash")
            .arg(self.dir.path().join(".ci/run"))
            .args(arguments)
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("FAILING", failing)
            .output()
            .unwrap()
    }

    /// The make targets that were made, and whether the script succeeded.
    fn made(&self, arguments: &[&str], failing: &str) -> (Vec<String>, bool) {
        let output = self.run(arguments, failing);
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("made "));
        let targets = lines.map(|line| line.split(' ').next().unwrap().to_owned());
        (targets.collect(), output.status.success())
    }
}

#[test]
fn ci_runs_all_steps_or_those_that_are_named_or_numbered() {
    let ci = Ci::new(str::to_owned);
    let list = String::from_utf8(ci.run(&["--list"], "").stdout).unwrap();
    let steps: Vec<String> = list.lines().map(str::to_owned).collect();
    assert!(steps.len() > 5, "{steps:?}");
    assert_eq!(ci.made(&[], ""), (steps.clone(), true));
    let first_and_third = vec![steps[0].clone(), steps[2].clone()];
    assert_eq!(ci.made(&["3", &steps[0]], ""), (first_and_third, true));
    // A step that fails is the last one.
    assert_eq!(ci.made(&[], &steps[1]), (steps[..2].to_vec(), false));
    for wrong in ["0", "8x", "tests", "", "--lists", "lint;ls"] {
        assert_eq!(ci.made(&["lint", wrong], ""), (vec![], false), "{wrong}");
    }
}

#[test]
fn a_budget_holds_only_where_every_step_before_has_run() {
    let cheap = Regex::new(r"'\d+ make test'").unwrap();
    let ci = Ci::new(|script| cheap.replace(script, "'-1 make test'").into_owned());
    let (made, succeeded) = ci.made(&["lint", "test"], "");
    assert_eq!((made.len(), succeeded), (2, false));
    let (made, succeeded) = ci.made(&["test"], "");
    assert_eq!((made.len(), succeeded), (1, true));
}

/// Each value of a key, at any depth.
fn values<'a>(tree: &'a Value, key: &str, matches: &mut Vec<&'a Value>) {
    match tree {
        Value::Mapping(entries) => {
            for (name, value) in entries {
                if name.as_str() == Some(key) {
                    matches.push(value);
                }
                values(value, key, matches);
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| values(item, key, matches)),
        _ => {}
    }
}

#[test]
fn workflows_pin_actions_by_version_and_may_only_read_the_repository() {
    let pinned = Regex::new(r"^[\w-]+/[\w.-]+@v\d+\.\d+\.\d+$").unwrap();
    let existing = fs::read_dir(root().join(".github/workflows")).unwrap();
    assert_eq!(existing.count(), WORKFLOWS.len());
    for path in WORKFLOWS {
        let workflow = yaml(path);
        let read: Value = serde_norway::from_str("contents: read").unwrap();
        assert_eq!(workflow["permissions"], read, "{path}");
        let (mut actions, mut permissions) = (Vec::new(), Vec::new());
        values(&workflow, "uses", &mut actions);
        assert!(!actions.is_empty(), "{path}");
        for action in actions {
            assert!(pinned.is_match(action.as_str().unwrap()), "{action:?}");
        }
        values(&workflow["jobs"], "permissions", &mut permissions);
        let publishes = path.ends_with("release.yml");
        assert_eq!(permissions.len(), usize::from(publishes), "{path}");
        for (name, job) in workflow["jobs"].as_mapping().unwrap() {
            assert!(job["timeout-minutes"].is_u64(), "{path}: {name:?}");
        }
    }
    // The steps are those of `.ci/run`, by its own list.
    let ci = file(WORKFLOWS[0]);
    for line in [".ci/run --list", "run: .ci/run '${{ matrix.step }}'"] {
        assert!(ci.contains(line), "{line}");
    }
}

#[test]
fn a_release_publishes_clients_whose_hand_written_part_is_short() {
    for part in ["python/follow.py", "typescript/follow.ts", "go/follow.go"] {
        let lines = file(&format!("infra/clients/{part}")).lines().count();
        assert!(lines <= 100, "{part}: {lines}");
    }
    let release = yaml(".github/workflows/release.yml");
    let steps = |job: &str| format!("{:?}", release["jobs"][job]["steps"]);
    assert!(steps("clients").contains("make dist-clients"));
    assert!(steps("clients").contains("target/dist-clients/"));
    let needs = &release["jobs"]["publish"]["needs"];
    let both: Value = serde_norway::from_str("[build, clients]").unwrap();
    assert_eq!(needs, &both);
    // The wheel's name has an underscore, as Python wants it.
    assert!(steps("publish").contains("cp built/*/awo[-_]*"));
}

/// Folders with files that pin something, by the name that dependabot has for the kind.
fn manifests(dir: &Path, folders: &mut BTreeMap<&'static str, BTreeSet<String>>) {
    const ELSEWHERE: [&str; 6] = [
        ".git",
        ".venv",
        ".local",
        ".aws-sam",
        "target",
        "node_modules",
    ];
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !ELSEWHERE.contains(&name) {
                manifests(&path, folders);
            }
            continue;
        }
        let kind = match name {
            "Cargo.lock" => "cargo",
            "rust-toolchain.toml" => "rust-toolchain",
            "package.json" => "npm",
            "go.mod" => "gomod",
            "Dockerfile" => "docker",
            "ci.yml" => "github-actions",
            name if name.starts_with("requirements") && name.ends_with(".txt") => "pip",
            _ => continue,
        };
        let folder = path.parent().unwrap().strip_prefix(root()).unwrap();
        let folder = match kind {
            "github-actions" => "/".to_owned(),
            _ => format!("/{}", folder.display()),
        };
        folders.entry(kind).or_default().insert(folder);
    }
}

#[test]
fn updates_are_proposed_for_every_manifest() {
    let configuration = yaml(".github/dependabot.yml");
    let mut configured: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for update in configuration["updates"].as_sequence().unwrap() {
        let folders = match &update["directories"] {
            Value::Sequence(folders) => folders.clone(),
            _ => vec![update["directory"].clone()],
        };
        let folders = folders
            .iter()
            .map(|folder| folder.as_str().unwrap().to_owned());
        let kind = update["package-ecosystem"].as_str().unwrap();
        configured.entry(kind).or_default().extend(folders);
    }
    let mut existing = BTreeMap::new();
    manifests(root(), &mut existing);
    assert_eq!(configured, existing);
}

#[test]
fn every_path_with_owners_exists() {
    let owners = file(".github/CODEOWNERS");
    let lines: Vec<&str> = owners
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert!(lines[0].starts_with("* "), "{lines:?}");
    for line in &lines[1..] {
        let path = line.split_whitespace().next().unwrap();
        let path = path.strip_prefix('/').expect(path);
        assert!(root().join(path).exists(), "{path}");
    }
}

#[test]
fn the_container_for_development_has_the_tools_of_every_suite() {
    let container = file(DEVELOPMENT);
    for (tool, package) in [
        ("git", "git"),
        ("make", "make"),
        ("a C compiler", "gcc"),
        ("Python 3", "python3"),
        ("pip", "python3-pip"),
        ("venv", "python3-venv"),
        ("Node", "nodejs"),
        ("npm", "npm"),
        ("Chromium", "chromium"),
        ("Go", "golang-go"),
        ("Maven", "maven"),
        ("Java", "default-jdk-headless"),
        ("curl", "curl"),
    ] {
        let word = format!(r"(?m)[\s]{package}(\s|$)");
        assert!(
            Regex::new(&word).unwrap().is_match(&container),
            "{tool}: {package}"
        );
        assert!(
            file("CONTRIBUTING.md").contains(tool),
            "CONTRIBUTING.md: {tool}"
        );
    }
    let settings = file(".devcontainer/devcontainer.json");
    let comment = Regex::new(r"(?m)^\s*//.*$").unwrap();
    let settings: serde_json::Value =
        serde_json::from_str(&comment.replace_all(&settings, "")).unwrap();
    assert_eq!(settings["build"]["dockerfile"], "Dockerfile");
    let user = settings["remoteUser"].as_str().unwrap();
    assert!(container.ends_with(&format!("\nUSER {user}\n")));
}
