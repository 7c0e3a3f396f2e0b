//! The test runner of a Python project: the one its tests need, or none. `unittest` finds no tests
//! that are plain functions, and until Python 3.11 reports success then.

use std::path::Path;

use super::detected::is_test_file;
use crate::safe_files;
use crate::verify::every_file;

/// What makes a folder a Python project. Many have no `pyproject.toml` yet.
pub(super) const MANIFESTS: [&str; 4] = [
    "pyproject.toml",
    "requirements.txt",
    "setup.py",
    "setup.cfg",
];

/// Files in which a project declares its dependencies.
const DEMANDS: [&str; 9] = [
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "Pipfile",
];
/// Files that only pytest reads.
const OWN_FILES: [&str; 4] = ["conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml"];
/// Most files of tests that are read, and the largest.
const MAX_READ: usize = 200;
const MAX_FILE_BYTES: u64 = 262_144;

/// For tests that are written for pytest. Python is asked without the project's own folder, in which
/// anything may be called pytest.
const PYTEST: &str = "\
command -v python3 >/dev/null || { echo 'awo: the tests need python3, which is not there: install it \
where runs happen' >&2; exit 127; }
python3 -I -c 'import pytest' 2>/dev/null && exec python3 -m pytest -q
echo 'awo: the tests are written for pytest, and this python3 does not have it (a virtual environment that is \
not committed is not part of the run): install it where runs happen, or add a verify.yaml whose setup does, \
such as: python3 -m venv .venv && .venv/bin/pip install pytest' >&2
exit 127";
/// For all others: pytest runs them, too, where it is installed.
const ANY: &str = "\
command -v python3 >/dev/null || { echo 'awo: the tests need python3, which is not there: install it \
where runs happen' >&2; exit 127; }
python3 -I -c 'import pytest' 2>/dev/null && exec python3 -m pytest -q
test -d tests && test ! -e tests/__init__.py && exec python3 -m unittest discover -s tests
exec python3 -m unittest";

/// What runs the tests of the project in `dir`.
pub(super) fn command(dir: &Path) -> &'static str {
    if is_for_pytest(dir) { PYTEST } else { ANY }
}

fn is_for_pytest(dir: &Path) -> bool {
    let text = |path: &Path| {
        let bytes = safe_files::read_within(dir, path, MAX_FILE_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let demands = |name: &&str| text(Path::new(name)).is_some_and(|text| text.contains("pytest"));
    if DEMANDS.iter().any(demands) {
        return true;
    }
    let files = every_file(dir).unwrap_or_default();
    let is_own = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| OWN_FILES.contains(&name))
    };
    if files.iter().any(|path| is_own(path)) {
        return true;
    }
    let is_python = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "py");
    files
        .iter()
        .filter(is_python)
        .filter(|path| is_test_file(path))
        .take(MAX_READ)
        .filter_map(|path| text(path))
        .any(|text| text.lines().any(is_of_pytest))
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
            assert_eq!(is_for_pytest(dir.path()), expected, "{name}: {text}");
        }
    }
}
