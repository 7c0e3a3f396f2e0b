//! Steps of projects of Python, by their files.

use super::{PYTEST, UNITTEST, steps};

#[test]
fn a_project_of_python_is_installed_as_it_declares_itself() {
    let project = "[project]\nname = \"p\"\nversion = \"1\"\n";
    let build = "[build-system]\nrequires = [\"setuptools\"]\n";
    let venv = "python3 -m venv ~/venv && ~/venv/bin/python -m pip install -q";
    let in_venv = "~/venv/bin/python -m pytest -q";
    let extras = format!(
        "{project}{build}[project.optional-dependencies]\ntest = [\"pytest\"]\ndocs = [\"sphinx\"]\n"
    );
    let groups = format!("{project}[dependency-groups]\ndev = [\"pytest\"]\n");
    let with_build = format!("{project}{build}");
    for (files, expected) in [
        (vec![("pyproject.toml", project), ("test_a.py", UNITTEST)], vec!["python3 -m unittest".to_owned()]),
        (vec![("pyproject.toml", project), ("test_a.py", PYTEST)], vec!["python3 -m pytest -q".to_owned()]),
        (
            vec![("setup.cfg", "[flake8]\n"), ("tests/test_a.py", UNITTEST)],
            vec!["python3 -m unittest discover -s tests".to_owned()],
        ),
        (
            vec![("pyproject.toml", &with_build), ("src/p/__init__.py", ""), ("tests/__init__.py", ""), ("tests/test_a.py", UNITTEST)],
            vec![format!("{venv} -e ."), "~/venv/bin/python -m unittest".to_owned()],
        ),
        (
            vec![("pyproject.toml", &with_build), ("test_a.py", PYTEST)],
            vec![format!("{venv} -e . pytest"), in_venv.to_owned()],
        ),
        (
            vec![("pyproject.toml", &extras), ("test_a.py", PYTEST)],
            vec![format!("{venv} -e '.[test]'"), in_venv.to_owned()],
        ),
        (
            vec![("pyproject.toml", &groups), ("test_a.py", PYTEST)],
            vec![
                "python3 -m venv --upgrade-deps ~/venv && ~/venv/bin/python -m pip install -q --group dev".to_owned(),
                in_venv.to_owned(),
            ],
        ),
        (
            vec![("requirements.txt", "a\n"), ("requirements/dev.txt", "pytest\n"), ("test_a.py", PYTEST)],
            vec![format!("{venv} -r requirements.txt -r requirements/dev.txt"), in_venv.to_owned()],
        ),
        (
            vec![
                ("setup.py", ""),
                ("requirements/test.txt", "pytest\n"),
                ("requirements/dev.txt", "sphinx\n"),
                ("test_a.py", PYTEST),
            ],
            vec![format!("{venv} -r requirements/test.txt -e ."), in_venv.to_owned()],
        ),
    ] {
        assert_eq!(steps(&files), expected, "{files:?}");
    }
}

#[test]
fn a_project_of_python_is_installed_by_the_tool_that_it_names() {
    let project = "[project]\nname = \"p\"\nversion = \"1\"\n";
    let poetry = "[tool.poetry]\nname = \"p\"\n[tool.poetry.group.test]\noptional = true\n[tool.poetry.dependencies]\na = \"1\"\n";
    for (files, expected) in [
        (
            vec![
                ("pyproject.toml", project),
                ("uv.lock", "name = \"pytest\"\n"),
                ("test_a.py", PYTEST),
            ],
            vec![
                "uv sync --frozen".to_owned(),
                "uv run --no-sync python -m pytest -q".to_owned(),
            ],
        ),
        (
            vec![
                ("pyproject.toml", poetry),
                ("poetry.lock", ""),
                ("test_a.py", PYTEST),
            ],
            vec![
                "poetry install --no-interaction --with test".to_owned(),
                "poetry run python -m pytest -q".to_owned(),
            ],
        ),
        (
            vec![
                ("pyproject.toml", project),
                ("pdm.lock", ""),
                ("test_a.py", PYTEST),
            ],
            vec![
                "pdm install --frozen-lockfile".to_owned(),
                "pdm run python -m pytest -q".to_owned(),
            ],
        ),
    ] {
        assert_eq!(steps(&files), expected, "{files:?}");
    }
}

#[test]
fn the_task_runner_of_a_project_of_python_runs_its_tests() {
    let project = "[project]\nname = \"p\"\nversion = \"1\"\n";
    let build = "[build-system]\nrequires = [\"setuptools\"]\n";
    let venv = "python3 -m venv ~/venv && ~/venv/bin/python -m pip install -q";
    let in_venv = "~/venv/bin/python -m pytest -q";
    let hatch = format!("{project}{build}[tool.hatch.envs.default.scripts]\ntest = \"pytest\"\n");
    for (files, expected) in [
        (
            vec![("pyproject.toml", hatch.as_str()), ("test_a.py", PYTEST)],
            vec![
                format!("{venv} hatch"),
                "~/venv/bin/hatch run test".to_owned(),
            ],
        ),
        (
            vec![
                ("setup.py", ""),
                ("tox.ini", "[testenv]\nsetenv = A = 1\ncommands = pytest\n"),
                ("test_a.py", PYTEST),
            ],
            vec![format!("{venv} tox"), "~/venv/bin/tox run -e py".to_owned()],
        ),
        (
            vec![
                ("setup.py", "tests_require=['pytest']"),
                (
                    "tox.ini",
                    "[testenv]\ndeps =\n  -r gone.txt\n  mock\ncommands = pytest\n",
                ),
                ("setup.cfg", "[tool:pytest]\naddopts = --cov=p\n"),
                ("test_a.py", PYTEST),
            ],
            vec![
                format!("{venv} -e . mock pytest pytest-cov"),
                in_venv.to_owned(),
            ],
        ),
        (
            vec![
                ("setup.py", ""),
                ("noxfile.py", "def tests(session): pass\n"),
                ("test_a.py", PYTEST),
            ],
            vec![format!("{venv} nox"), "~/venv/bin/nox -s tests".to_owned()],
        ),
    ] {
        assert_eq!(steps(&files), expected, "{files:?}");
    }
}
