//! The table of detection: files, and the steps that a maintainer would run for them.

mod languages;
mod python;

use std::fs;
use std::path::Path;

use super::*;
use crate::plan::FrozenPlan;

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn detected(files: &[(&str, &str)]) -> FrozenPlan {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    FrozenPlan::of(dir.path()).unwrap()
}

/// The commands of the plan of these files, in order: install, contracts, tests.
fn steps(files: &[(&str, &str)]) -> Vec<String> {
    let frozen = detected(files);
    let lists = [
        &frozen.installs(),
        &frozen.plan.contracts.commands,
        &frozen.plan.tests,
    ];
    let commands = lists.into_iter().flatten();
    commands
        .map(|command| command.run.as_str().to_owned())
        .collect()
}

/// A package with a dependency and tests.
const PACKAGE: &str = r#"{"scripts": {"test": "node --test"}, "dependencies": {"a": "1"}}"#;
const UNITTEST: &str = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n";
const PYTEST: &str = "def test_a(): pass\n";

#[test]
fn folders_that_no_root_covers_are_units_and_what_is_left_out_is_named() {
    let mut files: Vec<(String, &str)> = (0..25)
        .flat_map(|n| ["go.mod", "a.go"].map(|file| (format!("m{n:02}/{file}"), "")))
        .collect();
    files.push(("a/b/c/package.json".to_owned(), PACKAGE));
    files.push(("a/b/c/d/package.json".to_owned(), PACKAGE));
    files.push(("examples/x/package.json".to_owned(), PACKAGE));
    files.push(("node_modules/x/package.json".to_owned(), PACKAGE));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), *text))
        .collect();
    let frozen = detected(&files);
    assert_eq!(frozen.plan.tests.len(), 20);
    let left_out = frozen.reasons.unwrap().left_out.join(" ");
    for name in [
        "m24/go.mod",
        "a/b/c/package.json",
        "a/b/c/d/package.json",
        "examples/x/package.json",
    ] {
        assert!(left_out.contains(name), "{name}: {left_out}");
    }
    assert!(!left_out.contains("node_modules"), "{left_out}");
}

#[test]
fn hostile_files_are_neither_followed_nor_believed() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), &[("package.json", PACKAGE), ("go.mod", "")]);
    std::os::unix::fs::symlink(outside.path(), dir.path().join("linked")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("go.mod"), dir.path().join("go.mod")).unwrap();
    let large = format!("{{\"scripts\": {{\"test\": \"{}\"}}}}", "x".repeat(300_000));
    write(
        dir.path(),
        &[
            ("package.json", &large),
            ("pyproject.toml", "[[[\n"),
            ("Cargo.toml/x", ""),
            (
                "w/package.json",
                r#"{"workspaces": ["[", "../../**", 5], "scripts": {"test": 5}}"#,
            ),
            ("v'; rm -rf ~; '/go.mod", ""),
            ("v'; rm -rf ~; '/a.go", ""),
        ],
    );
    let frozen = FrozenPlan::of(dir.path()).unwrap();
    let runs: Vec<&str> = frozen
        .plan
        .tests
        .iter()
        .map(|one| one.run.as_str())
        .collect();
    assert_eq!(runs, [r"cd 'v'\''; rm -rf ~; '\''' && go test ./..."]);
}

#[test]
fn where_nothing_is_derived_the_advice_names_what_was_seen() {
    for (files, names) in [
        (
            vec![("composer.json", "{}")],
            ["composer.json", "vendor/bin/phpunit"],
        ),
        (
            vec![("CMakeLists.txt", "project(a)\n")],
            ["CMakeLists.txt", "make check"],
        ),
        (vec![("README.md", "")], ["no manifest", "tests: ["]),
        (
            vec![("scripts/test.sh", "")],
            ["scripts/test.sh", "\"sh scripts/test.sh\""],
        ),
        (
            vec![("tests/x/package.json", PACKAGE)],
            ["tests/x/package.json", "version: 1"],
        ),
    ] {
        let advice = detected(&files).reasons.unwrap().advice.unwrap();
        for name in names {
            assert!(advice.contains(name), "{name}: {advice}");
        }
    }
}

#[test]
fn tests_without_a_manifest_reveal_their_language() {
    let node = "import test from 'node:test';\n";
    for (files, expected) in [
        (vec![("test_a.py", PYTEST)], vec!["python3 -m pytest -q"]),
        (
            vec![("tests/test_a.py", UNITTEST)],
            vec!["python3 -m unittest discover -s tests"],
        ),
        (vec![("spec/a_spec.rb", "")], vec!["rspec"]),
        (vec![("t/a.t", ""), ("lib/A.pm", "")], vec!["prove -l -r t"]),
        (
            vec![("phpunit.xml", ""), ("tests/ATest.php", "")],
            vec!["phpunit"],
        ),
        (
            vec![("a_test.ts", "Deno.test('a', f)")],
            vec!["deno test --allow-all"],
        ),
        (vec![("a.test.js", node)], vec!["node --test"]),
        (
            vec![("package.json", "{}"), ("test/a.mjs", node)],
            vec!["node --test"],
        ),
        (vec![("package.json", "{}"), ("a.test.js", "x")], vec![]),
        (vec![("tests/ATest.php", "")], vec![]),
        // A manifest decides for the whole checkout.
        (
            vec![("go.mod", ""), ("a.go", ""), ("tools/test_a.py", PYTEST)],
            vec!["go test ./..."],
        ),
    ] {
        assert_eq!(steps(&files), expected, "{files:?}");
    }
}

#[test]
fn programs_of_a_plan_are_known_with_their_remedies() {
    let package = r#"{"packageManager": "pnpm@9.15.0", "scripts": {"test": "node --test", "lint": "no-linter ."}}"#;
    let frozen = detected(&[
        ("web/package.json", package),
        ("Makefile", "lint:\n\tother-linter run\n"),
    ]);
    let names: Vec<(&str, &str, Probe)> = frozen
        .programs
        .iter()
        .map(|program| {
            (
                program.folder.as_str(),
                program.name.as_str(),
                program.probe,
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("", "make", Probe::Command),
            ("", "other-linter", Probe::Command),
            ("web", "pnpm", Probe::Command),
            ("web", "no-linter", Probe::Installed),
            ("web", "node", Probe::Installed),
        ]
    );
    assert!(
        frozen.programs[2]
            .remedy
            .as_ref()
            .unwrap()
            .contains("pnpm@9.15.0")
    );
    assert!(remedy("golangci-lint").is_none() && remedy("mvn").is_some());
}

#[test]
fn downloads_are_those_of_the_person_whose_home_it_is() {
    let set = |name: &str| (name == "CARGO_HOME").then(|| "/cargo".into());
    let variables = caches(Path::new("/home/a"), set);
    let value = |name: &str| {
        let mut named = variables.iter().filter(|(variable, _)| variable == name);
        let value = named.next().unwrap().1.to_str().unwrap().to_owned();
        assert!(named.next().is_none(), "{name} is set twice");
        value
    };
    assert_eq!(value("npm_config_cache"), "/home/a/.npm");
    assert_eq!(value("CARGO_HOME"), "/cargo");
    assert_eq!(
        value("MAVEN_OPTS"),
        "-Dmaven.repo.local=/home/a/.m2/repository"
    );
}

#[test]
fn test_files_are_known_by_custom() {
    for yes in [
        "tests/a.rs",
        "a/__tests__/x.js",
        "test_a.py",
        "x.spec.ts",
        "a/b_test.go",
        "src/ATest.java",
        "a/b_spec.rb",
        "a/ATests.cs",
        "t/a_test.exs",
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
