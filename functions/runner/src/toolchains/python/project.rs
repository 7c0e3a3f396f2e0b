//! Declarations of a Python project: in `pyproject.toml`, `setup.cfg`, `setup.py` and files of requirements.

use toml::{Table, Value};

use crate::toolchains::manifest::strings;
use crate::toolchains::tree::Folder;
use crate::toolchains::unit::Cover;

/// Extras and groups with what tests need.
const TEST_SETS: [&str; 4] = ["test", "tests", "testing", "dev"];
/// File of what the project needs itself.
const OWN: &str = "requirements.txt";
/// Part of the names of those that are for all of the development.
const DEVELOPMENT: &str = "dev";
/// Files of requirements: of the project, and of its tests.
const REQUIREMENTS: [&str; 13] = [
    OWN,
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements-dev.txt",
    "requirements_test.txt",
    "requirements_dev.txt",
    "test-requirements.txt",
    "dev-requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/dev.txt",
    "requirements/requirements-dev.txt",
    "requirements/requirements-test.txt",
];

/// A project as it declares itself.
pub(super) struct Project {
    pub(super) pyproject: Table,
    /// Extras and dependency groups among [`TEST_SETS`].
    pub(super) extras: Vec<String>,
    pub(super) groups: Vec<String>,
    /// Files of requirements that name any.
    pub(super) requirements: Vec<&'static str>,
    /// True if it can be installed itself.
    pub(super) is_package: bool,
    /// Texts of the declarations above.
    declared: String,
}

impl Project {
    pub(super) fn read(folder: &Folder<'_>) -> Project {
        let pyproject = folder.toml("pyproject.toml").unwrap_or_default();
        let setup_cfg = folder.text("setup.cfg").unwrap_or_default();
        let setup_py = folder.text("setup.py").unwrap_or_default();
        let project = pyproject.get("project");
        let of_project = |name: &str| project.and_then(|project| project.get(name));
        let mut extras = sets(of_project("optional-dependencies"));
        for set in TEST_SETS {
            if extras_of_setup(&setup_cfg, &setup_py, set) && !extras.iter().any(|one| one == set) {
                extras.push(set.to_owned());
            }
        }
        let mut groups = sets(pyproject.get("dependency-groups"));
        let mut requirements: Vec<(&str, String)> = Vec::new();
        for file in REQUIREMENTS {
            let text = folder.text(file).unwrap_or_default();
            if text.lines().any(is_requirement) {
                requirements.push((file, text));
            }
        }
        let has_dependencies = !strings(of_project("dependencies")).is_empty();
        let is_package = pyproject.contains_key("build-system")
            || folder.has("setup.py")
            || setup_cfg.contains("[options]")
            || has_dependencies
            || !extras.is_empty()
            || (project.is_some() && folder.has_folder("src"));
        let declared = |extras: &[String], groups: &[String], requirements: &[(&str, String)]| {
            let mut text = String::new();
            for (table, names) in [
                (of_project("optional-dependencies"), extras),
                (pyproject.get("dependency-groups"), groups),
            ] {
                let lists = names.iter().filter_map(|name| table?.get(name));
                text.extend(lists.flat_map(|list| strings(Some(list))));
            }
            text.extend(requirements.iter().map(|(_, text)| text.as_str()));
            text
        };
        // Tools of development are installed only where the tests' own needs are not apart from them.
        let of_tests = |name: &str| !name.contains(DEVELOPMENT);
        let test_extras = only(&extras, |name| of_tests(name));
        let test_groups = only(&groups, |name| of_tests(name));
        let test_requirements = only(&requirements, |(file, _)| of_tests(file) && *file != OWN);
        if declared(&test_extras, &test_groups, &test_requirements).contains("pytest") {
            (extras, groups) = (test_extras, test_groups);
            requirements.retain(|(file, _)| of_tests(file));
        }
        let mut declared = declared(&extras, &groups, &requirements);
        declared.extend(strings(of_project("dependencies")));
        let requirements = requirements.into_iter().map(|(file, _)| file).collect();
        Project {
            pyproject,
            extras,
            groups,
            requirements,
            is_package,
            declared,
        }
    }

    /// The table `[tool.<name>]`.
    pub(super) fn tool(&self, name: &str) -> Option<&Value> {
        self.pyproject.get("tool")?.get(name)
    }

    /// True if there is anything to install.
    pub(super) fn is_declared(&self) -> bool {
        self.is_package || !self.requirements.is_empty() || !self.groups.is_empty()
    }

    /// True if it declares what its tests need apart from what it needs itself.
    pub(super) fn declares_tests(&self) -> bool {
        let of_tests = |file: &str| file != OWN;
        !self.extras.is_empty()
            || !self.groups.is_empty()
            || self.requirements.iter().any(|file| of_tests(file))
    }

    /// True if what is installed names pytest.
    pub(super) fn declares_pytest(&self) -> bool {
        self.declared.contains("pytest")
    }

    /// Members of a workspace of uv.
    pub(super) fn members(&self) -> Cover {
        let workspace = self.tool("uv").and_then(|uv| uv.get("workspace"));
        let mut members = strings(workspace.and_then(|one| one.get("members")));
        if members.is_empty() {
            return Cover::Nothing;
        }
        let except = strings(workspace.and_then(|one| one.get("exclude")));
        members.extend(except.iter().map(|one| format!("!{one}")));
        Cover::Members(members)
    }
}

fn only<T: Clone>(all: &[T], is_meant: impl Fn(&T) -> bool) -> Vec<T> {
    all.iter().filter(|one| is_meant(one)).cloned().collect()
}

fn sets(table: Option<&Value>) -> Vec<String> {
    let names = TEST_SETS.into_iter();
    names
        .filter(|name| table.is_some_and(|table| table.get(name).is_some()))
        .map(str::to_owned)
        .collect()
}

/// True if `setup.cfg` or `setup.py` declares an extra.
fn extras_of_setup(setup_cfg: &str, setup_py: &str, name: &str) -> bool {
    let section = setup_cfg.split("[options.extras_require]").nth(1);
    let section = section
        .and_then(|text| text.split("\n[").next())
        .unwrap_or_default();
    let is_key = |line: &str| {
        line.split('=')
            .next()
            .is_some_and(|key| key.trim_end() == name)
    };
    let in_cfg = section
        .lines()
        .any(|line| line.contains('=') && is_key(line));
    let in_py = setup_py.split("extras_require").nth(1).is_some_and(|text| {
        let text = text.split('}').next().unwrap_or_default();
        text.contains(&format!("\"{name}\":")) || text.contains(&format!("'{name}':"))
    });
    in_cfg || in_py
}

fn is_requirement(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}
