//! What the run hands over to the event sender.

use awo_domain::Timestamp;
use awo_domain::control::{
    Configuration, IterationLog, Outcome, RunnerEvent, SnapshotDiff, TurnEnd,
};
use awo_domain::usage::PricedUsage;
use tokio::sync::oneshot;

/// How a run ended.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) iterations: u32,
    pub(crate) usage: Vec<PricedUsage>,
    /// True if a process of client code has started.
    pub(crate) executed: bool,
    /// Whether it was looked, and nothing of the run is alive.
    pub(crate) nothing_alive: bool,
    /// The end of its turn, of a run in a thread.
    pub(crate) turn: Option<TurnEnd>,
}

/// Why the end of the run could not be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotFinished {
    #[error("the control API no longer accepts this runner's reports")]
    Fenced,
    #[error("the control API did not acknowledge the end of the run in time")]
    TimedOut,
}

/// Receives the effective configuration of an iteration.
pub(crate) type Beginning = oneshot::Sender<Option<Box<Configuration>>>;

/// What is handed over.
#[expect(
    clippy::large_enum_variant,
    reason = "events are made, sent and dropped; few are held at once"
)]
pub(crate) enum Message {
    Event(Timestamp, RunnerEvent),
    Begin(Timestamp, u32, Beginning),
    Log(IterationLog),
    Diff(SnapshotDiff),
    Finish(Finishing),
}

/// The end of the run, and who waits until it is kept.
pub(crate) struct Finishing {
    pub(crate) ending: Box<Ending>,
    pub(crate) stored: oneshot::Sender<Result<(), NotFinished>>,
}
