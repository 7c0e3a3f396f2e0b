//! What comes from a supervised command: its output, never more of it than is kept, and its
//! supervisor's report.

use awo_supervisor::Report;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::Finished;

/// Bytes read from a pipe at once: as much as a pipe holds.
const CHUNK_BYTES: usize = 65_536;
/// How much of the beginning of standard output is kept beside its end.
pub(super) const HEAD_BYTES: usize = 16_384;
/// Longest report of a supervisor.
const MAX_REPORT_BYTES: u64 = 16_384;

pub(super) async fn read_both(
    stdout: &mut Receiver,
    stderr: &mut Receiver,
    finished: &mut Finished,
) {
    let mut from_stdout = vec![0; CHUNK_BYTES];
    let mut from_stderr = vec![0; CHUNK_BYTES];
    let (mut stdout_open, mut stderr_open) = (true, true);
    while stdout_open || stderr_open {
        tokio::select! {
            count = stdout.read(&mut from_stdout), if stdout_open => {
                let count = count.unwrap_or(0);
                stdout_open = count > 0;
                finished.output.push(&from_stdout[..count]);
                finished.stdout.push(&from_stdout[..count]);
                let room = HEAD_BYTES - finished.stdout_head.len();
                finished.stdout_head.extend_from_slice(&from_stdout[..count.min(room)]);
            }
            count = stderr.read(&mut from_stderr), if stderr_open => {
                let count = count.unwrap_or(0);
                stderr_open = count > 0;
                finished.output.push(&from_stderr[..count]);
            }
        }
    }
}

pub(super) async fn read_report(pipe: &mut Receiver) -> Option<Report> {
    let mut line = Vec::new();
    let read = pipe.take(MAX_REPORT_BYTES).read_to_end(&mut line).await;
    read.ok().and_then(|_| serde_json::from_slice(&line).ok())
}
