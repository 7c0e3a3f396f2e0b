//! Values that must not be seen, and their place in bytes that somebody else has written.

use std::borrow::Cow;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use awo_domain::environment::MIN_MASKED_BYTES;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What stands in the place of a value.
const MASK: &str = "***";

/// Finds values and puts a mask in their place. Its `Debug` has their number alone.
#[derive(Clone, Default)]
pub(crate) struct Masks(Option<Arc<Finder>>);

struct Finder {
    values: Vec<Vec<u8>>,
    automaton: AhoCorasick,
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = self.0.as_ref().map_or(0, |finder| finder.values.len());
        write!(f, "Masks({values})")
    }
}

impl Masks {
    /// Of these values: as they are, as JSON has them, line by line, and in base64, also where they are part of
    /// what is encoded, as the password of `user:password` is.
    pub(crate) fn of(values: Vec<&str>) -> Masks {
        let mut forms: Vec<Vec<u8>> = Vec::new();
        // A mask in the place of every shorter value would hide half of an output.
        let masked = values
            .into_iter()
            .filter(|value| value.len() >= MIN_MASKED_BYTES);
        for value in masked {
            forms.push(value.as_bytes().to_vec());
            let json = Value::from(value).to_string();
            forms.push(json.as_bytes()[1..json.len() - 1].to_vec());
            let lines = value.lines().map(str::trim);
            let lines = lines.filter(|line| line.len() >= MIN_MASKED_BYTES);
            forms.extend(lines.map(|line| line.as_bytes().to_vec()));
            forms.extend(encoded(value.trim()));
        }
        forms.sort_unstable();
        forms.dedup();
        if forms.is_empty() {
            return Masks(None);
        }
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms);
        match built {
            Ok(automaton) => Masks(Some(Arc::new(Finder {
                values: forms,
                automaton,
            }))),
            // The values are bounded far below what an automaton can hold.
            Err(why) => {
                tracing::error!(event = "values_not_masked", %why, "values cannot be masked");
                Masks(None)
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The bytes with masks in the place of values.
    pub(crate) fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.0 {
            Some(finder) if finder.automaton.is_match(bytes) => {
                let masks = vec![MASK; finder.values.len()];
                Cow::Owned(finder.automaton.replace_all_bytes(bytes, &masks))
            }
            _ => Cow::Borrowed(bytes),
        }
    }

    /// The same for a text.
    pub(crate) fn text(&self, text: &str) -> String {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => text.to_owned(),
            Cow::Owned(masked) => String::from_utf8_lossy(&masked).into_owned(),
        }
    }

    /// The same for each text in a value that reads from JSON as it writes. One that would not read
    /// any more stays as it is: then the mask met one of our own words.
    pub(crate) fn all_texts<T: Serialize + DeserializeOwned>(&self, of: T) -> T {
        if self.is_empty() {
            return of;
        }
        let masked = serde_json::to_value(&of).ok().and_then(|mut json| {
            self.mask_json(&mut json);
            serde_json::from_value(json).ok()
        });
        masked.unwrap_or(of)
    }

    fn mask_json(&self, json: &mut Value) {
        match json {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_json(item)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| self.mask_json(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Overwrites each value with as many asterisks, so that whatever counts bytes still counts
    /// right. False if there was none.
    pub(crate) fn blank(&self, bytes: &mut [u8]) -> bool {
        let Some(finder) = &self.0 else {
            return false;
        };
        let found: Vec<_> = finder.automaton.find_iter(&*bytes).collect();
        for place in &found {
            bytes[place.range()].fill(b'*');
        }
        !found.is_empty()
    }

    /// Masks of a stream.
    pub(crate) fn stream(&self) -> MaskedStream {
        MaskedStream {
            masks: self.clone(),
            held: Vec::new(),
        }
    }

    /// How many bytes at the end of these may be the beginning of a value, and are no part of one that
    /// is there whole.
    fn torn(&self, bytes: &[u8]) -> usize {
        let Some(finder) = &self.0 else {
            return 0;
        };
        let mut cut = bytes.len() - finder.begun(bytes);
        for whole in finder.automaton.find_iter(bytes) {
            if (whole.start() + 1..whole.end()).contains(&cut) {
                cut = bytes.len() - finder.begun(&bytes[whole.end()..]);
            }
        }
        bytes.len() - cut
    }
}

/// The base64 of a value at each of the three positions that it may have in a longer text: the letters that the
/// value alone decides.
fn encoded(value: &str) -> Vec<Vec<u8>> {
    if value.len() < MIN_MASKED_BYTES {
        return Vec::new();
    }
    let mut forms = Vec::new();
    for before in 0..3_usize {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(value.as_bytes());
        let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&bytes).as_bytes()[own.clone()].to_vec());
        }
    }
    forms
}

impl Finder {
    /// How many bytes at the end of these begin a value.
    fn begun(&self, bytes: &[u8]) -> usize {
        let longest = self.values.iter().map(Vec::len).max().unwrap_or(0);
        let most = bytes.len().min(longest.saturating_sub(1));
        let begins = |end: &[u8]| {
            let mut values = self.values.iter();
            values.any(|value| value.len() > end.len() && value.starts_with(end))
        };
        (1..=most)
            .rev()
            .find(|length| begins(&bytes[bytes.len() - length..]))
            .unwrap_or(0)
    }
}

/// Masks what comes in pieces, of which a value may be torn by any two.
pub(crate) struct MaskedStream {
    masks: Masks,
    held: Vec<u8>,
}

impl MaskedStream {
    /// What can be shown of what has come.
    pub(crate) fn push<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if self.masks.is_empty() {
            return Cow::Borrowed(piece);
        }
        self.held.extend_from_slice(piece);
        let torn = self.masks.torn(&self.held);
        let rest = self.held.split_off(self.held.len() - torn);
        let whole = std::mem::replace(&mut self.held, rest);
        Cow::Owned(self.masks.bytes(&whole).into_owned())
    }

    /// What is left at the end.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.masks.bytes(&rest).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LONG: &str = "hunter2-hunter2-hunter2";

    fn streamed(masks: &Masks, pieces: &[&[u8]]) -> String {
        let mut stream = masks.stream();
        let mut all = Vec::new();
        for piece in pieces {
            all.extend_from_slice(&stream.push(piece));
        }
        all.extend(stream.end());
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_value_is_masked_as_it_is_as_json_has_it_and_line_by_line() {
        let masks = Masks::of(vec!["first-line\nsecond\"line", ""]);
        assert_eq!(masks.text("a first-line b"), "a *** b");
        assert_eq!(masks.text(r#"x second\"line"#), "x second\\\"line");
        assert_eq!(masks.text(r#""first-line\nsecond\"line""#), "\"***\"");
        assert_eq!(Masks::of(vec![]).text("x"), "x");
    }

    #[test]
    fn a_value_is_masked_in_base64_wherever_it_begins() {
        let value = "token-1234567890";
        let masks = Masks::of(vec![value]);
        for text in ["", "user:", "__token__:", "a:", "ab:", "abc:"] {
            for behind in ["", "x", "xy", "xyz"] {
                let whole = format!("{text}{value}{behind}");
                for shown in [
                    STANDARD_NO_PAD.encode(&whole),
                    URL_SAFE_NO_PAD.encode(&whole),
                ] {
                    let masked = masks.text(&format!("Basic {shown}"));
                    assert!(masked.contains("***"), "{whole}: {masked}");
                    assert!(masked.len() < "Basic ".len() + shown.len() - 12, "{masked}");
                }
            }
        }
        let other = STANDARD_NO_PAD.encode("another text altogether");
        assert_eq!(masks.text(&other), other);
    }

    #[test]
    fn the_longest_value_is_masked_whole() {
        let masks = Masks::of(vec!["abcdefgh", "abcdefgh-ijklmnop"]);
        assert_eq!(masks.text("abcdefgh-ijklmnop abcdefgh-x"), "*** ***-x");
    }

    #[test]
    fn a_file_keeps_its_length() {
        let masks = Masks::of(vec![LONG]);
        let mut bytes = format!("a={LONG};").into_bytes();
        let length = bytes.len();
        assert!(masks.blank(&mut bytes));
        assert_eq!((bytes.len(), &bytes[..3]), (length, &b"a=*"[..]));
        assert!(!masks.blank(&mut b"nothing".to_vec()));
    }

    #[test]
    fn what_reads_from_json_is_masked_text_by_text() {
        let masks = Masks::of(vec![LONG]);
        let of = vec![(format!("x{LONG}"), 7_u32)];
        assert_eq!(masks.all_texts(of), [("x***".to_owned(), 7)]);
    }

    #[test]
    fn lines_are_not_held_back_for_what_begins_no_value() {
        let masks = Masks::of(vec![LONG]);
        let mut stream = masks.stream();
        assert_eq!(stream.push(b"compiling\n").as_ref(), b"compiling\n");
        assert_eq!(stream.push(b"key: hunt").as_ref(), b"key: ");
        assert_eq!(stream.push(b"ing\n").as_ref(), b"hunting\n");
        assert!(stream.end().is_empty());
    }

    proptest! {
        #[test]
        fn a_stream_is_masked_however_it_is_torn(
            text in "(a|b|ab|secret-a-secret|secret-a|x){0,20}",
            cuts in prop::collection::vec(0_usize..200, 0..6),
        ) {
            let masks = Masks::of(vec!["secret-a-secret", "a-secret-b"]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.push(0);
            cuts.push(text.len());
            cuts.sort_unstable();
            let bytes = text.as_bytes();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|two| &bytes[two[0]..two[1]]).collect();
            let shown = streamed(&masks, &pieces);
            prop_assert!(!shown.contains("secret-a-secret"), "{shown}");
            prop_assert_eq!(shown, masks.text(&text));
        }
    }
}
