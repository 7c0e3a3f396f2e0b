//! Stops that apply to children. The transaction that stops a parent, or records its stop request,
//! writes an item, which is deleted when all children have been stopped; after a crash in between,
//! the sweep continues.

use awo_domain::control::StopRequest;
use awo_domain::stop::Stop;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{SCHEMA_VERSION, due_shard};
use crate::engine::key::Key;
use crate::engine::transaction::Transaction;
use crate::work_orders::WorkOrder;

/// How long the function that stopped the parent has to stop its children before the sweep does.
const CHILD_STOPS_MS: i64 = 30_000;

/// A client's request.
#[derive(Debug, Clone, Copy)]
pub struct FamilyStop<'a> {
    /// Of the work order.
    pub stop: &'a Stop,
    /// How its children are to stop as well, if they are.
    pub children: Option<StopRequest>,
}

/// A stop that the children of a work order are to hear of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cascade {
    /// The owner.
    pub org_id: OrgId,
    /// The parent.
    pub work_order_id: WorkOrderId,
    /// The client's request.
    pub stop: Stop,
    /// How they are to stop.
    pub stop_request: StopRequest,
    /// When the parent was stopped: runs that were created later are not meant.
    pub recorded_at: Timestamp,
    pub(crate) due_shard: String,
    pub(crate) due_at: i64,
    pub(crate) v: u32,
}

impl Transaction {
    /// Notes that the children of a work order are to be stopped like it, if it has any. Its
    /// number of children must be a condition of the same transaction.
    pub(crate) fn cascade(
        self,
        org: &OrgId,
        order: &WorkOrder,
        stopping: &FamilyStop<'_>,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let Some(stop_request) = stopping.children.filter(|_| order.children > 0) else {
            return Ok(self);
        };
        let due_at = now.plus_ms(CHILD_STOPS_MS).epoch_ms();
        let cascade = Cascade {
            org_id: org.clone(),
            work_order_id: order.id.clone(),
            stop: stopping.stop.clone(),
            stop_request,
            recorded_at: now,
            due_shard: due_shard(order.id.as_str()),
            due_at,
            v: SCHEMA_VERSION,
        };
        let newest = Change::new().at_most_or_missing("dueAt", due_at);
        let key = Key::cascade(org, &order.id);
        self.put_when(&key, &cascade, newest)
    }
}

impl Store {
    /// The stop that the children of a work order are still to hear of.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn cascade(&self, org: &OrgId, id: &WorkOrderId) -> Result<Option<Cascade>, Error> {
        self.get(&Key::cascade(org, id)).await
    }

    /// Notes that all children have heard of a stop. A newer one stays.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn end_cascade(&self, cascade: &Cascade) -> Result<(), Error> {
        let key = Key::cascade(&cascade.org_id, &cascade.work_order_id);
        let same = Change::new().when("recordedAt", cascade.recorded_at);
        Transaction::new().delete(&key, same).commit(self).await?;
        Ok(())
    }
}
