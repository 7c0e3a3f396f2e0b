//! Python.

mod gates;
mod managers;
mod project;
mod pytest;
mod runners;
mod tox;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Toolchain;
use super::names::is_named;
use super::tree::Folder;
use super::unit::{Probe, Program, Unit};
use managers::Manager;
use project::Project;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Python",
    runners: &runners::ALL,
    manifests: &[
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "tox.ini",
        "noxfile.py",
    ],
    unit,
    tests_alone: Some(unit_by),
    test_files: &TEST_FILES,
    gates: &gates::ALL,
    programs: &[
        ("python3", "install Python 3"),
        (
            "pytest",
            "the tests are written for pytest, and this python3 does not have it: install it where runs \
             happen, declare it (an extra or dependency group `test` or `dev`, `requirements-dev.txt`), or add \
             a verify.yaml whose setup installs it, such as: python3 -m venv .venv && .venv/bin/pip install \
             pytest",
        ),
        (
            "ensurepip",
            "install Python's module for virtual environments (package `python3-venv`)",
        ),
        ("uv", "install uv (`pip install uv`)"),
        ("poetry", "install Poetry (`pipx install poetry`)"),
        ("pdm", "install PDM (`pipx install pdm`)"),
        ("hatch", "install Hatch (`pipx install hatch`)"),
        ("tox", "install tox (`pipx install tox`)"),
        ("nox", "install nox (`pipx install nox`)"),
        ("ruff", "install ruff (`pip install ruff`), or declare it"),
        ("mypy", "install mypy (`pip install mypy`), or declare it"),
        (
            "flake8",
            "install flake8 (`pip install flake8`), or declare it",
        ),
    ],
    caches: &[
        ("PIP_CACHE_DIR", ".cache/pip"),
        ("UV_CACHE_DIR", ".cache/uv"),
    ],
    registry: Some(
        "echo \"${PIP_INDEX_URL:-$(python3 -I -c \
         'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')}\"",
    ),
    example: "python3 -m pytest -q",
};

const TEST_FILES: [&str; 2] = ["test_*.py", "*_test.py"];

/// Name of the check of the tests, whatever runs them.
const TESTS: &str = "python tests";

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    unit_by(folder, folder.first(TOOLCHAIN.manifests)?)
}

fn unit_by(folder: &Folder<'_>, by: &str) -> Option<Unit> {
    let project = Project::read(folder);
    let manager = Manager::of(folder, &project);
    let is_for_pytest = pytest::is_for_pytest(folder);
    let plan = managers::Plan::of(&manager, folder, &project, is_for_pytest);
    let mut unit = Unit::new(by, &manager.text(folder, &project));
    unit.is_weak = !has_tests(folder);
    unit.covers = project.members();
    for program in &plan.programs {
        unit.programs.push(Program::command(program));
    }
    let modules = plan.modules.iter().map(|module| Program {
        probe: Probe::PythonModule,
        ..Program::command(module)
    });
    unit.programs.extend(modules);
    unit.install = plan.install;
    Some(unit.tested_by(TESTS, &plan.test))
}

/// Activates the virtual environment of the unit at the top, if there is one.
pub(super) fn variables(home: &Path, path: &OsStr) -> Vec<(&'static str, OsString)> {
    let venv = home.join("venv");
    let programs = venv.join("bin");
    if !programs.is_dir() {
        return Vec::new();
    }
    let mut paths = programs.into_os_string();
    paths.push(":");
    paths.push(path);
    vec![("VIRTUAL_ENV", venv.into_os_string()), ("PATH", paths)]
}

/// True if there is a file in which a runner of Python finds tests.
fn has_tests(folder: &Folder<'_>) -> bool {
    folder.files().any(|file| {
        let name = file.rsplit('/').next().unwrap_or_default();
        TEST_FILES.iter().any(|pattern| is_named(name, pattern))
    })
}
