//! A run's diff, as the API shows it.

use awo_domain::RunId;
use awo_store::engine::list::MAX_PAGE_BYTES;
use awo_store::runs::diffs::Diff;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use utoipa::ToSchema;

/// A run's changes: its base against its newest commit, as a unified diff.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunDiff)]
pub struct DiffShape<'a> {
    /// The run.
    run_id: &'a RunId,
    /// The iteration whose commit it ends at; absent before the first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration: Option<u32>,
    /// The commit that the run began with; absent before the first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_commit: Option<&'a str>,
    /// The run's newest commit; absent before the first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    /// The unified diff as text; empty before the first commit and where nothing was changed.
    diff: String,
    /// The exact bytes of `diff` in base64, where they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// The length of the whole diff in bytes.
    bytes: u64,
    /// True if `diff` is not the whole diff.
    truncated: bool,
    /// Why the stored diff cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

impl<'a> DiffShape<'a> {
    /// The diff of a run; of one that has no commit it is empty.
    #[must_use]
    pub fn of(run_id: &'a RunId, diff: Option<&'a Diff>) -> DiffShape<'a> {
        let unpacked = diff.map_or(Some(Vec::new()), Diff::unpacked);
        let bytes = diff.map_or(0, |diff| diff.bytes);
        let stored = unpacked.as_deref().unwrap_or_default();
        let text = String::from_utf8_lossy(stored);
        let base64 = std::str::from_utf8(stored).is_err();
        let base64 = base64.then(|| STANDARD.encode(stored));
        let left = MAX_PAGE_BYTES - base64.as_ref().map_or(0, String::len);
        let shown = fitting(&text, left);
        let is_whole = shown.len() == text.len()
            && unpacked
                .as_ref()
                .is_some_and(|unpacked| unpacked.len() as u64 == bytes);
        DiffShape {
            run_id,
            iteration: diff.map(|diff| diff.iteration),
            base_commit: diff.map(|diff| diff.base_commit.as_str()),
            commit: diff.map(|diff| diff.commit.as_str()),
            diff: shown.to_owned(),
            base64,
            bytes,
            truncated: !is_whole,
            error: unpacked
                .is_none()
                .then_some("the stored diff cannot be read"),
        }
    }
}

/// As much of a text as an answer can hold: in a function's answer the body is a string in JSON,
/// so that what JSON escapes is escaped twice.
fn fitting(text: &str, most: usize) -> &str {
    let mut bytes = 0;
    for (at, character) in text.char_indices() {
        bytes += match character {
            '"' | '\\' => 4,
            '\n' | '\t' | '\r' => 3,
            character if character.is_control() => 7,
            character => character.len_utf8(),
        };
        if bytes > most {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_answer_holds_fits_whatever_it_is() {
        for character in ['a', '"', '\\', '\n', '\u{1}', '\u{fffd}'] {
            let text: String = std::iter::repeat_n(character, 3 * 1_048_576).collect();
            let shown = fitting(&text, MAX_PAGE_BYTES);
            let on_the_way = json!(json!(shown).to_string()).to_string();
            assert!(on_the_way.len() <= MAX_PAGE_BYTES + 16, "{character:?}");
            let next = shown.len() + character.len_utf8();
            assert!(shown.len() == text.len() || text.is_char_boundary(next));
        }
    }
}
