//! The runner that the tests of a Python project are written for. `unittest` finds no tests that are
//! plain functions, and until Python 3.11 reports success then.

use crate::toolchains::is_test_file;
use crate::toolchains::tree::Folder;

/// Files in which a project declares its dependencies.
const DEMANDS: [&str; 12] = [
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "Pipfile",
];
/// Files that only pytest reads.
const OWN_FILES: [&str; 4] = ["conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml"];
/// Most files of tests that are read.
const MAX_READ: usize = 200;

/// Options of plugins in the configuration of pytest, without which it ends at once.
const PLUGINS: [(&str, &str); 9] = [
    ("--cov", "pytest-cov"),
    ("--numprocesses", "pytest-xdist"),
    ("-n", "pytest-xdist"),
    ("--timeout", "pytest-timeout"),
    ("--asyncio-mode", "pytest-asyncio"),
    ("--benchmark", "pytest-benchmark"),
    ("--reruns", "pytest-rerunfailures"),
    ("--mypy", "pytest-mypy"),
    ("--doctest-plus", "pytest-doctestplus"),
];
/// Files with a configuration of pytest.
const CONFIGURATIONS: [&str; 5] = [
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
];

/// Packages of the plugins whose options the project's `addopts` has.
pub(super) fn plugins(folder: &Folder<'_>) -> Vec<&'static str> {
    let texts = CONFIGURATIONS.iter().filter_map(|name| folder.text(name));
    let options: Vec<String> = texts.flat_map(|text| added_options(&text)).collect();
    let is_used = |option: &str| {
        options.iter().any(|word| {
            let rest = word.strip_prefix(option);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', '-']))
        })
    };
    let used = PLUGINS.iter().filter(|(option, _)| is_used(option));
    let mut packages: Vec<&str> = used.map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

/// Words of `addopts`, which may go on in indented lines.
fn added_options(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let is_key = line.trim_start().starts_with("addopts");
        is_inside = is_key || (is_inside && line.starts_with([' ', '\t', ']']));
        if is_inside {
            let parts = line.split([' ', '\t', '"', '\'', ',', '[', ']']);
            words.extend(
                parts
                    .filter(|part| part.starts_with('-'))
                    .map(str::to_owned),
            );
            let value = line.split_once('=').filter(|_| is_key);
            words.extend(value.map(|(_, value)| value.trim().to_owned()));
        }
    }
    words
}

/// True if the tests of the project need pytest.
pub(super) fn is_for_pytest(folder: &Folder<'_>) -> bool {
    let demands = |name: &&str| {
        folder
            .text(name)
            .is_some_and(|text| text.contains("pytest"))
    };
    let is_own = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        OWN_FILES.contains(&name)
    };
    if DEMANDS.iter().any(demands) || folder.files().any(is_own) {
        return true;
    }
    let is_python = |path: &&str| path.ends_with(".py") && is_test_file(path.as_ref());
    let mut texts = folder
        .files()
        .filter(is_python)
        .take(MAX_READ)
        .filter_map(|path| folder.text(path));
    texts.any(|text| text.lines().any(is_of_pytest))
}

/// True for a line that only a test for pytest has.
fn is_of_pytest(line: &str) -> bool {
    let imports = ["import pytest", "from pytest"];
    let functions = ["def test_", "async def test_"];
    imports
        .iter()
        .any(|start| line.trim_start().starts_with(start))
        || functions.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::toolchains::tree::Tree;

    #[test]
    fn plugins_of_options_that_a_project_adds_are_known() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text, expected) in [
            (
                "pytest.ini",
                "[pytest]\naddopts=--cov=a -n auto\n",
                vec!["pytest-cov", "pytest-xdist"],
            ),
            (
                "pytest.ini",
                "[pytest]\naddopts =\n  --strict\n  --cov-report xml\nother = --timeout\n",
                vec!["pytest-cov"],
            ),
            (
                "pyproject.toml",
                "[tool.pytest.ini_options]\naddopts = [\n  \"--timeout=3\",\n]\n",
                vec!["pytest-timeout"],
            ),
            (
                "tox.ini",
                "[pytest]\naddopts = --no-cov --covers -nothing\n",
                vec![],
            ),
        ] {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            let tree = Tree::read(dir.path());
            assert_eq!(plugins(&tree.folder("")), expected, "{name}: {text}");
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn signs_of_pytest_are_seen_wherever_they_are() {
        let unittest = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n";
        for (name, text, expected) in [
            ("tests/conftest.py", "", true),
            ("requirements-dev.txt", "pytest>=8\n", true),
            ("test_a.py", "def test_a():\n    assert True\n", true),
            ("tests/test_a.py", "import pytest\n", true),
            ("tests/test_a.py", unittest, false),
            ("src/a.py", "def test_a(): pass\n", false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            let tree = Tree::read(dir.path());
            assert_eq!(is_for_pytest(&tree.folder("")), expected, "{name}: {text}");
        }
    }
}
