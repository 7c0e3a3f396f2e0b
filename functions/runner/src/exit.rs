//! How this program ends: its exit codes, and a beginning that failed.

use std::process::ExitCode;

/// The run is not ours.
pub(crate) const EXIT_FENCED: u8 = 3;
/// 128 + SIGKILL.
pub(crate) const EXIT_KILLED: u8 = 137;
/// 128 + SIGTERM.
pub(crate) const EXIT_TERMINATED: u8 = 143;

/// Ends a program that cannot do its work; the sentence is for the operator.
pub(crate) fn refuse(why: &str) -> ExitCode {
    tracing::error!(
        event = "runner_cannot_start",
        why,
        "the runner cannot do its work"
    );
    ExitCode::FAILURE
}
