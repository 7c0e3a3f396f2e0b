//! Dispatch: the bell that wakes it says only whose queue to look at.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use awo_cloud::queue::Doorbell;
use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, OrgId};
use awo_execution::dispatcher::{Dispatcher, FILLING};
use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};

/// The state of `dispatch-runs`.
///
/// # Errors
/// When a setting is missing.
pub fn state(cloud: &Cloud) -> Result<Dispatcher, SetupError> {
    Dispatcher::new(cloud)
}

/// Handles a batch of bells: one look for each organization that they are of. Those of a look that
/// failed ring again.
///
/// # Errors
/// None: failures are told bell by bell.
pub async fn handle(
    dispatcher: Arc<Dispatcher>,
    event: SqsEvent,
) -> Result<SqsBatchResponse, lambda_runtime::Error> {
    let mut response = SqsBatchResponse::default();
    let mut fail = |ids: Vec<String>, error: Error| {
        tracing::error!(
            message_ids = ?ids,
            ?error,
            "dispatch failed; the bell rings again"
        );
        let failures = ids.into_iter().map(|id| {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            failure
        });
        response.batch_item_failures.extend(failures);
    };
    let mut looks: BTreeMap<OrgId, (Doorbell, Vec<String>)> = BTreeMap::new();
    for message in event.records {
        let id = message.message_id.clone().unwrap_or_default();
        match read(&message) {
            Ok(bell) => {
                let look = looks.entry(bell.org_id.clone());
                let (of_all, ids) = look.or_insert_with(|| (Doorbell::of(&bell.org_id), vec![]));
                of_all.capacity |= bell.capacity;
                ids.push(id);
            }
            Err(error) => fail(vec![id], error),
        }
    }
    let began = Instant::now();
    for (bell, ids) in looks.into_values() {
        // Boxed: the calls below are deep, and the compiler lays out futures whole.
        let looked = match began.elapsed() < FILLING {
            true => Box::pin(dispatcher.fill_slots(&bell)).await,
            // The function has no time for another one.
            false => dispatcher.queue.ring(&bell).await,
        };
        if let Err(error) = looked {
            fail(ids, error);
        }
    }
    Ok(response)
}

fn read(message: &SqsMessage) -> Result<Doorbell, Error> {
    let body = message.body.as_deref().unwrap_or_default();
    serde_json::from_str(body).map_err(|e| Error::internal(format!("not a doorbell: {e}")))
}
