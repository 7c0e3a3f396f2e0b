//! The calls to DynamoDB. Each logs its round trip and the capacity it consumed, at debug level.

use std::borrow::Borrow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use awo_domain::Error;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    ConsumedCapacity, ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure,
};
use serde::de::DeserializeOwned;

use crate::costs::policy::CostPolicies;
use crate::engine::change::Change;
use crate::engine::item::Item;
use crate::engine::item_kind::Table;
use crate::engine::key::Key;
use crate::engine::turns::Turns;
use crate::organizations::keys::shared_counts::SharedCounts;
use crate::runs::details::DetailsRetention;
use crate::webhooks::notifications::Notifications;
use crate::webhooks::subscribers::Subscribers;
use crate::webhooks::write_batch::WriteBatches;

/// How often a write is tried again that met another transaction on the same item.
pub(crate) const CONFLICT_RETRIES: u32 = 12;
/// Longest pause between two such tries.
const CONFLICT_PAUSE_MS: u64 = 160;

/// The names of the tables.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Orders, runs, queue, leases, events.
    pub work: String,
    /// Balances, entries, holds.
    pub ledger: String,
    /// Organizations, keys, and what organizations set.
    pub settings: String,
    /// Deliveries of webhooks.
    pub deliveries: String,
}

impl Tables {
    pub(crate) fn name(&self, table: Table) -> &str {
        match table {
            Table::Work => &self.work,
            Table::Ledger => &self.ledger,
            Table::Settings => &self.settings,
            Table::Deliveries => &self.deliveries,
        }
    }
}

/// Access to the tables. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) client: Client,
    pub(crate) tables: Tables,
    pub(crate) notifications: Notifications,
    pub(crate) subscribers: Subscribers,
    pub(crate) turns: Turns,
    pub(crate) shared_counts: SharedCounts,
    pub(crate) cost_policies: CostPolicies,
    pub(crate) write_batches: Option<Arc<WriteBatches>>,
    pub(crate) details: DetailsRetention,
}

/// The outcome of a conditional update.
pub(crate) enum UpdateOutcome {
    /// Done; the item as it is now.
    New(Item),
    /// Its condition did not hold; the item as it is, if there is one.
    Refused(Option<Item>),
}

impl Store {
    /// A store on these tables, which notes in `notifications` what its transactions leave to do.
    #[must_use]
    pub fn new(client: Client, tables: Tables, notifications: Notifications) -> Store {
        Store {
            client,
            tables,
            notifications,
            subscribers: Subscribers::default(),
            turns: Turns::default(),
            shared_counts: SharedCounts::default(),
            cost_policies: CostPolicies::default(),
            write_batches: None,
            details: DetailsRetention::default(),
        }
    }

    /// The same, which keeps details of runs for so long.
    #[must_use]
    pub fn with_retention(self, details: DetailsRetention) -> Store {
        Store { details, ..self }
    }

    /// One item, read consistently.
    pub(crate) async fn get<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>, Error> {
        let began = Instant::now();
        let answer = self
            .client
            .get_item()
            .table_name(self.tables.name(key.table()))
            .set_key(Some(key.to_item()))
            .consistent_read(true)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|e| failed("GetItem", &e))?;
        log("GetItem", began, answer.consumed_capacity.as_slice());
        answer.item.map(read).transpose()
    }

    /// Changes one item if the change's condition holds.
    pub(crate) async fn update(
        &self,
        key: &Key,
        change: impl Borrow<Change>,
    ) -> Result<UpdateOutcome, Error> {
        for attempt in 0..=CONFLICT_RETRIES {
            let parts = change.borrow().parts();
            let began = Instant::now();
            let answer = self
                .client
                .update_item()
                .table_name(self.tables.name(key.table()))
                .set_key(Some(key.to_item()))
                .update_expression(parts.update)
                .set_condition_expression(parts.condition)
                .set_expression_attribute_names(Some(parts.names))
                .set_expression_attribute_values(parts.values)
                .return_values(ReturnValue::AllNew)
                .return_values_on_condition_check_failure(
                    ReturnValuesOnConditionCheckFailure::AllOld,
                )
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await;
            let error = match answer {
                Ok(done) => {
                    log("UpdateItem", began, done.consumed_capacity.as_slice());
                    return Ok(UpdateOutcome::New(done.attributes.unwrap_or_default()));
                }
                Err(error) => error,
            };
            if let Some(refused) = error
                .as_service_error()
                .filter(|e| e.is_conditional_check_failed_exception())
            {
                log("UpdateItem (refused)", began, &[]);
                let old = match refused {
                    aws_sdk_dynamodb::operation::update_item::UpdateItemError::ConditionalCheckFailedException(e) => {
                        e.item.clone()
                    }
                    _ => None,
                };
                return Ok(UpdateOutcome::Refused(old.filter(|item| !item.is_empty())));
            }
            if error.code() != Some("TransactionConflictException") {
                return Err(failed("UpdateItem", &error));
            }
            conflict_pause(attempt).await;
        }
        Err(Error::contended(
            "UpdateItem: the item stayed in conflict with other transactions",
        ))
    }
}

/// Waits a growing, jittered moment, so that rivals for a hot item do not meet again.
pub(crate) async fn conflict_pause(attempt: u32) {
    let most = (4u64 << attempt.min(8)).min(CONFLICT_PAUSE_MS);
    let jitter = u64::from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.subsec_nanos()),
    );
    tokio::time::sleep(Duration::from_millis(1 + jitter % most)).await;
}

/// Reads an item into its type; a mismatch is our fault, not the caller's.
pub(crate) fn read<T: DeserializeOwned>(item: Item) -> Result<T, Error> {
    serde_dynamo::from_item(item)
        .map_err(|e| Error::internal(format!("an item does not read: {e}")))
}

/// A call that failed, as an internal error with the whole chain of causes.
pub(crate) fn failed<E, R>(call: &str, error: &SdkError<E, R>) -> Error
where
    E: std::error::Error + 'static,
    R: std::fmt::Debug,
{
    Error::internal(format!("{call}: {}", DisplayErrorContext(error)))
}

pub(crate) fn log(call: &str, began: Instant, capacity: &[ConsumedCapacity]) {
    let units: f64 = capacity.iter().filter_map(|c| c.capacity_units).sum();
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::debug!(target: "awo_store::calls", call, micros, units);
}
