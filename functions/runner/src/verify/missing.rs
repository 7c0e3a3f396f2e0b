//! Programs of the plan that are missing. No agent can fix that by editing source.

use std::fmt;

use crate::output::Tail;
use crate::plan::Command;

/// What a shell answers where a program is not there, or cannot be executed.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;
/// The shell's messages for that, behind the name.
const NOT_FOUND_MESSAGES: [&str; 4] = [
    ": not found",
    ": command not found",
    ": Permission denied",
    ": No such file or directory",
];
/// Longest name in a message, in characters.
const MAX_NAME: usize = 200;

/// A program that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingTool {
    name: String,
    /// The check that wanted it.
    check: Option<String>,
    /// The advice of its command, if it gives any.
    advice: Option<String>,
}

impl MissingTool {
    pub(crate) fn of_name(name: &str) -> MissingTool {
        MissingTool {
            name: name.to_owned(),
            check: None,
            advice: None,
        }
    }

    /// The program that a command missed, if it ended so.
    pub(super) fn of(command: &Command, code: i32, output: &Tail) -> Option<MissingTool> {
        if code != NOT_FOUND && code != NOT_EXECUTABLE {
            return None;
        }
        let text = output.text();
        let lines = || text.lines().rev().map(str::trim);
        let advice = lines().find_map(|line| line.strip_prefix(crate::plan::ADVICE));
        let reported = lines().find_map(|line| {
            let name = NOT_FOUND_MESSAGES
                .iter()
                .find_map(|message| line.strip_suffix(message))?;
            let name = name.rsplit(": ").next()?;
            Some(
                name.trim_matches(['\'', '"', '\u{2018}', '\u{2019}'])
                    .to_owned(),
            )
        });
        let first = || {
            command
                .run
                .as_str()
                .split_whitespace()
                .next()
                .unwrap_or_default()
        };
        let name = reported.unwrap_or_else(|| first().to_owned());
        Some(MissingTool {
            name: name.chars().take(MAX_NAME).collect(),
            check: Some(command.name().to_owned()),
            advice: advice.map(|advice| advice.trim().to_owned()),
        })
    }
}

impl fmt::Display for MissingTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(check) = &self.check {
            let check: String = check.chars().take(MAX_NAME).collect();
            write!(f, "{check}: ")?;
        }
        if let Some(advice) = &self.advice {
            return f.write_str(advice);
        }
        write!(
            f,
            "the plan runs {}, which is not there or cannot be executed: install it where runs \
             happen (the runner's image, or this machine's PATH), let `setup` of verify.yaml \
             install it, or correct the command",
            self.name
        )
    }
}
