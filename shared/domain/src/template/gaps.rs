//! Finds `{{name}}` in a text, and ignores text that only resembles it.

use super::{MAX_VARIABLE_NAME, Variable};

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// As it stands.
    Text(&'a str),
    /// A gap, by its variable's name.
    Gap(&'a str),
}

/// True for `^[A-Za-z][A-Za-z0-9_-]{0,63}$`.
pub(super) fn is_name(text: &str) -> bool {
    text.len() <= MAX_VARIABLE_NAME
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && (text.bytes()).all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The parts of a text, which together are the text.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = text[at..].find("{{") {
        let open = at + found;
        let inner = text[open + 2..]
            .find("}}")
            .map(|end| &text[open + 2..][..end]);
        match inner.filter(|inner| is_name(inner)) {
            Some(name) => {
                if from < open {
                    parts.push(Part::Text(&text[from..open]));
                }
                parts.push(Part::Gap(name));
                from = open + 2 + name.len() + 2;
                at = from;
            }
            // `{{{name}}` has a gap behind its first brace.
            None => at = open + 1,
        }
    }
    if from < text.len() {
        parts.push(Part::Text(&text[from..]));
    }
    parts
}

/// Refuses gaps that no variable fills, and what was meant to be one.
pub(super) fn check_names(text: &str, variables: &[Variable]) -> Result<(), String> {
    for part in parts(text) {
        match part {
            Part::Gap(name) if !variables.iter().any(|v| v.name == name) => {
                return Err(format!(
                    "contains {{{{{name}}}}}, which is not a declared variable"
                ));
            }
            Part::Text(text) => {
                if let Some(name) = spaced(text) {
                    return Err(format!("contains {{{{ {name} }}}}: write {{{{{name}}}}}"));
                }
            }
            Part::Gap(_) => {}
        }
    }
    Ok(())
}

/// As [`check_names`], for texts in which braces mean nothing else.
pub(super) fn check(text: &str, variables: &[Variable]) -> Result<(), String> {
    check_names(text, variables)?;
    let is_stray = |part: &Part| matches!(part, Part::Text(text) if text.contains("{{"));
    if parts(text).iter().any(is_stray) {
        return Err("contains {{ that does not begin {{name}}".to_owned());
    }
    Ok(())
}

/// A name in braces that has white space around it.
fn spaced(text: &str) -> Option<&str> {
    (text.match_indices("{{"))
        .filter_map(|(open, _)| text[open + 2..].split_once("}}"))
        .map(|(inner, _)| inner.trim())
        .find(|name| is_name(name))
}

/// The text with its gaps filled; gaps in the inserted values stay.
pub(super) fn fill<'a>(text: &'a str, value: impl Fn(&'a str) -> &'a str) -> String {
    (parts(text).into_iter())
        .map(|part| match part {
            Part::Text(text) => text,
            Part::Gap(name) => value(name),
        })
        .collect()
}
