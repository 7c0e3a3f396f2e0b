//! A runner's life: claim, run, report, and clean-up on every exit.

use std::process::ExitCode;
use std::time::Duration;

use awo_domain::RunId;
use awo_domain::control::{Outcome, RunEnvironment, RunSpec, StopRequest};
use awo_supervisor::{KILL_LIMIT, become_subreaper, hide_memory, kill_descendants};
use nix::sys::stat::Mode;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::agent_sessions::AgentSessions;
use crate::control_client::{ControlClient, NotClaimed, OUTAGE};
use crate::control_thread::{self, ControlThread};
use crate::event_sender::is_immediate;
use crate::exit::{EXIT_FENCED, EXIT_KILLED, EXIT_TERMINATED, refuse};
use crate::layout::Layout;
use crate::manual;
use crate::masks::Masks;
use crate::messages::{Ending, NotFinished};
use crate::reporter::Reporter;
use crate::run_loop::{self, LoopEnd, Progress};
use crate::settings::{Settings, Task};
use crate::stop::{self, STOP_SLACK, StopOutcome, StopReason, StopSignal};
use crate::stop_listener::{ASK_LIMIT, TerminationSignal, listen};
use crate::workspace_archive::WorkspaceArchive;

/// The command line.
pub const USAGE: &str = "\
usage: runner
       runner supervise [--uid N --gid N] [--term-grace-ms N] [--report-fd N]
                        [--max-memory-mb N] [--max-disk-mb N] [--max-processes N]
                        [--place FOLDER…] -- command [argument…]
       runner inspect MIB FILE
       runner clean FOLDER

Without arguments: does the one run, or the one manual verification, whose nonce stands in the
environment.
  AWO_CONTROL_URL     where the control API is (https://; http:// on loopback only)
  AWO_NONCE           <orgId>.<runId or verificationId>.<secret>, good for one claim
  AWO_WORKSPACE_ROOT  absolute path; a run works in <root>/<orgId>/<runId>
  AWO_SHARED_ROOT     absolute path, optional: a folder that the organization's tasks share, where
                      workspaces are kept for a day after the end of their runs
  AWO_AGENT_UIDS      user ids, <first>-<last>, of which each run has one if the runner is root
  AWO_AGENT_UID       the one user id of agents and verifiers instead; counts if the runner is root
  AWO_AGENT_GID       their group id (default: the user id)
  AWO_CONFINEMENT     `require` refuses to run anything where a layer of confinement is missing
  AWO_GITHUB_API_URL  GitHub's API for repositories on github.com and on its own host
  AWO_PRIVATE_HOSTS   hosts and networks that are not public at which registries may be
  AWO_GIT_CA_FILE     PEM file of the only authorities trusted for git hosts; for tests

On SIGTERM it asks the control API why. If a client canceled or killed the run, it stops as
requested and reports what was used; otherwise the platform ends the task: SIGTERM to the agent,
5 s later SIGKILL, no report.

Exit codes:
    0  the end of the run is reported, also one that a client requested
    1  it could not begin or be reported
    3  fenced: the control API did not hand the run out, or took it away
  137  stopped as a client requested, with SIGKILL, and that could not be reported
  143  the same without SIGKILL; or stopped by SIGTERM alone

supervise: runs a command and kills everything that is left of it when it is over.
inspect: answers the verification's questions of FILE about the current folder, with MIB of memory.";

/// How long the last report of a run is tried that reached its own end.
const FINISH_LIMIT: Duration = Duration::from_secs(300);
const _: () = assert!(FINISH_LIMIT.as_secs() > 2 * OUTAGE.as_secs());
/// How long it is tried when the run is to stop.
const STOPPED_FINISH_LIMIT: Duration = Duration::from_secs(15);
/// How long the workspace of a run that reached its own end is packed before the end is reported, so that
/// a client that learns of the end can verify it.
const KEEP_LIMIT: Duration = Duration::from_secs(120);
/// How long it is packed when the run was to stop, which has been reported then.
const STOPPED_KEEP_LIMIT: Duration = Duration::from_secs(10);
/// How long work on folders in the background is awaited.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);

/// Starts the log: lines of JSON, with an event's fields at the top level.
pub(crate) fn start_log() {
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::INFO)
        .init();
}

/// The whole program.
#[must_use]
pub fn run() -> ExitCode {
    start_log();
    // The agents' user reads what the runner's repository shares with a checkout, whatever mask
    // the runner was started with; secrets have modes of their own.
    nix::sys::stat::umask(Mode::S_IWGRP | Mode::S_IWOTH);
    let settings = match prepare() {
        Ok(settings) => settings,
        Err(why) => return refuse(&why),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(why) => return refuse(&why.to_string()),
    };
    let control = match ControlThread::start() {
        Ok(control) => control,
        Err(why) => return refuse(&why.to_string()),
    };
    let (code, layout) = match &settings.nonce.task {
        Task::Run(run) => runtime.block_on(live(&settings, run, control.handle())),
        Task::Verification(id) => (runtime.block_on(manual::verify(&settings, id)), None),
    };
    runtime.shutdown_timeout(SWEEP_LIMIT);
    // Whatever way it ended: we are the last subreaper.
    let survivors = kill_descendants(KILL_LIMIT, |_| ()).survivors;
    if survivors > 0 {
        tracing::error!(
            event = "processes_survived",
            survivors,
            "processes survived"
        );
    }
    if let Some(layout) = layout {
        layout.sweep();
    }
    code
}

/// What must be done before there is a second thread or a hostile process.
fn prepare() -> Result<Settings, String> {
    let mut settings = Settings::from_env()?;
    settings.confine()?;
    let hardened = hide_memory().and_then(|()| become_subreaper());
    hardened.map_err(|why| format!("cannot isolate this process: {why}"))?;
    if settings.agent_user.is_some() && !nix::unistd::geteuid().is_root() {
        tracing::warn!(
            event = "agent_uid_ignored",
            "AWO_AGENT_UID has no effect, since the runner is not root"
        );
    }
    Ok(settings)
}

/// Returns the folders to sweep, where the end of the run is a matter of record.
async fn live(settings: &Settings, run: &RunId, control: &Handle) -> (ExitCode, Option<Layout>) {
    // Both hear every signal: one while the run goes on, the other until its end is reported.
    let signals = TerminationSignal::new().and_then(|termination| {
        let _there = control.enter();
        Ok((termination, TerminationSignal::new()?))
    });
    let (mut termination, stop_listener) = match signals {
        Ok(signals) => signals,
        Err(why) => return (refuse(&format!("cannot listen for signals: {why}")), None),
    };
    let began = Instant::now();
    // The connections of a client belong to the thread on which it was first used.
    let (of_claim, claimed_run) = (settings.clone(), run.clone());
    let claim = control.spawn(async move { ControlClient::claim(&of_claim, &claimed_run).await });
    let claimed = tokio::select! {
        claimed = claim => claimed.unwrap_or_else(|why| Err(NotClaimed::Failed(why.to_string()))),
        // Without a token no call is possible; a claim that is under way may still bring one.
        () = termination.long_since_received(ASK_LIMIT) => return (ExitCode::from(EXIT_TERMINATED), None),
    };
    let (client, spec) = match claimed {
        Ok(claimed) => claimed,
        Err(why @ NotClaimed::Refused(_)) => {
            tracing::info!(event = "nothing_to_do", %why, "there is nothing to do");
            return (ExitCode::from(EXIT_FENCED), None);
        }
        Err(NotClaimed::Failed(why)) => return (refuse(&why), None),
    };
    tracing::info!(event = "claimed", run_id = %spec.run_id, claim_ms = ms(began), "the run is claimed");
    let (settings, _user) = match settings.with_user(None) {
        Ok((settings, user)) => (&settings.clone(), user),
        Err(why) => return (refuse(&format!("the run has no user: {why}")), None),
    };
    if let Some(archive) = WorkspaceArchive::of(settings) {
        archive.sweep();
    }
    let (switch, stop) = stop::channel();
    let values = spec.environment.as_ref().map(RunEnvironment::values);
    let reporter = Reporter::start(control, client.clone(), switch.clone(), stop.clone())
        .masking(Masks::of(values.unwrap_or_default()));
    let listening =
        control_thread::run(control, listen(stop_listener, client, switch, stop.clone()));
    let session = Session {
        settings,
        spec: &spec,
        reporter,
        stop,
    };
    session.work(termination, listening).await
}

/// A runner that has a run to do.
struct Session<'a> {
    settings: &'a Settings,
    spec: &'a RunSpec,
    reporter: Reporter,
    stop: StopSignal,
}

impl Session<'_> {
    /// Stop requests are read until the run has ended.
    async fn work(
        &self,
        mut termination: TerminationSignal,
        listening: control_thread::Task,
    ) -> (ExitCode, Option<Layout>) {
        let mut progress = Progress::default();
        let halted = tokio::select! {
            halted = run_loop::run(
                self.settings, self.spec, &self.reporter, &self.stop, &mut progress,
            ) => halted,
            // What is still alive then is killed below.
            () = self.stop.overdue(STOP_SLACK) => LoopEnd::Stopped(StopOutcome { forced: true }),
        };
        drop(listening);
        match (halted, self.stop.reason()) {
            (LoopEnd::Ended(outcome), _) => {
                // A stop now does not wait for it.
                tokio::select! {
                    () = self.keep(&progress, KEEP_LIMIT) => {}
                    () = termination.received() => {}
                }
                let code = self.ended(outcome, &progress, termination).await;
                (code, progress.into_layout())
            }
            (LoopEnd::Stopped(stopped), Some(StopReason::Requested(stop_request))) => {
                let code = self.stopped(stopped, stop_request, &progress).await;
                self.keep(&progress, STOPPED_KEEP_LIMIT).await;
                (code, progress.into_layout())
            }
            (LoopEnd::Stopped(_), Some(StopReason::Fenced)) => (ExitCode::from(EXIT_FENCED), None),
            (LoopEnd::Stopped(_), _) => (ExitCode::from(EXIT_TERMINATED), None),
        }
    }

    /// The run reached its own end. If a client stops it now, the service decides which was
    /// first.
    async fn ended(
        &self,
        outcome: Outcome,
        progress: &Progress,
        mut termination: TerminationSignal,
    ) -> ExitCode {
        // The code alone: messages end with what the agent wrote, and this log is the operator's.
        tracing::info!(event = "run_ended", outcome = outcome.kind(), code = ?outcome.error_code(), "the run ended");
        let nothing_alive = nothing_is_alive().await;
        let ending = Ending {
            nothing_alive,
            ..progress.ending(outcome, self.reporter.client_code())
        };
        let reported = tokio::select! {
            reported = self.reporter.finish(ending, FINISH_LIMIT) => reported,
            () = termination.long_since_received(STOPPED_FINISH_LIMIT) => {
                tracing::error!(event = "end_not_reported", "the end of the run could not be reported before the task's own");
                return ExitCode::from(EXIT_TERMINATED);
            }
        };
        match reported {
            Ok(()) => ExitCode::SUCCESS,
            Err(NotFinished::Fenced) => ExitCode::from(EXIT_FENCED),
            Err(why @ NotFinished::TimedOut) => refuse(&why.to_string()),
        }
    }

    /// Keeps the session for the next turn, and the workspace for other tasks. A run does not fail because that did.
    async fn keep(&self, progress: &Progress, limit: Duration) {
        if let (Some((layout, session_id)), Some(_)) = (progress.session(), &self.spec.thread) {
            let sessions = AgentSessions::of(self.settings, &self.spec.org_id);
            sessions.store(self.spec, layout, session_id).await;
        }
        let (Some(archive), Some(workspace)) =
            (WorkspaceArchive::of(self.settings), progress.workspace())
        else {
            return;
        };
        match archive.keep(&self.spec.run_id, &workspace, limit).await {
            Ok(bytes) => tracing::info!(
                event = "workspace_archived",
                bytes,
                "the workspace is archived"
            ),
            Err(why) => {
                tracing::warn!(event = "workspace_not_archived", %why, "the workspace could not be archived")
            }
        }
    }

    /// A client requested the end. It is reported once nothing is alive.
    async fn stopped(
        &self,
        stopped: StopOutcome,
        stop_request: StopRequest,
        progress: &Progress,
    ) -> ExitCode {
        let forced = stopped.forced || is_immediate(stop_request);
        let not_reported = ExitCode::from(if forced { EXIT_KILLED } else { EXIT_TERMINATED });
        if !nothing_is_alive().await {
            tracing::error!(
                event = "kill_incomplete",
                "not every process of the stopped run could be killed"
            );
            return not_reported;
        }
        let commit = progress.commit();
        let ending = Ending {
            nothing_alive: true,
            ..progress.ending(
                Outcome::Stopped { forced, commit },
                self.reporter.client_code(),
            )
        };
        tracing::info!(
            event = "run_stopped",
            ?stop_request,
            forced,
            "the run was stopped"
        );
        match self.reporter.finish(ending, STOPPED_FINISH_LIMIT).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(NotFinished::Fenced) => ExitCode::from(EXIT_FENCED),
            Err(why @ NotFinished::TimedOut) => {
                tracing::error!(
                    event = "end_left_to_service",
                    %why,
                    "the service detects it at the end of this task"
                );
                not_reported
            }
        }
    }
}

/// Kills what is left. Nothing waits for children any more; without any this is the proof, and quick.
async fn nothing_is_alive() -> bool {
    let killed = tokio::task::spawn_blocking(|| kill_descendants(KILL_LIMIT, |_| ())).await;
    killed.is_ok_and(|killed| killed.survivors == 0)
}

fn ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
