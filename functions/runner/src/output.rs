//! The end of a process's output, up to a fixed number of bytes.

use std::iter::Peekable;
use std::str::Chars;

/// Longest rest of a character that was cut in two.
const MAX_TORN_BYTES: usize = 3;

/// The last bytes of a stream.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    keep: usize,
    total: u64,
}

impl Tail {
    /// A tail of at most `keep` bytes.
    pub(crate) fn new(keep: usize) -> Tail {
        Tail {
            bytes: Vec::new(),
            keep,
            total: 0,
        }
    }

    /// Adds what came.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        // Cut at twice the size only, so that each byte is copied once at most.
        if self.bytes.len() > 2 * self.keep {
            self.bytes.drain(..self.bytes.len() - self.keep);
        }
    }

    /// Adds what another tail has; what that has lost counts as well.
    pub(crate) fn append(&mut self, other: &Tail) {
        self.push(other.bytes());
        self.total += other.total.saturating_sub(other.bytes().len() as u64);
    }

    /// The last bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.bytes.len().saturating_sub(self.keep)..]
    }

    /// True if there was more than is stored.
    pub(crate) fn was_cut(&self) -> bool {
        self.total > self.keep as u64
    }

    /// How many bytes there were in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The last bytes as valid UTF-8 of at most as many bytes; what was not is replaced.
    pub(crate) fn utf8(&self) -> String {
        let bytes = self.bytes();
        // A character that was cut in two is no fault of its writer.
        let torn = bytes
            .iter()
            .take(MAX_TORN_BYTES)
            .take_while(|byte| self.was_cut() && is_continuation(**byte));
        let mut text = String::from_utf8_lossy(&bytes[torn.count()..]).into_owned();
        let mut from = text.len().saturating_sub(self.keep);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text.split_off(from)
    }

    /// The last bytes as text for people, and whether something was cut.
    pub(crate) fn text(&self) -> String {
        let text = printable(&String::from_utf8_lossy(self.bytes()));
        if self.was_cut() {
            format!("[{} bytes in total; this is the end]\n{text}", self.total)
        } else {
            text
        }
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Text without what would steer a terminal: escape sequences and control characters.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            skip_sequence(&mut chars);
        } else if c == '\n' || c == '\t' || !c.is_control() {
            out.push(c);
        }
    }
    out
}

/// Skips the rest of an escape sequence; its content is dropped on purpose.
fn skip_sequence(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        // Up to its first letter.
        Some('[') => {
            chars.next();
            while chars.next().is_some_and(|c| !matches!(c, '@'..='~')) {}
        }
        // A link or a title, up to its end.
        Some(']') => {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                let is_end = c == '\u{1b}' && chars.next_if_eq(&'\\').is_some();
                if is_end || c == '\u{7}' {
                    break;
                }
            }
        }
        // A set of characters.
        Some('(' | ')') => {
            chars.next();
            chars.next();
        }
        _ => {}
    }
}

/// The last `limit` bytes of a text, cut at a character and marked as cut.
pub(crate) fn last_bytes(text: &str, limit: usize) -> String {
    const MARK: &str = "[…]";
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut from = text.len() - limit.saturating_sub(MARK.len());
    while !text.is_char_boundary(from) {
        from += 1;
    }
    format!("{MARK}{}", &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_stored_and_a_cut_is_marked() {
        let mut tail = Tail::new(4);
        for piece in ["abc", "defghijklm", "no", ""] {
            tail.push(piece.as_bytes());
        }
        assert_eq!(tail.bytes(), b"lmno");
        assert!(tail.text().starts_with("[15 bytes in total"));
        assert!(tail.bytes.capacity() < 64);
    }

    #[test]
    fn utf8_is_valid_and_no_longer_than_what_is_kept() {
        let utf8 = |bytes: &[u8]| {
            let mut tail = Tail::new(7);
            tail.push(bytes);
            tail.utf8()
        };
        assert_eq!(utf8("\u{1b}[1mü".as_bytes()), "\u{1b}[1mü");
        assert_eq!(utf8("xüüüü".as_bytes()), "üüü");
        assert_eq!(utf8(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(utf8(b"\xff\xff\xff\xff"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn text_for_people_holds_no_escape_sequences() {
        assert_eq!(printable("\u{1b}[31;1mred\u{1b}[0m\0\r\n"), "red\n");
        let link = "\u{1b}(B\u{1b}]8;;http://a\u{1b}\\a\u{1b}]8;;\u{7}b\u{1b}[1~c";
        assert_eq!(printable(link), "abc");
        assert_eq!(printable("\u{1b}]8;;never ends\na"), "\na");
        assert_eq!(last_bytes("ääää", 6), "[…]");
        assert_eq!(last_bytes("aaaaaaaa", 6), "[…]a");
    }
}
