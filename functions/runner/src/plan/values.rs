//! The values of a plan: each is checked while it is read, so the YAML parser can report its line.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder, RegexSetBuilder};
use serde::{Deserialize, Serialize};

/// Longest pattern, path, name and command.
const MAX_TEXT: usize = 8_192;
/// Longest time that a command can be given.
const MAX_TIMEOUT_MS: u64 = 3_600_000;
/// Time of a command that names none.
const DEFAULT_TIMEOUT_MS: u64 = 300_000;
/// Time of a detected command, for which nobody chose one: whole suites take longer than single commands.
const DETECTED_TIMEOUT_MS: u64 = 1_800_000;
/// Largest compiled pattern: a repository must not buy itself our memory.
const MAX_PATTERN_BYTES: usize = 1_048_576;
/// Largest size of all patterns of a plan together, compiled.
const MAX_PATTERNS_BYTES: usize = 4 * MAX_PATTERN_BYTES;

/// A text of 1 to [`MAX_TEXT`] bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn new(text: &str) -> Text {
        Text(text.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Text> for String {
    fn from(value: Text) -> String {
        value.0
    }
}

impl TryFrom<String> for Text {
    type Error = String;
    fn try_from(text: String) -> Result<Text, String> {
        if text.trim().is_empty() || text.len() > MAX_TEXT || text.contains('\0') {
            Err(format!("must be a string of 1 to {MAX_TEXT} bytes"))
        } else {
            Ok(Text(text))
        }
    }
}

/// A pattern of paths: `*` stays within a folder, `**` does not.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Glob(String);

impl Glob {
    /// The pattern for people, with literal brackets as file names have them.
    pub(crate) fn shown(&self) -> String {
        self.0.replace("\\[", "[").replace("\\]", "]")
    }

    fn compile(&self) -> Result<globset::Glob, globset::Error> {
        GlobBuilder::new(&self.0)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
    }

    /// The same pattern with every bracket literal; `None` if it has none that is not.
    fn with_literal_brackets(&self) -> Option<Glob> {
        let mut text = String::with_capacity(self.0.len() + 8);
        let mut characters = self.0.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => {
                    text.push('\\');
                    text.extend(characters.next());
                }
                '[' | ']' => text.extend(['\\', character]),
                other => text.push(other),
            }
        }
        (text != self.0).then_some(Glob(text))
    }

    pub(super) fn has_bracket(&self) -> bool {
        self.0.contains(['[', ']'])
    }

    /// Takes brackets literally if a file of that literal name is among `files`.
    pub(super) fn settle_brackets(&mut self, files: &[PathBuf]) {
        let is_there = |one: &Glob| !matching(std::slice::from_ref(one), files).is_empty();
        if let Some(literal) = self.with_literal_brackets().filter(is_there) {
            *self = literal;
        }
    }

    /// The pattern of a report's path, if it is one.
    pub(super) fn of_report(path: &str) -> Option<Glob> {
        let is_pattern = path.contains(['*', '?', '[', '{']);
        is_pattern.then(|| Glob(path.trim_start_matches("./").to_owned()))
    }

    /// The text as a pattern that matches it alone.
    pub(crate) fn escaped(text: &str) -> String {
        let mut pattern = String::with_capacity(text.len());
        for character in text.chars() {
            if "*?[]{}\\".contains(character) {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern
    }

    /// Reason for which it cannot be compiled.
    pub(super) fn fault(&self) -> Option<String> {
        let why = self.compile().err()?;
        Some(format!("is not a pattern of paths: {}", why.kind()))
    }
}

impl From<Glob> for String {
    fn from(value: Glob) -> String {
        value.0
    }
}

impl TryFrom<String> for Glob {
    type Error = String;
    fn try_from(text: String) -> Result<Glob, String> {
        let glob = Glob(Text::try_from(text)?.0);
        // Its brackets may be those of a file's name, which the reader of the plan knows.
        let literal = glob.with_literal_brackets();
        let may_be_literal = literal.is_some_and(|one| one.fault().is_none());
        match glob.fault() {
            Some(why) if !may_be_literal => Err(why),
            _ => Ok(glob),
        }
    }
}

/// A set of patterns, each of which was found valid when it was read.
///
/// # Errors
/// If all of them together are too large.
pub(super) fn glob_set<'a>(
    globs: impl IntoIterator<Item = &'a Glob>,
) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(glob.compile()?);
    }
    set.build()
}

/// The numbers of the paths that match one of these patterns, which were found to fit together
/// when the plan was read.
pub(crate) fn matching(globs: &[Glob], paths: &[PathBuf]) -> Vec<usize> {
    let set = glob_set(globs).unwrap_or_else(|_| GlobSet::empty());
    let numbered = paths.iter().enumerate();
    let found = numbered.filter(|(_, path)| set.is_match(path));
    found.map(|(number, _)| number).collect()
}

/// A regular expression.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Pattern(String);

impl Pattern {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The pattern, compiled; the compiled form is not stored, since a plan may have many.
    pub(crate) fn compile(&self) -> Result<Regex, regex::Error> {
        RegexBuilder::new(&self.0)
            .multi_line(true)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.0
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;
    fn try_from(text: String) -> Result<Pattern, String> {
        // Compiled by the plan's bounds, which know how many there are.
        Ok(Pattern(Text::try_from(text)?.0))
    }
}

/// True if all these patterns together stay within [`MAX_PATTERNS_BYTES`] when they are compiled, or one of them
/// is no regular expression: each by itself is then as small.
pub(super) fn patterns_fit(patterns: &[&Pattern]) -> bool {
    let built = RegexSetBuilder::new(patterns.iter().map(|pattern| pattern.as_str()))
        .multi_line(true)
        .size_limit(MAX_PATTERNS_BYTES)
        .build();
    !matches!(built, Err(regex::Error::CompiledTooBig(_)))
}

/// A path that stays below the folder it is relative to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct RelativePath(String);

impl RelativePath {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<RelativePath> for String {
    fn from(value: RelativePath) -> String {
        value.0
    }
}

impl TryFrom<String> for RelativePath {
    type Error = String;
    fn try_from(text: String) -> Result<RelativePath, String> {
        let text = Text::try_from(text)?.0;
        let stays = Path::new(&text)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if stays {
            Ok(RelativePath(text))
        } else {
            Err("file paths must be relative and must not hold \"..\"".to_owned())
        }
    }
}

/// A time limit in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub(crate) struct TimeoutMs(u64);

impl From<TimeoutMs> for u64 {
    fn from(ms: TimeoutMs) -> u64 {
        ms.0
    }
}

impl TimeoutMs {
    pub(crate) const OF_DETECTED: TimeoutMs = TimeoutMs(DETECTED_TIMEOUT_MS);

    pub(crate) fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl Default for TimeoutMs {
    fn default() -> TimeoutMs {
        TimeoutMs(DEFAULT_TIMEOUT_MS)
    }
}

impl TryFrom<u64> for TimeoutMs {
    type Error = String;
    fn try_from(ms: u64) -> Result<TimeoutMs, String> {
        if (1..=MAX_TIMEOUT_MS).contains(&ms) {
            Ok(TimeoutMs(ms))
        } else {
            Err(format!("timeoutMs must be 1 to {MAX_TIMEOUT_MS}"))
        }
    }
}

/// A part of a whole.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub(crate) struct Fraction(pub(crate) f64);

impl From<Fraction> for f64 {
    fn from(part: Fraction) -> f64 {
        part.0
    }
}

impl TryFrom<f64> for Fraction {
    type Error = String;
    fn try_from(value: f64) -> Result<Fraction, String> {
        if (0.0..=1.0).contains(&value) {
            Ok(Fraction(value))
        } else {
            Err("minimum must be 0 to 1".to_owned())
        }
    }
}

/// The version of the plan's form.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub(crate) struct Version;

impl From<Version> for u32 {
    fn from(_: Version) -> u32 {
        1
    }
}

impl TryFrom<u32> for Version {
    type Error = String;
    fn try_from(version: u32) -> Result<Version, String> {
        if version == 1 {
            Ok(Version)
        } else {
            Err(format!("version {version} is not known; it must be 1"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn parsed(text: &str, files: &[&str]) -> Result<Vec<Glob>, String> {
        let files = files.iter().map(PathBuf::from).collect();
        let plan = Plan::parse_for(text.as_bytes(), || files)?;
        Ok(plan.protected().unwrap().to_vec())
    }

    #[test]
    fn a_bracket_is_literal_where_a_file_has_that_name_and_behind_a_backslash() {
        let app = ["app/[id]/a.js", "app/i/a.js"];
        let paths = app.map(PathBuf::from);
        for (pattern, files, wanted) in [
            ("app/[id]/a.js", &app[..], 0),
            ("app/[id]/*.js", &app, 0),
            ("app/[id]/a.js", &app[1..], 1),
            (r"app/\[id\]/a.js", &app[1..], 0),
        ] {
            let globs = parsed(&format!("protected: ['{pattern}']"), files).unwrap();
            assert_eq!(matching(&globs, &paths), [wanted], "{pattern}");
            assert!(globs[0].shown().starts_with("app/[id]"), "{pattern}");
        }
        let page = "app/[[...sign-in]]/page.js";
        let globs = parsed(&format!("protected: ['{page}']"), &[page]).unwrap();
        assert_eq!(matching(&globs, &[PathBuf::from(page)]), [0]);
        let why = parsed(&format!("version: 1\nprotected: ['{page}']"), &[]).unwrap_err();
        assert!(
            why.contains("protected[0]") && why.contains("line 2"),
            "{why}"
        );
    }
}
