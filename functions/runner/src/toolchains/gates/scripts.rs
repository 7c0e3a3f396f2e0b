//! Scripts that commands run: files of the base that a command, a script of a manifest or a recipe
//! executes by name, and files that a makefile includes.

use std::collections::BTreeSet;

/// Most scripts that are known of one text, and bytes of it that are searched.
const MAX_SCRIPTS: usize = 200;
const MAX_TEXT_BYTES: usize = 262_144;
/// Programs whose first argument is a script.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ksh", "zsh", "source", "."];
const INTERPRETERS: [&str; 10] = [
    "node", "python", "python3", "ruby", "perl", "php", "bun", "deno", "tsx", "ts-node",
];
/// Words behind which another command begins.
const STARTS: [&str; 18] = [
    "&&",
    "||",
    ";",
    "|",
    "&",
    "(",
    "{",
    "!",
    "then",
    "do",
    "else",
    "if",
    "exec",
    "env",
    "time",
    "command",
    "cross-env",
    "run",
];
/// Endings of scripts that a shell executes.
const ENDINGS: [&str; 4] = [".sh", ".bash", ".bats", ".zsh"];
/// Folders whose scripts are tools of the repository, and no part of the product.
const TOOLS: [&str; 8] = [
    "script", "scripts", "ci", ".ci", "tools", "dev", "hack", ".github",
];

/// The place of a word in a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Command,
    /// The first argument of a shell.
    Shell,
    /// The first argument of another interpreter.
    Interpreter,
    Argument,
}

/// Scripts that the text of a command runs, among the files for which `is_file` is true.
pub(crate) fn run_by(text: &str, is_file: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut scripts = BTreeSet::new();
    for line in cut(text).lines() {
        let mut place = Place::Command;
        for token in line.split_whitespace() {
            let word = token.trim_matches(['@', '"', '\'', '`', '(', ')', ';', '{', '}']);
            let path = word.trim_start_matches("./");
            if is_run(place, word, path) && scripts.len() < MAX_SCRIPTS && is_file(path) {
                scripts.insert(path.to_owned());
            }
            place = next(place, token, word);
        }
    }
    scripts
}

fn is_run(place: Place, word: &str, path: &str) -> bool {
    let has_ending = || ENDINGS.iter().any(|ending| path.ends_with(ending));
    let is_tool = || {
        path.split('/')
            .next()
            .is_some_and(|top| TOOLS.contains(&top))
    };
    match place {
        Place::Shell => !word.is_empty() && !word.starts_with(['-', '+']),
        Place::Command | Place::Interpreter => has_ending() || is_tool(),
        Place::Argument => false,
    }
}

/// The place of the word behind this one.
fn next(place: Place, token: &str, word: &str) -> Place {
    let is_option = word.starts_with(['-', '+']);
    let is_variable = place == Place::Command && word.contains('=') && !word.contains('/');
    if STARTS.contains(&token) || token.ends_with([';', '(', '{']) || is_variable {
        return Place::Command;
    }
    if place == Place::Shell && word == "-c" {
        return Place::Command;
    }
    if word.is_empty() || (is_option && place != Place::Argument) {
        return place;
    }
    if place != Place::Command {
        return Place::Argument;
    }
    let name = word.rsplit('/').next().unwrap_or_default();
    if SHELLS.contains(&name) {
        Place::Shell
    } else if INTERPRETERS.contains(&name) {
        Place::Interpreter
    } else {
        Place::Argument
    }
}

/// Files that a makefile includes by name.
pub(crate) fn included(makefile: &str) -> BTreeSet<String> {
    let lines = cut(makefile).lines();
    let lists = lines.filter_map(|line| {
        let (word, paths) = line.trim().split_once(char::is_whitespace)?;
        ["include", "-include", "sinclude"]
            .contains(&word)
            .then_some(paths)
    });
    let paths = lists.flat_map(str::split_whitespace);
    let literal = paths.filter(|path| !path.contains(['$', '*', '%', '(', '#']));
    let paths = literal.map(|path| path.trim_start_matches("./").to_owned());
    paths.take(MAX_SCRIPTS).collect()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_a_command_runs_are_known_and_files_of_the_product_are_none() {
        for (text, scripts) in [
            ("sh t.sh && echo x", &["t.sh"][..]),
            ("./run.sh --all", &["run.sh"]),
            ("\t@bash -e ci/test.sh", &["ci/test.sh"]),
            ("A=1 node scripts/test.js", &["scripts/test.js"]),
            (
                "python3 -u tools/check.py; . env",
                &["tools/check.py", "env"],
            ),
            ("cd x && (sh a.sh)", &["a.sh"]),
            ("if true; then sh a.sh; fi", &["a.sh"]),
            ("cp src/greet.sh build/greet", &[]),
            ("node cli.js --help", &[]),
            ("sh -c 'true'", &[]),
            ("cat a.sh", &[]),
        ] {
            let is_file = |path: &str| path != "true";
            let expected: BTreeSet<String> = scripts.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(run_by(text, is_file), expected, "{text}");
        }
    }

    #[test]
    fn files_that_a_makefile_includes_are_known_by_their_names() {
        let makefile = "-include local.conf $(X).mk\ninclude ./a b\nincluded: c\n\ttrue\n";
        let names: Vec<String> = included(makefile).into_iter().collect();
        assert_eq!(names, ["a", "b", "local.conf"]);
    }
}
