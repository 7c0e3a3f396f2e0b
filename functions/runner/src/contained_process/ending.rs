//! How a contained command is asked to end, and what its end was.

use awo_supervisor::{KILL_LIMIT, ProcessEnd, Report, kill_descendants};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};
use tokio::time::Instant;

use super::{CalledOff, End};
use crate::limits;
use crate::stop::{Step, Timetable};

/// Why a command was asked to end, if it was.
#[derive(Debug, Clone, Default)]
pub(super) struct EndRequest {
    pub(super) by_time: bool,
    /// With its reason.
    pub(super) off: Option<String>,
    pub(super) by_stop: bool,
}

pub(super) fn how(asked: EndRequest, report: Option<Report>) -> End {
    match report {
        Some(Report {
            breach: Some(breach),
            ..
        }) => End::OverLimit(limits::description(breach)),
        _ if asked.by_time => End::TimedOut,
        _ if asked.off.is_some() => End::CalledOff(asked.off.unwrap_or_default()),
        None => End::SupervisorLost,
        Some(report) => match report.end {
            ProcessEnd::Exited { code } => End::Exited(code),
            ProcessEnd::Signaled { signal } => End::Signaled(signal),
            ProcessEnd::NotStarted { reason } => End::NotStarted(reason),
        },
    }
}

/// Waits until a command is called off.
pub(super) async fn called(off: &mut Option<CalledOff>) -> String {
    let why = match off {
        Some(off) => match off.wait_for(Option::is_some).await {
            Ok(why) => why.clone(),
            Err(_) => None,
        },
        None => None,
    };
    match why {
        Some(why) => why,
        // Nobody is there who could.
        None => std::future::pending().await,
    }
}

/// Sends a supervisor the step that is due, and how long its tree has from now. One that is gone reads
/// nothing and needs to hear nothing; one that was stopped by what it supervises goes on.
pub(super) async fn signal(
    child: &Child,
    stdin: &mut Option<ChildStdin>,
    step: Step,
    timetable: Timetable,
) {
    let left = timetable
        .kill_at()
        .saturating_duration_since(Instant::now());
    // Rounded up, so that no tree loses the end of its time.
    let ms = left.as_millis() + 1;
    let stop_request = match step {
        Step::Interrupt => format!("int {ms}\n"),
        Step::Terminate => format!("term {ms}\n"),
        Step::Kill => "kill\n".to_owned(),
    };
    if let Some(stdin) = stdin {
        let _ = stdin.write_all(stop_request.as_bytes()).await;
    }
    if let Some(id) = child.id() {
        let _ = kill(Pid::from_raw(id.cast_signed()), Signal::SIGCONT);
    }
}

/// Kills what a lost supervisor left. No child of this process is being waited for elsewhere
/// meanwhile: git runs before or after a command, never beside it.
pub(super) async fn finish_the_job() {
    let killed = tokio::task::spawn_blocking(|| kill_descendants(KILL_LIMIT, |_| ())).await;
    tracing::warn!(
        event = "supervisor_lost",
        survivors = killed.unwrap_or_default().survivors,
        "a supervisor was lost; its processes were killed"
    );
}
