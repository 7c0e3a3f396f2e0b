//! Dispatch: a wake-up only names the organization whose queue is read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use awo_cloud::queue::WakeUp;
use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, OrgId};
use awo_execution::dispatcher::Dispatcher;
use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};

use crate::{Worker, worker};

/// The function `dispatch-runs`.
///
/// # Errors
/// When a setting is missing or does not read.
pub fn function(cloud: &Cloud) -> Result<Worker, SetupError> {
    Ok(worker(cloud, state(cloud)?, handle))
}

/// The state of `dispatch-runs`.
///
/// # Errors
/// When a setting is missing.
pub fn state(cloud: &Cloud) -> Result<Dispatcher, SetupError> {
    Dispatcher::new(cloud)
}

/// Handles a batch of wake-ups: each organization is handled once. The messages of one that
/// failed come back.
///
/// # Errors
/// None: the response lists the wake-ups that failed.
pub async fn handle(
    dispatcher: Arc<Dispatcher>,
    event: SqsEvent,
) -> Result<SqsBatchResponse, lambda_runtime::Error> {
    let mut response = SqsBatchResponse::default();
    let mut fail = |ids: Vec<String>, error: Error| {
        tracing::error!(
            event = "dispatch_failed", message_ids = ?ids,
            ?error,
            "dispatch failed; the wake-up comes again"
        );
        let failures = ids.into_iter().map(|id| {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            failure
        });
        response.batch_item_failures.extend(failures);
    };
    let mut wake_ups: BTreeMap<OrgId, (WakeUp, Vec<String>)> = BTreeMap::new();
    for message in event.records {
        let id = message.message_id.clone().unwrap_or_default();
        match read(&message) {
            Ok(wake_up) => {
                let of_org = wake_ups.entry(wake_up.org_id.clone());
                let (of_all, ids) = of_org.or_insert_with(|| (WakeUp::of(&wake_up.org_id), vec![]));
                of_all.capacity |= wake_up.capacity;
                ids.push(id);
            }
            Err(error) => fail(vec![id], error),
        }
    }
    let began = Instant::now();
    for (wake_up, ids) in wake_ups.into_values() {
        // Boxed: the calls below are deep, and the compiler lays out futures whole.
        let filled = if began.elapsed() < dispatcher.filling {
            Box::pin(dispatcher.fill_slots(&wake_up)).await
        } else {
            dispatcher.queue.wake(&wake_up).await
        };
        if let Err(error) = filled {
            fail(ids, error);
        }
    }
    Ok(response)
}

fn read(message: &SqsMessage) -> Result<WakeUp, Error> {
    let body = message.body.as_deref().unwrap_or_default();
    serde_json::from_str(body).map_err(|e| Error::internal(format!("not a wake_up: {e}")))
}
