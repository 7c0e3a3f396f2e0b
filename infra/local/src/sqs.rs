//! SQS, standard queues, in memory. Invariants: the message wakes a waiting receiver, not a clock;
//! while nothing is due, nothing runs; whatever SQS refuses is refused here.
//!
//! A restart loses all messages. The product must tolerate that: its tables have the state, and its
//! sweep sends wake-ups again.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::access::AccessKey;
use crate::aws_json::{self, Dialect};
use crate::serve::Server;
use crate::shutdown::Shutdown;
pub use crate::sqs::attributes::{QueueAttributes, RedrivePolicy};
pub use crate::sqs::error::SqsError;
pub use crate::sqs::message::{
    Message, MessageAttribute, MessageAttributes, NewMessage, ReceivedMessage,
};
use crate::sqs::queue::{Queue, ReceiveLimits};
pub use crate::sqs::store::Counts;
use crate::{arn, clock};

mod attributes;
mod error;
pub(crate) mod message;
mod protocol;
mod queue;
pub(crate) mod receive;
mod store;

/// A batch of ten largest messages, escaped, and its envelope.
const BODY_BYTES: usize = 4 * 1024 * 1024;

/// Queues of one local cloud.
pub const QUEUES: usize = 1000;

/// Pause between two purges of a queue.
const PURGE_PAUSE: Duration = Duration::from_secs(60);

const DIALECT: Dialect = Dialect {
    target_prefix: "AmazonSQS.",
    content_type: "application/x-amz-json-1.0",
    body_bytes: BODY_BYTES,
};

/// The URL of a queue, given the endpoint of the server.
#[must_use]
pub fn queue_url(endpoint: &str, name: &str) -> String {
    format!("{}/{}/{name}", endpoint.trim_end_matches('/'), arn::ACCOUNT)
}

/// Serves the queues until the shutdown.
///
/// # Errors
/// When the listener is not on loopback.
pub fn start(
    listener: TcpListener,
    queues: Queues,
    key: AccessKey,
    shutdown: Shutdown,
) -> io::Result<Server> {
    let endpoint: Arc<str> = format!("http://{}", listener.local_addr()?).into();
    aws_json::serve(listener, DIALECT, key, shutdown, move |operation, body| {
        let (queues, endpoint) = (queues.clone(), Arc::clone(&endpoint));
        async move { protocol::run(&queues, &endpoint, &operation, &body).await }
    })
}

/// The parameters of a receive.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    /// 1 to 10.
    pub messages: usize,
    /// Bytes of all bodies and attributes; one message is handed out whatever its size.
    pub bytes: usize,
    /// `None` is the queue's own.
    pub wait: Option<Duration>,
    /// `None` is the queue's own.
    pub visibility: Option<Duration>,
}

/// All queues. Clones share them.
#[derive(Clone)]
pub struct Queues {
    queues: Arc<Mutex<BTreeMap<String, Queue>>>,
    shutdown: Shutdown,
}

impl Queues {
    #[must_use]
    pub fn new(shutdown: Shutdown) -> Self {
        Self {
            queues: Arc::default(),
            shutdown,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        name: &str,
        act: impl FnOnce(&mut Queue) -> Result<T, SqsError>,
    ) -> Result<T, SqsError> {
        act(self
            .lock()
            .get_mut(name)
            .ok_or(SqsError::QueueDoesNotExist)?)
    }

    /// Makes a queue. One of the same name and attributes is left as it is.
    ///
    /// # Errors
    /// When the name is taken by a queue with other attributes, or is no name, or the
    /// dead-letter queue does not exist.
    pub fn create(&self, name: &str, attributes: QueueAttributes) -> Result<(), SqsError> {
        let letters = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || name.len() > 80 || !name.chars().all(letters) {
            return Err(SqsError::InvalidParameterValue(
                "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in \
                 length"
                    .to_owned(),
            ));
        }
        let mut queues = self.lock();
        check_target(&queues, &attributes)?;
        match queues.get(name) {
            Some(queue) if queue.attributes == attributes => return Ok(()),
            Some(_) => return Err(SqsError::QueueNameExists(name.to_owned())),
            None if queues.len() >= QUEUES => {
                return Err(SqsError::OverLimit(format!(
                    "There are {QUEUES} queues already."
                )));
            }
            None => {}
        }
        let created = clock::epoch_millis() / 1000;
        queues.insert(
            name.to_owned(),
            Queue::new(name, arn::queue(name), attributes, created),
        );
        Ok(())
    }

    pub(crate) fn set_attributes(
        &self,
        name: &str,
        changes: &BTreeMap<String, String>,
    ) -> Result<(), SqsError> {
        let mut queues = self.lock();
        let queue = queues.get(name).ok_or(SqsError::QueueDoesNotExist)?;
        let mut attributes = queue.attributes.clone();
        attributes.set(changes)?;
        check_target(&queues, &attributes)?;
        let queue = queues.get_mut(name).ok_or(SqsError::QueueDoesNotExist)?;
        queue.attributes = attributes;
        Ok(())
    }

    /// # Errors
    /// When there is no such queue.
    pub fn exists(&self, name: &str) -> Result<(), SqsError> {
        self.with(name, |_| Ok(()))
    }

    /// # Errors
    /// When there is no such queue or the message is beyond a limit.
    pub fn send(&self, name: &str, message: NewMessage) -> Result<Arc<Message>, SqsError> {
        self.with(name, |queue| {
            queue.send(message, Instant::now(), clock::epoch_millis())
        })
    }

    /// Waits for messages; none at the end of the wait or when the shutdown begins.
    ///
    /// # Errors
    /// When there is no such queue or too many messages are in flight.
    pub async fn receive(
        &self,
        name: &str,
        receive: Receive,
    ) -> Result<Vec<ReceivedMessage>, SqsError> {
        let start = Instant::now();
        let wait = match receive.wait {
            Some(wait) => wait,
            None => self.with(name, |queue| Ok(queue.attributes.receive_wait))?,
        };
        let deadline = start + wait;
        let arrivals = self.with(name, |queue| Ok(Arc::clone(&queue.arrivals)))?;
        loop {
            let arrival = arrivals.notified();
            tokio::pin!(arrival);
            // Listen before reading, so that a message that comes in between is not missed.
            arrival.as_mut().enable();
            let now = Instant::now();
            let (received, next) = self.try_receive(name, receive, now)?;
            if !received.is_empty() || now >= deadline || self.shutdown.has_begun() {
                return Ok(received);
            }
            let next_read = next.map_or(deadline, |next| next.min(deadline));
            tokio::select! {
                () = arrival => {}
                () = tokio::time::sleep_until(next_read) => {}
                () = self.shutdown.begun() => return Ok(Vec::new()),
            }
        }
    }

    fn try_receive(
        &self,
        name: &str,
        receive: Receive,
        now: Instant,
    ) -> Result<(Vec<ReceivedMessage>, Option<Instant>), SqsError> {
        let Receive {
            messages,
            bytes,
            visibility,
            ..
        } = receive;
        let mut queues = self.lock();
        let queue = queues.get_mut(name).ok_or(SqsError::QueueDoesNotExist)?;
        let limits = ReceiveLimits {
            messages,
            bytes,
            visibility,
        };
        let (received, buried) = queue.receive(limits, now, clock::epoch_millis())?;
        let next = queue.next_ready_at();
        let target = queue
            .attributes
            .redrive_policy
            .as_ref()
            .and_then(|policy| policy.dead_letter_target_arn.rsplit(':').next())
            .map(str::to_owned);
        for message in buried {
            let grave = target.as_deref().and_then(|target| queues.get_mut(target));
            match grave.map(|queue| queue.bury(message, now)) {
                Some(Ok(())) => tracing::warn!(queue = name, "a message became a dead letter"),
                Some(Err(error)) => {
                    tracing::error!(queue = name, %error, "a dead letter was lost");
                }
                None => tracing::error!(queue = name, "a dead letter had no queue to go to"),
            }
        }
        Ok((received, next))
    }

    /// # Errors
    /// When there is no such queue or the handle is none of its.
    pub fn delete(&self, name: &str, receipt_handle: &str) -> Result<(), SqsError> {
        self.with(name, |queue| queue.delete(receipt_handle))
    }

    /// Makes a received message visible again after `seconds`.
    ///
    /// # Errors
    /// When there is no such queue, or the message is not in flight under this handle, or the
    /// time is beyond the limit.
    pub fn change_visibility(
        &self,
        name: &str,
        receipt_handle: &str,
        seconds: u64,
    ) -> Result<(), SqsError> {
        self.with(name, |queue| {
            queue.change_visibility(receipt_handle, seconds, Instant::now())
        })
    }

    /// # Errors
    /// When there is no such queue.
    pub fn counts(&self, name: &str) -> Result<Counts, SqsError> {
        self.with(name, |queue| Ok(queue.counts(Instant::now())))
    }

    pub(crate) fn purge(&self, name: &str) -> Result<(), SqsError> {
        self.with(name, |queue| {
            let now = Instant::now();
            if queue
                .purged
                .is_some_and(|purged| now.duration_since(purged) < PURGE_PAUSE)
            {
                return Err(SqsError::PurgeQueueInProgress);
            }
            queue.purged = Some(now);
            queue.purge();
            Ok(())
        })
    }

    /// Every attribute by the name that `GetQueueAttributes` knows it by.
    pub(crate) fn attributes(&self, name: &str) -> Result<BTreeMap<String, String>, SqsError> {
        self.with(name, |queue| {
            let counts = queue.counts(Instant::now());
            let mut all = queue.attributes.render();
            for (name, value) in [
                ("ApproximateNumberOfMessages", counts.ready.to_string()),
                (
                    "ApproximateNumberOfMessagesNotVisible",
                    counts.in_flight.to_string(),
                ),
                (
                    "ApproximateNumberOfMessagesDelayed",
                    counts.delayed.to_string(),
                ),
                ("QueueArn", queue.arn.clone()),
                ("CreatedTimestamp", queue.created_seconds.to_string()),
                ("LastModifiedTimestamp", queue.created_seconds.to_string()),
            ] {
                all.insert(name.to_owned(), value);
            }
            Ok(all)
        })
    }
}

fn check_target(
    queues: &BTreeMap<String, Queue>,
    attributes: &QueueAttributes,
) -> Result<(), SqsError> {
    let Some(policy) = &attributes.redrive_policy else {
        return Ok(());
    };
    let known = queues
        .values()
        .any(|queue| queue.arn == policy.dead_letter_target_arn);
    if known {
        return Ok(());
    }
    Err(SqsError::InvalidParameterValue(format!(
        "Value {} for parameter RedrivePolicy is invalid. Reason: Dead letter target does not \
         exist.",
        policy.dead_letter_target_arn
    )))
}
