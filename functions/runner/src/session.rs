//! A runner's life: claim, run, report, and on every way out nothing left behind.

use std::process::ExitCode;
use std::time::Duration;

use awo_domain::control::RunSpec;
use awo_supervisor::{KILL_LIMIT, become_subreaper, hide_memory, kill_descendants};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant};

use crate::control_client::ControlClient;
use crate::reporter::{NotFinished, Reporter};
use crate::run_loop::{self, Halted};
use crate::settings::Settings;
use crate::stop::{self, StopReason, StopSignal, StopSwitch};

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
    let code = match runtime {
        // The runtime is left to the exit of the process: nothing of ours is worth waiting for.
        Ok(runtime) => runtime.block_on(live(&settings)),
        Err(why) => return refuse(&why.to_string()),
    };
    // Whatever way it ended: we are the last subreaper.
    let survivors = kill_descendants(KILL_LIMIT, |_| ());
    if survivors > 0 {
        tracing::error!(survivors, "processes survived");
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
    tracing::error!(why, "the runner could not begin");
    ExitCode::FAILURE
}

async fn live(settings: &Settings) -> ExitCode {
    let (switch, stop) = stop::channel();
    if let Err(why) = listen(&switch) {
        return refuse(&format!("cannot listen for signals: {why}"));
    }
    let began = Instant::now();
    let claimed = tokio::select! {
        claimed = ControlClient::claim(settings) => claimed,
        _ = stop.stopped() => return ExitCode::from(EXIT_TERMINATED),
    };
    match claimed {
        Ok((client, spec)) => {
            tracing::info!(run_id = %spec.run_id, claim_ms = ms(began), "claimed");
            work(settings, client, &spec, &switch, &stop).await
        }
        Err(why) => refuse(&why),
    }
}

async fn work(
    settings: &Settings,
    client: ControlClient,
    spec: &RunSpec,
    switch: &StopSwitch,
    stop: &StopSignal,
) -> ExitCode {
    let reporter = Reporter::start(client, switch.clone());
    let whole = async {
        let halted = run_loop::run(settings, spec, &reporter, stop).await;
        match halted {
            Halted::Ended(ending, layout) => {
                let reported = tokio::select! {
                    reported = reporter.finish(ending) => Ok(reported),
                    reason = stop.stopped() => Err(reason),
                };
                if let Some(layout) = layout {
                    layout.sweep();
                }
                reported
            }
            Halted::Stopped(reason) => Err(reason),
        }
    };
    let too_late = async {
        stop.stopped().await;
        tokio::time::sleep(STOP_LIMIT).await;
    };
    let ended = tokio::select! {
        ended = whole => ended,
        () = too_late => Err(stop.reason().unwrap_or(StopReason::Fenced)),
    };
    match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(NotFinished::TimedOut)) => refuse("the end of the run could not be reported"),
        Ok(Err(NotFinished::Fenced)) | Err(StopReason::Fenced) => ExitCode::from(EXIT_FENCED),
        Err(StopReason::Terminated) => ExitCode::from(EXIT_TERMINATED),
    }
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
