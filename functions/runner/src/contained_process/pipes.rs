//! The output of a contained command, up to its limit, and its supervisor's report.

use std::borrow::Cow;

use awo_supervisor::Report;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::{FinishedCommand, Listener};
use crate::live_output::Stream;
use crate::masks::{MaskedStream, Masks};

/// Bytes read from a pipe at once: as much as a pipe holds.
const CHUNK_BYTES: usize = 65_536;
/// Bytes at the beginning of standard output that are stored beside its end.
pub(super) const HEAD_BYTES: usize = 16_384;
/// Longest report of a supervisor.
const MAX_REPORT_BYTES: u64 = 16_384;

/// Reads both streams to their ends, into the stored output of the command and the live output.
pub(super) async fn read_both(
    stdout: &mut Receiver,
    stderr: &mut Receiver,
    finished: &mut FinishedCommand,
    heard: Option<&dyn Listener>,
    masks: &Masks,
) {
    let hear = |from, bytes: &[u8]| {
        if let Some(heard) = heard {
            heard.append(from, bytes);
        }
    };
    let mut from_stdout = vec![0; CHUNK_BYTES];
    let mut from_stderr = vec![0; CHUNK_BYTES];
    let (mut of_stdout, mut of_stderr) = (masks.stream(), masks.stream());
    let (mut stdout_open, mut stderr_open) = (true, true);
    while stdout_open || stderr_open {
        tokio::select! {
            count = stdout.read(&mut from_stdout), if stdout_open => {
                let count = count.unwrap_or(0);
                stdout_open = count > 0;
                let bytes = masked(&mut of_stdout, &from_stdout[..count]);
                finished.output.push(&bytes);
                finished.stdout.push(&bytes);
                hear(Stream::Stdout, &bytes);
                let room = HEAD_BYTES - finished.stdout_head.len();
                finished.stdout_head.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            count = stderr.read(&mut from_stderr), if stderr_open => {
                let count = count.unwrap_or(0);
                stderr_open = count > 0;
                let bytes = masked(&mut of_stderr, &from_stderr[..count]);
                finished.output.push(&bytes);
                hear(Stream::Stderr, &bytes);
            }
        }
    }
}

/// What of a stream can be shown; nothing has come at its end.
fn masked<'a>(stream: &mut MaskedStream, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if bytes.is_empty() {
        Cow::Owned(stream.end())
    } else {
        stream.push(bytes)
    }
}

pub(super) async fn read_report(pipe: &mut Receiver) -> Option<Report> {
    let mut line = Vec::new();
    let read = pipe.take(MAX_REPORT_BYTES).read_to_end(&mut line).await;
    read.ok().and_then(|_| serde_json::from_slice(&line).ok())
}
