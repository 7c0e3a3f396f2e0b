//! Dispatch: the bell that wakes it says only whose queue to look at.

use std::sync::Arc;

use awo_cloud::queue::Doorbell;
use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_execution::dispatcher::Dispatcher;
use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};

/// The state of `dispatch-runs`.
///
/// # Errors
/// When a setting is missing.
pub fn state(cloud: &Cloud) -> Result<Dispatcher, SetupError> {
    Dispatcher::new(cloud)
}

/// Handles a batch of bells; those that failed ring again.
///
/// # Errors
/// None: failures are told bell by bell.
pub async fn handle(
    dispatcher: Arc<Dispatcher>,
    event: SqsEvent,
) -> Result<SqsBatchResponse, lambda_runtime::Error> {
    let mut response = SqsBatchResponse::default();
    for message in event.records {
        let id = message.message_id.clone().unwrap_or_default();
        if let Err(error) = answer_bell(&dispatcher, &message).await {
            tracing::error!(
                message_id = id,
                ?error,
                "dispatch failed; the bell rings again"
            );
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            response.batch_item_failures.push(failure);
        }
    }
    Ok(response)
}

async fn answer_bell(dispatcher: &Dispatcher, message: &SqsMessage) -> Result<(), Error> {
    let body = message.body.as_deref().unwrap_or_default();
    let bell: Doorbell =
        serde_json::from_str(body).map_err(|e| Error::internal(format!("not a doorbell: {e}")))?;
    // Boxed: the calls below are deep, and the compiler lays out futures whole.
    Box::pin(dispatcher.fill_slots(&bell.org_id)).await
}
