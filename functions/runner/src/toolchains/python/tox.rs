//! Environments of tox: those that only install requirements and run pytest or unittest need no tox.

use super::project::Project;
use crate::toolchains::tree::Folder;

/// Keys of an environment that change what its commands see.
const OTHER_KEYS: [&str; 7] = [
    "commands_pre",
    "setenv",
    "set_env",
    "extras",
    "dependency_groups",
    "skip_install",
    "package",
];
/// Words by which a command says that a module of the environment runs.
const PYTHONS: [&str; 4] = ["python", "python3", "{envpython}", "{env_python}"];
/// Starts of the sections for versions of Python, where the commands are in these.
const VERSIONS: [&str; 2] = ["[testenv:py{", "[testenv:py3"];
/// Longest configuration, in lines.
const MAX_LINES: usize = 5_000;

/// The configuration of tox, wherever it stands.
pub(super) fn configuration(folder: &Folder<'_>, project: &Project) -> Option<String> {
    let legacy = || {
        let legacy = project.tool("tox")?.get("legacy_tox_ini")?.as_str()?;
        Some(legacy.to_owned())
    };
    let text = folder.text("tox.ini").or_else(legacy)?;
    text.contains("[testenv").then_some(text)
}

/// Arguments of pip for what the environment `[testenv]` installs, if it does nothing else than that and
/// running pytest or unittest. Files of requirements that are not there are left out.
pub(super) fn plain_requirements(folder: &Folder<'_>, text: &str) -> Option<Vec<String>> {
    let mut keys = keys_of(text, "[testenv]");
    if !keys.iter().any(|(key, _)| *key == "commands") {
        let mut sections = text.lines().map(str::trim);
        let section = sections.find(|line| VERSIONS.iter().any(|start| line.starts_with(start)))?;
        keys.extend(keys_of(text, section));
    }
    let is_other = |(key, _): &(&str, Vec<&str>)| OTHER_KEYS.contains(key);
    if keys.iter().any(is_other) {
        return None;
    }
    let values = |name: &str| {
        let mut keys = keys.iter().rev();
        keys.find(|(key, _)| *key == name)
            .map(|(_, values)| values.as_slice())
    };
    let commands = joined(values("commands")?);
    if commands.is_empty() || !commands.iter().all(|command| is_plain(command)) {
        return None;
    }
    let mut arguments = Vec::new();
    for line in values("deps").unwrap_or_default() {
        let file = line
            .strip_prefix("-r")
            .map(|file| file.trim().trim_start_matches("{toxinidir}/"));
        match file {
            Some(file) if is_word(file) => {
                arguments.extend(folder.has(file).then(|| format!("-r {file}")));
            }
            None if is_requirement(line) => arguments.push(crate::toolchains::quoted(line)),
            _ => return None,
        }
    }
    Some(arguments)
}

/// Keys of a section, each with the lines of its value.
fn keys_of<'t>(text: &'t str, section: &str) -> Vec<(&'t str, Vec<&'t str>)> {
    let mut keys: Vec<(&'t str, Vec<&'t str>)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines().take(MAX_LINES) {
        let value = line.trim();
        if line.starts_with('[') {
            is_inside = value == section;
        } else if !is_inside || value.is_empty() || value.starts_with(['#', ';']) {
            continue;
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, values)) = keys.last_mut() {
                values.push(value);
            }
        } else if let Some((key, first)) = value.split_once(['=', ':']) {
            let first = Some(first.trim()).filter(|first| !first.is_empty());
            keys.push((key.trim(), first.into_iter().collect()));
        }
    }
    keys
}

/// Commands of several lines each, which end in a backslash but for the last.
fn joined(lines: &[&str]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        let text = line.trim_end_matches('\\').trim();
        match commands.last_mut().filter(|_| goes_on) {
            Some(command) => {
                command.push(' ');
                command.push_str(text);
            }
            None => commands.push(text.to_owned()),
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// True for a command that runs pytest or unittest, or reports their coverage.
fn is_plain(command: &str) -> bool {
    let mut words = command.split_whitespace().peekable();
    let mut program = words.next().unwrap_or_default();
    if PYTHONS.contains(&program) && words.next_if_eq(&"-m").is_some() {
        program = words.next().unwrap_or_default();
    }
    if program == "coverage" {
        if words.next() != Some("run") {
            return true;
        }
        let mut module = words.skip_while(|word| *word != "-m").skip(1);
        program = module.next().unwrap_or_default();
    }
    ["pytest", "py.test", "unittest"].contains(&program)
}

/// A name of a file, without any of the substitutions of tox.
fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// A package with its versions: no option, no substitution, no condition for some environments alone.
fn is_requirement(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-[],<>=!~ ;'\"".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::toolchains::tree::Tree;

    #[test]
    fn an_environment_that_only_installs_and_tests_is_plain() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("there.txt"), "pytest\n").unwrap();
        let tree = Tree::read(dir.path());
        let folder = tree.folder("");
        for (text, arguments) in [
            ("commands = pytest {posargs}", Some(vec![])),
            (
                "deps =\n    pytest >= 7\n    # x\n    a[b]; python_version > '3'\ncommands = {envpython} -m unittest -v",
                Some(vec!["'pytest >= 7'", r"'a[b]; python_version > '\''3'\'''"]),
            ),
            (
                "deps = -rthere.txt\n  -r {toxinidir}/gone.txt\ncommands =\n  coverage run --source a -m pytest \\\n    tests\n  coverage report",
                Some(vec!["-r there.txt"]),
            ),
            (
                "deps = a\n[testenv:lint]\ncommands = x\n[testenv:py{38,39}]\ncommands = pytest",
                Some(vec!["a"]),
            ),
            ("deps =\n  py38: a\ncommands = pytest", None),
            ("deps = {[base]deps}\ncommands = pytest", None),
            ("deps = -c a.txt\ncommands = pytest", None),
            ("commands = make test", None),
            ("commands =\n  pytest\n  sphinx-build docs", None),
            ("setenv = A = 1\ncommands = pytest", None),
            ("deps = pytest", None),
        ] {
            let text = format!("[tox]\nenvlist = py\n[testenv]\n{text}\n[testenv:x]\ndeps = y\n");
            let expected = arguments.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(plain_requirements(&folder, &text), expected, "{text}");
        }
    }
}
