//! Rules of a makefile, parsed only enough to detect changes.

/// Names under which make finds its file, in its own order.
pub(crate) const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// The text of all rules for `target`: their heads and recipes. None if there are none.
///
/// Made for comparing, not for running: conditionals and variables are not understood.
pub(crate) fn rules(text: &str, target: &str) -> Option<String> {
    let mut found = String::new();
    let mut inside = false;
    for line in text.lines() {
        let is_recipe = line.starts_with('\t');
        if !is_recipe && !line.trim().is_empty() && !line.starts_with('#') {
            inside = is_head(line, target);
        }
        if inside {
            found.push_str(line.trim_end());
            found.push('\n');
        }
    }
    (!found.is_empty()).then(|| found.trim_end().to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rules_of_a_target_are_seen_and_no_other_text() {
        let text =
            "CC := x\ntest := y\n\ntest lint: build\n\ta\n\n\tb\n\n# x\nother:\n\tc\ntest::\n\td\n";
        let rules = rules(text, "test").unwrap();
        assert_eq!(rules, "test lint: build\n\ta\n\n\tb\n\n# x\ntest::\n\td");
        assert_eq!(super::rules(text, "tes"), None);
    }
}
