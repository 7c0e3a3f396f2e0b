//! The run queue: doorbells for the dispatcher. A bell says only whose queue to look at, so one
//! that is lost, late or doubled does no harm.

use awo_domain::{Error, OrgId};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use serde::{Deserialize, Serialize};

/// A doorbell message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Doorbell {
    /// Whose queue.
    pub org_id: OrgId,
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

    /// Rings for an organization.
    ///
    /// # Errors
    /// Internal, when SQS fails.
    pub async fn ring(&self, org: &OrgId) -> Result<(), Error> {
        let body = serde_json::to_string(&Doorbell {
            org_id: org.clone(),
        })
        .map_err(Error::internal)?;
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

    /// Rings, and is content if that fails: the sweep rings again.
    pub async fn ring_or_leave_to_sweep(&self, org: &OrgId) {
        if let Err(error) = self.ring(org).await {
            tracing::warn!(%org, ?error, "the doorbell was not rung; the sweep will");
        }
    }
}
