//! A stream of bytes as lines for people, without colours.

use std::mem;

use crate::output::printable;

/// Longest line that is looked at, in bytes; no summary is longer.
const MAX_LINE_BYTES: usize = 4_096;

/// The line so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    /// Passes on each line that is complete. A carriage return ends one, too: progress is shown so.
    pub(super) fn push(&mut self, bytes: &[u8], mut line: impl FnMut(&str)) {
        let mut parts = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        if let Some(rest) = parts.next() {
            self.add(rest);
        }
        for part in parts {
            self.end(&mut line);
            self.add(part);
        }
    }

    /// Passes on the rest.
    pub(super) fn end(&mut self, mut line: impl FnMut(&str)) {
        let bytes = mem::take(&mut self.bytes);
        if !mem::take(&mut self.is_too_long) && !bytes.is_empty() {
            line(&printable(&String::from_utf8_lossy(&bytes)));
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.bytes.len() + bytes.len() > MAX_LINE_BYTES;
        if self.is_too_long {
            self.bytes.clear();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}
