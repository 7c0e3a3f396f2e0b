//! The run queue: doorbells for the dispatcher. A bell says only whose queue to look at, so one
//! that is lost, late or doubled does no harm.

use awo_domain::{Error, OrgId};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use serde::{Deserialize, Serialize};

/// A doorbell message: a wake-up of the dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Doorbell {
    /// Whose queue.
    pub org_id: OrgId,
    /// True if the deployment may have capacity again: what the organization does not use is
    /// offered to the others that wait for it.
    #[serde(default)]
    pub capacity: bool,
}

impl Doorbell {
    /// A wake-up because something may wait, or may have its slot.
    #[must_use]
    pub fn of(org: &OrgId) -> Doorbell {
        Doorbell {
            org_id: org.clone(),
            capacity: false,
        }
    }

    /// A wake-up because the deployment may have capacity for the organization, or through it.
    #[must_use]
    pub fn for_capacity(org: &OrgId) -> Doorbell {
        Doorbell {
            capacity: true,
            ..Doorbell::of(org)
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
    pub async fn ring(&self, bell: &Doorbell) -> Result<(), Error> {
        let body = serde_json::to_string(bell).map_err(Error::internal)?;
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
    pub async fn ring_or_leave_to_sweep(&self, bell: &Doorbell) {
        if let Err(error) = self.ring(bell).await {
            let org = &bell.org_id;
            tracing::warn!(%org, ?error, "the doorbell was not rung; the sweep will");
        }
    }
}
