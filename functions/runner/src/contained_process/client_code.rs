//! The fact that decides whether a run is paid: a process of client code has started. The service learns
//! of it before the first one starts, so that no process can prevent that by ending its runner.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Longest time that the first process waits for the service. A service that does not answer for so long learns
/// of it in a later report.
const ANNOUNCE_LIMIT: Duration = Duration::from_secs(5);

/// Notes the start of the first process of client code: a hook, a setup, an agent or a check.
#[derive(Debug, Clone)]
pub(crate) struct ClientCode {
    started: Arc<watch::Sender<bool>>,
    reported: Arc<watch::Sender<bool>>,
}

impl Default for ClientCode {
    fn default() -> ClientCode {
        ClientCode {
            started: Arc::new(watch::Sender::new(false)),
            reported: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl ClientCode {
    /// Notes that a process is about to start.
    pub(crate) fn note_start(&self) {
        set(&self.started);
    }

    /// Notes that the service has answered a report of the start.
    pub(crate) fn note_reported(&self) {
        set(&self.reported);
    }

    pub(crate) fn has_started(&self) -> bool {
        *self.started.borrow()
    }

    pub(crate) fn is_reported(&self) -> bool {
        *self.reported.borrow()
    }

    /// Returns once it has.
    pub(crate) async fn until_started(&self) {
        until(&self.started).await;
    }

    /// Notes that a process is about to start, and waits until the service has answered a report of
    /// it, for some seconds at most.
    pub(crate) async fn announce(&self) {
        self.note_start();
        let announced = timeout(ANNOUNCE_LIMIT, until(&self.reported)).await;
        if announced.is_err() {
            tracing::warn!(
                event = "start_not_reported",
                "the start of the first process could not be reported in time"
            );
        }
    }
}

fn set(flag: &watch::Sender<bool>) {
    flag.send_if_modified(|value| !std::mem::replace(value, true));
}

async fn until(flag: &watch::Sender<bool>) {
    // The sender lives as long as its owner does.
    let _ = flag.subscribe().wait_for(|value| *value).await;
}
