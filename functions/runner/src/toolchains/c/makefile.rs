//! Rules of a makefile, parsed only enough to detect changes, and programs that are plain to see.

use crate::toolchains::unit::plain_program;

/// Names under which make finds its file, in its own order.
pub(crate) const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// The text of all rules for `target`: their heads and recipes. None if there are none.
///
/// Made for comparing, not for running: conditionals and variables are not understood.
pub(crate) fn rules(text: &str, target: &str) -> Option<String> {
    let mut rules = String::new();
    let mut inside = false;
    for line in text.lines() {
        let is_recipe = line.starts_with('\t');
        if !is_recipe && !line.trim().is_empty() && !line.starts_with('#') {
            inside = is_head(line, target);
        }
        if inside {
            rules.push_str(line.trim_end());
            rules.push('\n');
        }
    }
    (!rules.is_empty()).then(|| rules.trim_end().to_owned())
}

/// True for `target:` and `a target b:`, not for `target := x`.
fn is_head(line: &str, target: &str) -> bool {
    match line.split_once(':') {
        Some((targets, rest)) => {
            !rest.trim_start_matches(':').starts_with('=')
                && targets.split_ascii_whitespace().any(|name| name == target)
        }
        None => false,
    }
}

/// Programs of a recipe that cannot bring the next one.
const HARMLESS: [&str; 12] = [
    "cd", "cp", "echo", "export", "ls", "mkdir", "printf", "rm", "set", "test", "touch", "true",
];

/// The first program that the recipe of `target` runs, where that is plain to see: of a rule that needs
/// no other target, which could install it.
pub(crate) fn program(text: &str, target: &str) -> Option<String> {
    let rules = rules(text, target)?;
    let mut lines = rules.lines();
    let (_, needs) = lines.next()?.split_once(':')?;
    if !needs.trim().is_empty() {
        return None;
    }
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let recipe = line
            .strip_prefix('\t')?
            .trim_start_matches(['@', '-', '+', ' ']);
        if recipe.starts_with("$(info ") || recipe.starts_with("echo ") {
            continue;
        }
        let name = plain_program(recipe)?;
        if !HARMLESS.contains(&name) {
            return Some(name.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_recipe_is_known_where_nothing_could_install_it() {
        for (text, name) in [
            ("lint:\n\tno-linter run\n", Some("no-linter")),
            (
                "lint:\n\t@echo it\n\t$(info x)\n\tno-linter -v\n",
                Some("no-linter"),
            ),
            ("lint: tools\n\tno-linter run\n", None),
            ("lint:\n\tpip install x\n\tno-linter run\n", Some("pip")),
            ("lint:\n\t$(LINTER) run\n", None),
            ("lint:\n\tx | y\n", None),
        ] {
            assert_eq!(program(text, "lint").as_deref(), name, "{text}");
        }
    }

    #[test]
    fn all_rules_of_a_target_are_seen_and_no_other_text() {
        let text =
            "CC := x\ntest := y\n\ntest lint: build\n\ta\n\n\tb\n\n# x\nother:\n\tc\ntest::\n\td\n";
        let rules = rules(text, "test").unwrap();
        assert_eq!(rules, "test lint: build\n\ta\n\n\tb\n\n# x\ntest::\n\td");
        assert_eq!(super::rules(text, "tes"), None);
    }
}
