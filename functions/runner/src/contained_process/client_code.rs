//! The fact that decides whether a run is paid: a process of client code has started. The service learns
//! of it in a report that is sent at once, and in every report after that.

use std::sync::Arc;

use tokio::sync::watch;

/// Notes the start of the first process of client code: a hook, a setup, an agent or a check.
#[derive(Debug, Clone)]
pub(crate) struct ClientCode {
    started: Arc<watch::Sender<bool>>,
}

impl Default for ClientCode {
    fn default() -> ClientCode {
        ClientCode {
            started: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl ClientCode {
    pub(crate) fn note_start(&self) {
        self.started.send_if_modified(|started| {
            let is_first = !*started;
            *started = true;
            is_first
        });
    }

    pub(crate) fn has_started(&self) -> bool {
        *self.started.borrow()
    }

    /// Returns once it has.
    pub(crate) async fn until_started(&self) {
        // The sender lives as long as this does.
        let _ = self.started.subscribe().wait_for(|started| *started).await;
    }
}
