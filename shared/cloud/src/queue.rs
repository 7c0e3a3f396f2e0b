//! The run queue: wake-ups for the dispatcher. A wake-up only names the organization whose queue to
//! read, so a lost, late or duplicate one does no harm.

use awo_domain::{Error, OrgId};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use serde::{Deserialize, Serialize};

/// A wake-up message: a wake-up of the dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WakeUp {
    /// Whose queue.
    pub org_id: OrgId,
    /// True if the deployment may have capacity again: what the organization does not use is
    /// offered to the others that wait for it.
    #[serde(default)]
    pub capacity: bool,
}

impl WakeUp {
    /// A wake-up because something may wait, or may have its slot.
    #[must_use]
    pub fn of(org: &OrgId) -> WakeUp {
        WakeUp {
            org_id: org.clone(),
            capacity: false,
        }
    }

    /// A wake-up because the deployment may have capacity for the organization, or through it.
    #[must_use]
    pub fn for_capacity(org: &OrgId) -> WakeUp {
        WakeUp {
            capacity: true,
            ..WakeUp::of(org)
        }
    }
}

/// The run queue.
#[derive(Debug, Clone)]
pub struct RunQueue {
    client: Client,
    url: String,
}

impl RunQueue {
    /// The queue at this URL.
    #[must_use]
    pub fn new(client: Client, url: String) -> RunQueue {
        RunQueue { client, url }
    }

    /// Sends a wake-up.
    ///
    /// # Errors
    /// Internal, when SQS fails.
    pub async fn wake(&self, wake_up: &WakeUp) -> Result<(), Error> {
        let body = serde_json::to_string(wake_up).map_err(Error::internal)?;
        let sent = self
            .client
            .send_message()
            .queue_url(&self.url)
            .message_body(body)
            .send()
            .await;
        sent.map(|_| ())
            .map_err(|e| Error::internal(format!("SendMessage: {}", DisplayErrorContext(&e))))
    }

    /// Sends a wake-up, and is content if that fails: the sweep sends another.
    pub async fn wake_or_leave_to_sweep(&self, wake_up: &WakeUp) {
        if let Err(error) = self.wake(wake_up).await {
            let org = &wake_up.org_id;
            tracing::warn!(event = "wake_up_not_sent", %org, ?error, "a wake-up could not be sent; the sweep sends it");
        }
    }
}
