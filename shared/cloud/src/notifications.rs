//! The deliveries queue (SQS): notifications for `deliver-webhooks`. A lost, late or duplicate one
//! does no harm, and the sweep resends overdue ones.

use awo_domain::Error;
use awo_store::webhooks::notifications::{Notification, Notifications};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, QueueAttributeName, SendMessageBatchRequestEntry,
};

use crate::Cloud;

/// Messages of one call: as many as SQS takes.
const BATCH: usize = 10;
/// Longest visibility timeout of a message that was received, in seconds: 12 h, of which some
/// have gone by.
const MAX_HIDDEN_SECONDS: i64 = 11 * 3_600;

/// The deliveries queue.
#[derive(Debug, Clone)]
pub struct NotificationQueue {
    client: Client,
    url: String,
}

impl NotificationQueue {
    /// The queue at this URL.
    #[must_use]
    pub fn new(client: Client, url: String) -> NotificationQueue {
        NotificationQueue { client, url }
    }

    /// Sends notifications, each in the group of its receiver, so that none of them waits for another's.
    ///
    /// # Errors
    /// Internal, when SQS fails; some may have been sent.
    pub async fn send(&self, notifications: &[Notification]) -> Result<(), Error> {
        for batch in notifications.chunks(BATCH) {
            let entries = batch.iter().enumerate();
            let entries: Result<Vec<_>, Error> = entries.map(|(nth, e)| entry(nth, e)).collect();
            let sent = self
                .client
                .send_message_batch()
                .queue_url(&self.url)
                .set_entries(Some(entries?))
                .send()
                .await;
            let sent = sent.map_err(|e| failed("SendMessageBatch", &DisplayErrorContext(&e)))?;
            if let Some(refused) = sent.failed.first() {
                return Err(failed("SendMessageBatch", &refused.code));
            }
        }
        Ok(())
    }

    /// Lets messages that were received come back after so many milliseconds, rounded up to whole
    /// seconds: never earlier. They are named by their receipt handles.
    ///
    /// # Errors
    /// Internal, when SQS fails: those whose visibility was not extended come back when the queue's own time is
    /// over.
    pub async fn extend_visibility(&self, messages: &[(String, i64)]) -> Result<(), Error> {
        for batch in messages.chunks(BATCH) {
            let entries = batch.iter().enumerate();
            let entries: Result<Vec<_>, Error> =
                entries.map(|(nth, m)| visibility_entry(nth, m)).collect();
            let extended = self
                .client
                .change_message_visibility_batch()
                .queue_url(&self.url)
                .set_entries(Some(entries?))
                .send()
                .await;
            let call = "ChangeMessageVisibilityBatch";
            let extended = extended.map_err(|e| failed(call, &DisplayErrorContext(&e)))?;
            if let Some(refused) = extended.failed.first() {
                return Err(failed(call, &refused.code));
            }
        }
        Ok(())
    }

    /// Approximate number of messages in flight: a queue allows 120 000, and then hands out none.
    ///
    /// # Errors
    /// Internal, when SQS fails.
    pub async fn in_flight(&self) -> Result<u64, Error> {
        let name = QueueAttributeName::ApproximateNumberOfMessagesNotVisible;
        let known = self
            .client
            .get_queue_attributes()
            .queue_url(&self.url)
            .attribute_names(name.clone())
            .send()
            .await;
        let known = known.map_err(|e| failed("GetQueueAttributes", &DisplayErrorContext(&e)))?;
        let count = known.attributes.and_then(|mut known| known.remove(&name));
        count
            .and_then(|count| count.parse().ok())
            .ok_or_else(|| Error::internal("GetQueueAttributes: no count of messages in flight"))
    }
}

fn entry(nth: usize, notification: &Notification) -> Result<SendMessageBatchRequestEntry, Error> {
    let group = match notification {
        Notification::Outbox(org) => org.as_str(),
        Notification::Delivery(at) => at.webhook_id.as_str(),
    };
    SendMessageBatchRequestEntry::builder()
        .id(nth.to_string())
        .message_body(serde_json::to_string(notification).map_err(Error::internal)?)
        .message_group_id(group)
        .build()
        .map_err(Error::internal)
}

fn visibility_entry(
    nth: usize,
    (receipt_handle, ms): &(String, i64),
) -> Result<ChangeMessageVisibilityBatchRequestEntry, Error> {
    let ms = (*ms).max(0);
    let seconds = ms.div_euclid(1_000) + i64::from(ms.rem_euclid(1_000) > 0);
    let seconds = i32::try_from(seconds.min(MAX_HIDDEN_SECONDS)).unwrap_or(i32::MAX);
    ChangeMessageVisibilityBatchRequestEntry::builder()
        .id(nth.to_string())
        .receipt_handle(receipt_handle)
        .visibility_timeout(seconds)
        .build()
        .map_err(Error::internal)
}

fn failed(call: &str, why: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("{call}: {why}"))
}

/// Sends the notifications that the transactions of a handler have recorded. Each caller of handlers has one.
#[derive(Debug, Clone)]
pub struct Notifier {
    noted: Notifications,
    queue: Option<NotificationQueue>,
}

impl Notifier {
    /// Of everything that is made of this cloud. A function without notifications needs no queue.
    #[must_use]
    pub fn new(cloud: &Cloud) -> Notifier {
        Notifier {
            noted: cloud.notifications.clone(),
            queue: cloud.notification_queue().ok(),
        }
    }

    /// Sends, and is content if that fails: the sweep sends again.
    pub async fn notify(&self) {
        let notifications = self.noted.take();
        if notifications.is_empty() {
            return;
        }
        let Some(queue) = &self.queue else {
            tracing::error!(
                event = "no_notification_queue",
                ?notifications,
                "there is no queue for notifications; the sweep sends them"
            );
            return;
        };
        if let Err(error) = queue.send(&notifications).await {
            tracing::warn!(
                event = "notifications_not_sent",
                ?notifications,
                ?error,
                "notifications could not be sent; the sweep sends them"
            );
        }
    }
}
