//! Programs of the plan that are missing. No agent can fix that by editing source: the message counts
//! only where the plan, or a file that is the base's, names the program.

use std::fmt;
use std::path::Path;

use crate::output::Tail;
use crate::plan::Command;
use crate::safe_files;
use crate::toolchains::{self, Manifest, Program, has_word};

use super::Subject;

/// What a shell answers where a program is not there, or cannot be executed.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;
/// Messages of shells and of `make` for that, behind the name.
const NOT_FOUND_MESSAGES: [&str; 5] = [
    ": not found",
    ": command not found",
    ": Permission denied",
    ": No such file or directory",
    ": inaccessible or not found",
];
/// Messages of wrappers that end with another code, each with what stands behind the name.
const OF_WRAPPERS: [(&str, &str); 5] = [
    ("error: Failed to spawn: `", "`"),
    ("Command not found: ", ""),
    ("command not found: ", ""),
    ("[PdmUsageError]: Command '", "' is not found in your PATH."),
    ("Could not find command `", "`"),
];
/// Signs in a wrapper's own lines that its command ended with 126 or 127.
const SIGNS: [&str; 6] = [
    "Error 127",
    "Error 126",
    "exit code 127",
    "exit code 126",
    "exit code: 127",
    "ELIFECYCLE",
];
/// Files in which a command's own commands stand.
const SCRIPTS: [&str; 10] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "package.json",
    "pyproject.toml",
    "tox.ini",
    "noxfile.py",
    "composer.json",
    "deno.json",
    "Rakefile",
];
/// Lines at the end of an output in which a wrapper speaks for itself.
const LAST_LINES: usize = 25;
/// Longest name in a message, in characters.
const MAX_NAME: usize = 200;
/// Largest script that is read.
const MAX_SCRIPT_BYTES: u64 = 262_144;

/// A program that is not there, or something else that the machine lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingTool {
    name: String,
    /// The check that needs it.
    check: Option<String>,
    /// Remedy for this program, if one is known.
    remedy: Option<String>,
    /// Another fault of the machine, which stands for all of this.
    fault: Option<String>,
}

/// A message that a program is missing.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    program: String,
    /// The script that ran it, if the message names one.
    script: Option<String>,
}

impl MissingTool {
    pub(crate) fn new(name: &str, remedy: Option<&str>) -> MissingTool {
        let remedy = remedy.or_else(|| toolchains::remedy(name));
        MissingTool {
            name: name.chars().take(MAX_NAME).collect(),
            check: None,
            remedy: remedy.map(str::to_owned),
            fault: None,
        }
    }

    /// Something else that the machine lacks: space on its disk, or a network.
    pub(super) fn of_machine(check: &str, why: &str) -> MissingTool {
        MissingTool {
            name: String::new(),
            check: Some(check.to_owned()),
            remedy: None,
            fault: Some(why.to_owned()),
        }
    }

    /// The program that a command missed, if it ended so and the base names it.
    pub(super) fn of(
        command: &Command,
        code: i32,
        output: &Tail,
        base: &Base<'_>,
    ) -> Option<MissingTool> {
        let run = command.run.as_str();
        let text = output.text();
        let report = report(code, &text).or_else(|| {
            let is_code = code == NOT_FOUND || code == NOT_EXECUTABLE;
            let first = run.split_whitespace().next()?;
            is_code.then(|| Report {
                program: first.to_owned(),
                script: None,
            })
        })?;
        if !base.names(run, &report) {
            return None;
        }
        let name = report.program.rsplit('/').next().unwrap_or_default();
        Some(MissingTool {
            check: Some(command.name().to_owned()),
            ..MissingTool::new(name, base.remedy(name))
        })
    }
}

/// Texts that a command is held against: the plan's own words, and files that the run did not change.
pub(super) struct Base<'a> {
    pub(super) subject: &'a Subject,
    pub(super) manifests: &'a [Manifest],
    /// Programs of the plan, with their remedies.
    pub(super) programs: &'a [Program],
}

impl Base<'_> {
    fn remedy(&self, name: &str) -> Option<&str> {
        let program = self.programs.iter().find(|program| program.name == name)?;
        program.remedy.as_deref()
    }

    fn is_changed(&self, path: &str) -> bool {
        let changed = self.subject.changed.as_deref().unwrap_or_default();
        changed.iter().any(|one| one == Path::new(path))
    }

    fn names(&self, run: &str, report: &Report) -> bool {
        let program = report.program.as_str();
        if self.is_changed(program.trim_start_matches("./")) {
            return false;
        }
        let in_file = |path: &str| {
            !self.is_changed(path)
                && safe_files::read_within(&self.subject.dir, path, MAX_SCRIPT_BYTES)
                    .is_ok_and(|bytes| has_word(&String::from_utf8_lossy(&bytes), program))
        };
        if let Some(script) = &report.script {
            return in_file(script.trim_start_matches("./"));
        }
        has_word(run, program)
            || self.manifests.iter().any(|one| one.names(program))
            || SCRIPTS.into_iter().any(in_file)
    }
}

/// The message of a shell or a wrapper, from its own last lines.
fn report(code: i32, text: &str) -> Option<Report> {
    let lines = || {
        let lines = text.lines().rev().map(str::trim);
        lines.filter(|line| !line.is_empty()).take(LAST_LINES)
    };
    if let Some(program) = lines().find_map(of_wrapper) {
        return Some(Report {
            program,
            script: None,
        });
    }
    let has_sign = || lines().any(|line| SIGNS.iter().any(|sign| line.contains(sign)));
    if code == NOT_FOUND || code == NOT_EXECUTABLE || (code != 0 && has_sign()) {
        return lines().find_map(of_shell);
    }
    // A recipe that goes on in a loop: its last lines are the shell's own, over and over.
    let is_of_make = lines()
        .next()
        .is_some_and(|line| line.starts_with("make: *** "));
    let mut misses = lines().skip(1).filter_map(of_shell);
    let first = misses.next().filter(|_| code != 0 && is_of_make)?;
    misses
        .next()
        .is_some_and(|other| other == first && first.script.is_none())
        .then_some(first)
}

/// `error: Failed to spawn: …` and the like, and a module that `python -m` does not find.
fn of_wrapper(line: &str) -> Option<String> {
    for (before, behind) in OF_WRAPPERS {
        if let Some(name) = line
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(behind))
        {
            return Some(name.to_owned());
        }
    }
    let (python, module) = line.split_once(": No module named ")?;
    let is_python = python.rsplit('/').next()?.starts_with("python");
    let module = module.trim_matches('\'').trim_end_matches(".__main__");
    (is_python && !module.contains(' ')).then(|| module.to_owned())
}

/// `sh: 1: X: not found`, `a.sh: line 3: X: command not found`, `make: X: No such file or directory`.
fn of_shell(line: &str) -> Option<Report> {
    let rest = NOT_FOUND_MESSAGES
        .iter()
        .find_map(|message| line.strip_suffix(message))?;
    let mut parts = rest.rsplit(": ");
    let quotes = ['\'', '"', '\u{2018}', '\u{2019}'];
    let program = parts.next()?.trim_matches(quotes).to_owned();
    let script = rest.split(": ").next().filter(|first| {
        let is_shell = first.rsplit('/').next().is_some_and(|name| {
            ["sh", "bash", "dash", "env", "zsh", "ksh"].contains(&name) || name.starts_with("make")
        });
        parts.next().is_some() && !is_shell
    });
    Some(Report {
        program,
        script: script.map(str::to_owned),
    })
}

impl fmt::Display for MissingTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(check) = &self.check {
            let check: String = check.chars().take(MAX_NAME).collect();
            write!(f, "{check}: ")?;
        }
        if let Some(fault) = &self.fault {
            return f.write_str(fault);
        }
        let name = &self.name;
        write!(
            f,
            "the plan runs {name}, which is not there or cannot be executed: "
        )?;
        if let Some(remedy) = &self.remedy {
            write!(f, "{remedy}; or ")?;
        }
        f.write_str(
            "install it where runs happen (the runner's image, or this machine's PATH), let `setup` of \
             verify.yaml install it, or correct the command",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn a_missing_program_is_known_behind_every_wrapper_by_its_own_words() {
        for (code, text, program, script) in [
            (127, "sh: 1: no-x: not found", "no-x", None),
            (127, "sh: line 1: no-x: command not found", "no-x", None),
            (
                127,
                "/bin/bash: line 1: no-x: command not found",
                "no-x",
                None,
            ),
            (126, "sh: 1: ./t.sh: Permission denied", "./t.sh", None),
            (127, "t/a.sh: 3: no-x: not found", "no-x", Some("t/a.sh")),
            (
                127,
                "t/a.sh: line 3: no-x: command not found",
                "no-x",
                Some("t/a.sh"),
            ),
            (
                127,
                "env: \u{2018}no-x\u{2019}: No such file or directory",
                "no-x",
                None,
            ),
            (
                2,
                "no-x run\nmake: no-x: No such file or directory\nmake: *** [Makefile:2: lint] Error 127",
                "no-x",
                None,
            ),
            (
                2,
                "/bin/sh: 1: no-x: not found\nmake[1]: *** [lint] Error 127\nmake: *** [all] Error 2",
                "no-x",
                None,
            ),
            (
                127,
                "> lint\n> no-x .\n\nsh: 1: no-x: not found\nnpm error code 127",
                "no-x",
                None,
            ),
            (
                1,
                "sh: 1: no-x: not found\n\u{2009}ELIFECYCLE\u{2009} Command failed.",
                "no-x",
                None,
            ),
            (
                1,
                "/bin/sh: 1: no-x: not found\nerror Command failed with exit code 127.",
                "no-x",
                None,
            ),
            (127, "command not found: no-x", "no-x", None),
            (
                2,
                "a.c\n/bin/sh: 3: no-x: not found\nb.c\n/bin/sh: 3: no-x: not found\nmake: *** [Makefile:9: lint] Error 1",
                "no-x",
                None,
            ),
            (
                2,
                "error: Failed to spawn: `no-x`\n  Caused by: No such file or directory (os error 2)",
                "no-x",
                None,
            ),
            (1, "Command not found: no-x", "no-x", None),
            (1, "/usr/bin/python3: No module named no_x", "no_x", None),
        ] {
            let expected = Report {
                program: program.to_owned(),
                script: script.map(str::to_owned),
            };
            assert_eq!(report(code, text), Some(expected), "{text}");
        }
        for (code, text) in [
            (1, "sh: 1: no-x: not found\n1 failed"),
            (1, "ModuleNotFoundError: No module named 'x'"),
            (2, "make: *** [Makefile:2: test] Error 1"),
            (
                2,
                "sh: 1: no-x: not found\n1 failed\nmake: *** [Makefile:2: test] Error 1",
            ),
            (0, "sh: 1: no-x: not found"),
        ] {
            assert_eq!(report(code, text), None, "{text}");
        }
    }
}
