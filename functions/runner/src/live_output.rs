//! An agent's output as events during the iteration. It is for live viewers: a sample of bounded
//! cost that drops output beyond its rate; the iteration's log has the complete end.
//!
//! The pauses between two events grow with the run's age, so an hour has some two hundred of them,
//! and the first minute one a second. Model keys are redacted.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awo_domain::agent::AgentType;
use awo_domain::control::RunnerEvent;
use tokio::time::{Instant, timeout};

use crate::contained_process::Listener;
use crate::output::printable;
use crate::reporter::Reporter;

/// Shortest pause before an event.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// A pause is at least this part of the run's age.
const PART_OF_AGE: u32 = 40;
/// Most events of a run.
const MAX_EVENTS: u32 = 400;
/// Most text of an event, in bytes.
const MAX_TEXT_BYTES: usize = 8_192;
/// Longest line that is reported, in bytes; a record of a driver may hold a whole file.
const MAX_LINE_BYTES: usize = 262_144;
/// Ends the last event of a run that has no more of them.
const NO_MORE: &str = "[further output is not shown here; the log of the iteration has its end]\n";

/// The reporter of output, for a whole run.
pub(crate) struct LiveOutput {
    reporter: Reporter,
    began: Instant,
    events: AtomicU32,
}

impl LiveOutput {
    pub(crate) fn new(reporter: Reporter) -> LiveOutput {
        LiveOutput {
            reporter,
            began: Instant::now(),
            events: AtomicU32::new(0),
        }
    }

    /// Reports the buffered output while `work` goes on. The rest is reported at its end, if
    /// there was a report before: an agent that ends at once has a log.
    pub(crate) async fn of<T>(
        &self,
        iteration: u32,
        buffer: &OutputBuffer,
        work: impl Future<Output = T>,
    ) -> T {
        let before = self.events.load(Ordering::Relaxed);
        let mut work = std::pin::pin!(work);
        let done = loop {
            let pause = MIN_PAUSE.max(self.began.elapsed() / PART_OF_AGE);
            match timeout(pause, &mut work).await {
                Ok(done) => break done,
                Err(_) => self.report(iteration, buffer.take(false)),
            }
        };
        if self.events.load(Ordering::Relaxed) > before {
            self.report(iteration, buffer.take(true));
        }
        done
    }

    fn report(&self, iteration: u32, (mut text, left_out_bytes): (String, u64)) {
        if text.is_empty() {
            return;
        }
        match self.events.fetch_add(1, Ordering::Relaxed) + 1 {
            MAX_EVENTS => text.push_str(NO_MORE),
            past if past > MAX_EVENTS => return,
            _ => {}
        }
        self.reporter.watched(RunnerEvent::AgentOutput {
            iteration,
            text,
            left_out_bytes,
        });
    }
}

/// Where it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout = 0,
    Stderr = 1,
}

/// The words of a line that an agent of a type has written; nothing if viewers see none of it.
type Words = fn(AgentType, &[u8]) -> Option<String>;

/// An attempt's output, in words, until it is reported.
#[derive(Debug)]
pub(crate) struct OutputBuffer {
    kind: AgentType,
    words: Words,
    /// Never reported.
    secret: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The line so far, by stream.
    lines: [Line; 2],
    text: String,
    /// Bytes that were left out before the text.
    left_out: u64,
}

#[derive(Debug, Default)]
struct Line {
    bytes: Vec<u8>,
    /// Bytes that it has beyond those.
    over: u64,
}

impl Listener for OutputBuffer {
    fn append(&self, from: Stream, bytes: &[u8]) {
        let state = &mut *self.state();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = &mut state.lines[from as usize];
            let whole = piece.strip_suffix(b"\n");
            let piece = whole.unwrap_or(piece);
            let fits = piece.len().min(MAX_LINE_BYTES - line.bytes.len());
            line.bytes.extend_from_slice(&piece[..fits]);
            line.over += (piece.len() - fits) as u64;
            if whole.is_some() {
                self.end_line(state, from);
            }
        }
    }
}

impl OutputBuffer {
    /// An empty output of an agent of that type.
    pub(crate) fn new(kind: AgentType, words: Words, secret: Option<String>) -> OutputBuffer {
        OutputBuffer {
            kind,
            words,
            secret,
            state: Mutex::default(),
        }
    }

    /// The text to report, and the number of bytes before it that were left out; with `rest` also of lines
    /// that have no end yet.
    fn take(&self, rest: bool) -> (String, u64) {
        let state = &mut *self.state();
        for from in [Stream::Stdout, Stream::Stderr] {
            if rest && !state.lines[from as usize].bytes.is_empty() {
                self.end_line(state, from);
            }
        }
        if state.text.is_empty() {
            return (String::new(), 0);
        }
        (
            std::mem::take(&mut state.text),
            std::mem::take(&mut state.left_out),
        )
    }

    fn end_line(&self, state: &mut State, from: Stream) {
        let line = std::mem::take(&mut state.lines[from as usize]);
        if line.over > 0 {
            state.left_out += line.bytes.len() as u64 + line.over;
            return;
        }
        let Some(words) = (self.words)(self.kind, &line.bytes) else {
            return;
        };
        let words = match &self.secret {
            Some(secret) => words.replace(secret.as_str(), "[key]"),
            None => words,
        };
        state.text.push_str(&printable(&words));
        state.text.push('\n');
        let mut over = state.text.len().saturating_sub(MAX_TEXT_BYTES);
        while !state.text.is_char_boundary(over) {
            over += 1;
        }
        state.text.drain(..over);
        state.left_out += over as u64;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(kind: AgentType) -> OutputBuffer {
        OutputBuffer::new(
            kind,
            crate::agent::viewer_text,
            Some("awo-run-secret".to_owned()),
        )
    }

    #[test]
    fn lines_are_reported_whole_and_streams_do_not_mix() {
        let buffer = buffer(AgentType::Command);
        buffer.append(Stream::Stdout, b"one\nha");
        buffer.append(Stream::Stderr, b"\x1b[31merror\x1b[0m\n");
        buffer.append(Stream::Stdout, "lf key=awo-run-secret ü".as_bytes());
        assert_eq!(buffer.take(false), ("one\nerror\n".to_owned(), 0));
        assert_eq!(buffer.take(false), (String::new(), 0));
        assert_eq!(buffer.take(true).0, "half key=[key] ü\n");
    }

    #[test]
    fn what_comes_too_fast_is_left_out_and_counted() {
        let buffer = buffer(AgentType::Command);
        let line = format!("{}\n", "ü".repeat(100));
        for _ in 0..1_000 {
            buffer.append(Stream::Stdout, line.as_bytes());
        }
        let (text, left_out) = buffer.take(false);
        assert!(text.len() <= MAX_TEXT_BYTES && text.ends_with("ü\n"));
        assert_eq!(text.len() as u64 + left_out, 1_000 * line.len() as u64);
        let long = vec![b'x'; MAX_LINE_BYTES + 1];
        buffer.append(Stream::Stdout, &long);
        buffer.append(Stream::Stdout, b"\nshort\n");
        assert_eq!(
            buffer.take(false),
            ("short\n".to_owned(), MAX_LINE_BYTES as u64 + 1)
        );
    }

    #[test]
    fn a_driver_is_reported_in_words() {
        let buffer = buffer(AgentType::Codex);
        buffer.append(
            Stream::Stdout,
            br#"{"type":"turn.started"}
{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}
"#,
        );
        assert_eq!(buffer.take(false).0, "Done.\n");
    }
}
