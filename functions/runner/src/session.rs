//! A runner's life: claim, run, report, and on every way out nothing left behind.

use std::process::ExitCode;
use std::time::Duration;

use awo_supervisor::{KILL_LIMIT, become_subreaper, hide_memory, kill_descendants};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use crate::control_client::ControlClient;
use crate::layout::Layout;
use crate::reporter::{NotFinished, Reporter};
use crate::run_loop::{self, Halted};
use crate::settings::Settings;
use crate::stop::{self, StopReason, StopSwitch};

/// The command line.
pub const USAGE: &str = "\
usage: runner
       runner supervise [--uid N --gid N] [--term-grace-ms N] [--report-fd N] -- command [argument…]

Without arguments: does the one run whose nonce stands in the environment.
  AWO_CONTROL_URL     where the control API is (https://; http:// on loopback only)
  AWO_NONCE           <orgId>.<runId>.<secret>, good for one claim
  AWO_WORKSPACE_ROOT  absolute path; the run works in <root>/<orgId>/<runId>
  AWO_AGENT_UID       user id of agents and verifiers; counts if the runner is root
  AWO_AGENT_GID       their group id (default: the user id)

Exit codes: 0 the end of the run is reported, 1 it could not begin or be reported,
3 fenced (the control API took the run away), 143 stopped by SIGTERM.

supervise: runs a command and kills everything that is left of it when it is over.";

/// The run was taken away.
const EXIT_FENCED: u8 = 3;
/// 128 + SIGTERM.
const EXIT_TERMINATED: u8 = 143;
/// Longest time from the wish to stop to the end: the supervisor's grace and kill, and some more.
const STOP_LIMIT: Duration = Duration::from_secs(25);

/// How long work on folders in the background is awaited.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);

/// The whole program.
#[must_use]
pub fn run() -> ExitCode {
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::INFO)
        .init();
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
    let (code, layout) = runtime.block_on(live(&settings));
    runtime.shutdown_timeout(SWEEP_LIMIT);
    // Whatever way it ended: we are the last subreaper.
    let survivors = kill_descendants(KILL_LIMIT, |_| ());
    if survivors > 0 {
        tracing::error!(survivors, "processes survived");
    }
    if let Some(layout) = layout {
        layout.sweep();
    }
    code
}

/// What must be done before there is a second thread or a hostile process.
fn prepare() -> Result<Settings, String> {
    let settings = Settings::from_env()?;
    let hardened = hide_memory().and_then(|()| become_subreaper());
    hardened.map_err(|why| format!("cannot shut this process off: {why}"))?;
    if settings.agent_user.is_some() && !nix::unistd::geteuid().is_root() {
        tracing::warn!("AWO_AGENT_UID has no effect, since the runner is not root");
    }
    Ok(settings)
}

fn refuse(why: &str) -> ExitCode {
    tracing::error!(why, "the runner cannot do its work");
    ExitCode::FAILURE
}

/// Returns the folders to sweep, where the run came to its own end.
async fn live(settings: &Settings) -> (ExitCode, Option<Layout>) {
    let (switch, stop) = stop::channel();
    if let Err(why) = listen(&switch) {
        return (refuse(&format!("cannot listen for signals: {why}")), None);
    }
    let began = Instant::now();
    let claimed = tokio::select! {
        claimed = ControlClient::claim(settings) => claimed,
        _ = stop.stopped() => return (ExitCode::from(EXIT_TERMINATED), None),
    };
    let (client, spec) = match claimed {
        Ok(claimed) => claimed,
        Err(why) => return (refuse(&why), None),
    };
    tracing::info!(run_id = %spec.run_id, claim_ms = ms(began), "claimed");
    let reporter = Reporter::start(client, switch);
    let too_late = async {
        let reason = stop.stopped().await;
        tokio::time::sleep(STOP_LIMIT).await;
        reason
    };
    let halted = tokio::select! {
        halted = run_loop::run(settings, &spec, &reporter, &stop) => halted,
        reason = too_late => Halted::Stopped(reason),
    };
    let (ending, layout) = match halted {
        Halted::Ended(ending, layout) => (ending, layout),
        Halted::Stopped(reason) => return (stopped(reason), None),
    };
    tracing::info!(outcome = ?ending.outcome, "the run ended");
    let reported = tokio::select! {
        reported = reporter.finish(ending) => reported,
        reason = stop.stopped() => return (stopped(reason), layout),
    };
    let code = match reported {
        Ok(()) => ExitCode::SUCCESS,
        Err(NotFinished::Fenced) => stopped(StopReason::Fenced),
        Err(why @ NotFinished::TimedOut) => refuse(&why.to_string()),
    };
    (code, layout)
}

fn stopped(reason: StopReason) -> ExitCode {
    ExitCode::from(match reason {
        StopReason::Fenced => EXIT_FENCED,
        StopReason::Terminated => EXIT_TERMINATED,
    })
}

/// SIGTERM and SIGINT stop the run.
fn listen(switch: &StopSwitch) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let signals = signal(kind)?;
        tokio::spawn(stop_at(signals, switch.clone()));
    }
    Ok(())
}

async fn stop_at(mut signals: Signal, switch: StopSwitch) {
    if signals.recv().await.is_some() {
        tracing::info!("told to stop");
        switch.stop(StopReason::Terminated);
    }
}

fn ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
