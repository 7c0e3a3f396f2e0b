//! The wish that a run stops: it comes once, stays, and reaches everything that waits.

use tokio::sync::watch;

/// Why a run must stop before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The control API no longer takes this runner's word: everything is to die at once.
    Fenced,
    /// The platform or an operator ends the task (SIGTERM): the agent is asked first.
    Terminated,
}

/// The side that stops.
#[derive(Debug, Clone)]
pub(crate) struct StopSwitch(watch::Sender<Option<StopReason>>);

/// The side that is stopped.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(watch::Receiver<Option<StopReason>>);

/// A switch and its signal.
pub(crate) fn channel() -> (StopSwitch, StopSignal) {
    let (sender, receiver) = watch::channel(None);
    (StopSwitch(sender), StopSignal(receiver))
}

impl StopSwitch {
    /// Stops everything; the first reason stands, but a fence overrides politeness.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.0.send_if_modified(|now| {
            let stronger = now.is_none() || reason == StopReason::Fenced;
            let changed = stronger && *now != Some(reason);
            if changed {
                *now = Some(reason);
            }
            changed
        });
    }
}

impl StopSignal {
    /// Why everything stops, if it does.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        *self.0.borrow()
    }

    /// Waits for the wish to stop.
    pub(crate) async fn stopped(&self) -> StopReason {
        let mut receiver = self.0.clone();
        match receiver.wait_for(Option::is_some).await {
            Ok(reason) => reason.unwrap_or(StopReason::Fenced),
            // The switch is gone: nobody can stop us any more.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until everything is to die without being asked.
    pub(crate) async fn fenced(&self) {
        let mut receiver = self.0.clone();
        let fenced = receiver.wait_for(|reason| *reason == Some(StopReason::Fenced));
        if fenced.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
