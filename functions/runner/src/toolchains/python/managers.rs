//! Managers of Python projects: which one a project is made with, its installation and its tests.

use toml::Value;

use super::project::Project;
use super::{pytest, tox};
use crate::toolchains::tree::Folder;

/// A manager of a project's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Manager {
    Pip,
    Uv,
    Poetry,
    Pdm,
    /// With the arguments that run the tests.
    Hatch(String),
    Tox,
    /// With the session of the tests.
    Nox(&'static str),
}

/// Commands of a manager for a project.
pub(super) struct Plan {
    pub(super) install: Option<String>,
    pub(super) test: String,
    /// Programs that must be there.
    pub(super) programs: Vec<&'static str>,
    /// Modules that `python3` must have.
    pub(super) modules: Vec<&'static str>,
}

impl Manager {
    /// The manager by lock file, then by its own configuration.
    pub(super) fn of(folder: &Folder<'_>, project: &Project) -> Manager {
        if folder.has("uv.lock") {
            return Manager::Uv;
        }
        if folder.has("poetry.lock") {
            return Manager::Poetry;
        }
        if folder.has("pdm.lock") {
            return Manager::Pdm;
        }
        if let Some(run) = hatch_tests(project) {
            return Manager::Hatch(run);
        }
        let has =
            |tool: &str, key: &str| project.tool(tool).is_some_and(|one| one.get(key).is_some());
        if has("poetry", "dependencies") || has("poetry", "group") {
            return Manager::Poetry;
        }
        if has("pdm", "dev-dependencies") {
            return Manager::Pdm;
        }
        if has("uv", "workspace") || has("uv", "sources") || has("uv", "dev-dependencies") {
            return Manager::Uv;
        }
        if project.declares_tests() {
            return Manager::Pip;
        }
        let sessions = folder.text("noxfile.py").unwrap_or_default();
        let session = ["tests", "test"].into_iter();
        let has_session = |name: &&str| sessions.contains(&format!("def {name}("));
        if let Some(session) = session.into_iter().find(has_session) {
            return Manager::Nox(session);
        }
        let is_plain = || match tox::configuration(folder, project) {
            Some(text) => tox::plain_requirements(folder, &text).is_some(),
            None => project.tool("tox").is_none(),
        };
        if is_plain() {
            Manager::Pip
        } else {
            Manager::Tox
        }
    }

    /// The manager for people, and which files name it and the version of Python.
    pub(super) fn text(&self, folder: &Folder<'_>, project: &Project) -> String {
        let lock = |file: &str| {
            if folder.has(file) {
                format!(", by {file}")
            } else {
                String::new()
            }
        };
        let manager = match self {
            Manager::Pip => "pip in a virtual environment".to_owned(),
            Manager::Uv => format!("uv{}", lock("uv.lock")),
            Manager::Poetry => format!("poetry{}", lock("poetry.lock")),
            Manager::Pdm => format!("pdm{}", lock("pdm.lock")),
            Manager::Hatch(_) => "hatch, by its environments in pyproject.toml".to_owned(),
            Manager::Tox => "tox, by its configuration".to_owned(),
            Manager::Nox(_) => "nox, by noxfile.py".to_owned(),
        };
        let requires = project
            .pyproject
            .get("project")
            .and_then(|one| one.get("requires-python"));
        match (
            folder.first(&[".python-version", ".tool-versions"]),
            requires.and_then(Value::as_str),
        ) {
            (Some(file), _) => format!("{manager}; Python of the version in {file}"),
            (None, Some(version)) => format!("{manager}; Python {version} by requires-python"),
            (None, None) => manager,
        }
    }
}

/// The arguments of hatch that run a script `test`, or its own environment for tests.
fn hatch_tests(project: &Project) -> Option<String> {
    let environments = project.tool("hatch")?.get("envs")?.as_table()?;
    if environments.contains_key("hatch-test") {
        return Some("test".to_owned());
    }
    let plain = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    environments.iter().find_map(|(name, environment)| {
        environment.get("scripts")?.get("test")?;
        match name.as_str() {
            "default" => Some("run test".to_owned()),
            name => plain(name).then(|| format!("run {name}:test")),
        }
    })
}

/// A virtual environment of the unit's own, outside of the checkout.
fn venv(folder: &Folder<'_>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let path: String = folder.path().chars().map(plain).collect();
    if path.is_empty() {
        "~/venv".to_owned()
    } else {
        format!("~/venv-{path}")
    }
}

/// Runs tests for `unittest`, from the folder in which it finds them.
fn unittest(folder: &Folder<'_>) -> String {
    let is_loose =
        |name: &&str| folder.has_folder(name) && !folder.has(&format!("{name}/__init__.py"));
    match ["tests", "test"].into_iter().find(is_loose) {
        Some(name) => format!("-m unittest discover -s {name}"),
        None => "-m unittest".to_owned(),
    }
}

impl Plan {
    pub(super) fn of(
        manager: &Manager,
        folder: &Folder<'_>,
        project: &Project,
        is_for_pytest: bool,
    ) -> Plan {
        let module = if is_for_pytest {
            "-m pytest -q".to_owned()
        } else {
            unittest(folder)
        };
        let managed = |program: &'static str, install: String, run: &str| Plan {
            install: Some(install),
            test: format!("{run} python {module}"),
            programs: vec![program],
            modules: Vec::new(),
        };
        match manager {
            Manager::Pip => pip(folder, project, is_for_pytest, &module),
            Manager::Uv => {
                let install = uv_install(folder, project);
                let lock = folder.text("uv.lock").unwrap_or_default();
                let is_there = !is_for_pytest
                    || lock.contains("name = \"pytest\"")
                    || project.declares_pytest();
                let with = if is_there { "" } else { " --with pytest" };
                managed("uv", install, &format!("uv run --no-sync{with}"))
            }
            Manager::Poetry => managed("poetry", poetry_install(project), "poetry run"),
            Manager::Pdm => managed("pdm", pdm_install(folder, project), "pdm run"),
            Manager::Hatch(run) => brought(folder, "hatch", run),
            Manager::Tox => brought(folder, "tox", "run -e py"),
            Manager::Nox(session) => brought(folder, "nox", &format!("-s {session}")),
        }
    }
}

/// A program that makes its environments itself, in a virtual environment of its own.
fn brought(folder: &Folder<'_>, program: &str, run: &str) -> Plan {
    let venv = venv(folder);
    Plan {
        install: Some(format!(
            "python3 -m venv {venv} && {venv}/bin/python -m pip install -q {program}"
        )),
        test: format!("{venv}/bin/{program} {run}"),
        programs: vec!["python3"],
        modules: vec!["ensurepip"],
    }
}

fn pip(folder: &Folder<'_>, project: &Project, is_for_pytest: bool, module: &str) -> Plan {
    if !project.is_declared() {
        return Plan {
            install: None,
            test: format!("python3 {module}"),
            programs: vec!["python3"],
            modules: if is_for_pytest {
                vec!["pytest"]
            } else {
                Vec::new()
            },
        };
    }
    let venv = venv(folder);
    let mut arguments: Vec<String> = Vec::new();
    let files = project.requirements.iter();
    arguments.extend(files.map(|file| format!("-r {file}")));
    if project.is_package {
        arguments.push(match project.extras.as_slice() {
            [] => "-e .".to_owned(),
            extras => format!("-e '.[{}]'", extras.join(",")),
        });
    }
    arguments.extend(
        project
            .groups
            .iter()
            .map(|group| format!("--group {group}")),
    );
    let of_tox = || tox::plain_requirements(folder, &tox::configuration(folder, project)?);
    if !project.declares_tests() {
        arguments.extend(of_tox().unwrap_or_default());
    }
    if is_for_pytest && !project.declares_pytest() {
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        let packages = std::iter::once("pytest").chain(pytest::plugins(folder));
        let packages: Vec<String> = packages
            .filter(|name| !has(name))
            .map(str::to_owned)
            .collect();
        arguments.extend(packages);
    }
    // Only a pip of 2025 knows groups.
    let upgrade = if project.groups.is_empty() {
        ""
    } else {
        "--upgrade-deps "
    };
    let arguments = arguments.join(" ");
    Plan {
        install: Some(format!(
            "python3 -m venv {upgrade}{venv} && {venv}/bin/python -m pip install -q {arguments}"
        )),
        test: format!("{venv}/bin/python {module}"),
        programs: vec!["python3"],
        modules: vec!["ensurepip"],
    }
}

fn uv_install(folder: &Folder<'_>, project: &Project) -> String {
    let mut install = "uv sync".to_owned();
    if folder.has("uv.lock") {
        install.push_str(" --frozen");
    }
    if project
        .tool("uv")
        .is_some_and(|uv| uv.get("workspace").is_some())
    {
        install.push_str(" --all-packages");
    }
    for extra in &project.extras {
        install.push_str(" --extra ");
        install.push_str(extra);
    }
    // The group `dev` is installed by default.
    for group in project.groups.iter().filter(|group| *group != "dev") {
        install.push_str(" --group ");
        install.push_str(group);
    }
    install
}

fn poetry_install(project: &Project) -> String {
    let mut install = "poetry install --no-interaction".to_owned();
    let of_poetry = |key: &str| project.tool("poetry").and_then(|poetry| poetry.get(key));
    for name in ["test", "tests", "dev"] {
        let is_optional =
            |group: &Value| group.get("optional").and_then(Value::as_bool) == Some(true);
        if of_poetry("group")
            .and_then(|groups| groups.get(name))
            .is_some_and(is_optional)
        {
            install.push_str(&format!(" --with {name}"));
        }
        let is_extra = of_poetry("extras").is_some_and(|extras| extras.get(name).is_some());
        if is_extra || project.extras.iter().any(|extra| extra == name) {
            install.push_str(&format!(" --extras {name}"));
        }
    }
    install
}

fn pdm_install(folder: &Folder<'_>, project: &Project) -> String {
    let mut install = "pdm install".to_owned();
    if folder.has("pdm.lock") {
        install.push_str(" --frozen-lockfile");
    }
    for set in &project.extras {
        install.push_str(" -G ");
        install.push_str(set);
    }
    install
}
