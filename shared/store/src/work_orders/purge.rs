//! Permanent deletion of work orders. A work order is deleted whole: it, its runs and their share
//! of the tally, in one transaction with a record of what remains to be deleted
//! ([`crate::work_orders::erasure`]). It must be terminal, and the compute of each of its runs gone and settled;
//! the transaction is conditional on that, so a concurrent start preserves it.
//!
//! Ledger and usage are not touched.

use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{DUE_PURGES, SCHEMA_VERSION, runs_of, work_orders_with};
use crate::engine::item_kind::Table;
use crate::engine::key::Key;
use crate::engine::list::{Page, Slice};
use crate::engine::schema::{BY_PARENT, BY_STATUS};
use crate::engine::transaction::Transaction;
use crate::work_orders::{WorkOrder, start_after};

/// Work orders that are read together.
const CANDIDATES: u32 = 200;
/// Runs that go in the transaction of their work order; the erasure takes what it has more.
const MAX_RUNS_AT_ONCE: u32 = 90;
/// Most writes of a transaction, less the tally and the record.
const MAX_DELETES: usize = 98;
/// Where a transaction ends early, in bytes of what it deletes: DynamoDB takes 4 MB.
const MAX_BYTES: usize = 2 * 1_048_576;
/// What a work order takes besides its prompt, and what a run takes, in bytes, rather too much.
const ORDER_BYTES: usize = 16_384;
const RUN_BYTES: usize = 16_384;
/// When the erasure begins: it finds runs that the index did not show yet, so it gives it time.
const ERASE_AFTER_MS: i64 = 60_000;

/// A work order that is to be deleted, with its runs as far as they are known.
#[derive(Debug, Clone)]
pub struct PurgeTarget {
    order: WorkOrder,
    runs: Vec<PurgeTargetRun>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PurgeTargetRun {
    run_id: RunId,
    status: RunStatus,
}

/// The remaining items of work orders that are no longer visible.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgeRecord {
    /// The owner.
    pub org_id: OrgId,
    /// The work orders; the first one names the record.
    pub work_orders: Vec<WorkOrderId>,
    /// Runs of which timeline, logs, audit and diff may still be there.
    pub runs: Vec<RunId>,
    /// When they were purged.
    pub purged_at: Timestamp,
    pub(crate) due_shard: String,
    pub(crate) due_at: i64,
    pub(crate) v: u32,
}

impl PurgeTarget {
    /// The work order's id.
    #[must_use]
    pub fn id(&self) -> &WorkOrderId {
        &self.order.id
    }

    fn deletes(&self) -> usize {
        // It, and its thread if that goes with it.
        2 + usize::from(self.order.prompt.is_apart()) + self.runs.len()
    }

    fn bytes(&self) -> usize {
        self.order.prompt.bytes() + ORDER_BYTES + self.runs.len() * RUN_BYTES
    }
}

/// Parts that fit into one transaction each.
#[must_use]
pub fn in_transactions(all: Vec<PurgeTarget>) -> Vec<Vec<PurgeTarget>> {
    let mut parts: Vec<Vec<PurgeTarget>> = Vec::new();
    let (mut deletes, mut bytes) = (0, 0);
    for one in all {
        let (more, larger) = (deletes + one.deletes(), bytes + one.bytes());
        match parts.last_mut() {
            Some(part) if more <= MAX_DELETES && larger <= MAX_BYTES => {
                (deletes, bytes) = (more, larger);
                part.push(one);
            }
            _ => {
                (deletes, bytes) = (one.deletes(), one.bytes());
                parts.push(vec![one]);
            }
        }
    }
    parts
}

impl Store {
    /// Some of the work orders of one status, oldest first; with `before`, only those created
    /// before it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn purge_candidates(
        &self,
        org: &OrgId,
        status: WorkOrderStatus,
        before: Option<Timestamp>,
        after: Option<&WorkOrderId>,
    ) -> Result<Page<WorkOrder>, Error> {
        let partition = ("statusKey", work_orders_with(org, status));
        let after = after.map(|id| start_after(org, id, Some(partition)));
        let slice = self.of_status(org, status, before);
        self.slice(slice.limit(CANDIDATES).after(after)).await
    }

    /// How many there are.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn count_purge_candidates(
        &self,
        org: &OrgId,
        statuses: &[WorkOrderStatus],
        before: Option<Timestamp>,
    ) -> Result<u64, Error> {
        if before.is_none() {
            let tally = self.tally(org).await?;
            let of = |status: &WorkOrderStatus| tally.work_orders(Some(*status));
            return Ok(statuses.iter().map(of).sum());
        }
        let mut count = 0;
        for status in statuses {
            count += self.count(&self.of_status(org, *status, before)).await?;
        }
        Ok(count)
    }

    fn of_status(&self, org: &OrgId, status: WorkOrderStatus, before: Option<Timestamp>) -> Slice {
        let partition = work_orders_with(org, status);
        let slice = Slice::of_index(Table::Work, BY_STATUS, "statusKey", partition);
        match before {
            // Ids sort by creation: this one is the first of its millisecond.
            Some(before) => {
                let first = WorkOrderId::new(before, 0).as_str().to_owned();
                slice.range("sk", "<", AttributeValue::S(first))
            }
            None => slice,
        }
    }

    /// A work order with what is known of its runs. The index may lag behind: what it has of a run
    /// that it takes for living, and of the newest one, is read from the table.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn purge_target(&self, org: &OrgId, order: WorkOrder) -> Result<PurgeTarget, Error> {
        let runs = Slice::of_index(Table::Work, BY_PARENT, "parentKey", runs_of(org, &order.id));
        let runs = self.slice::<PurgeTargetRun>(runs.newest_first().limit(MAX_RUNS_AT_ONCE));
        let newest = Key::run(org, &order.run_id);
        let newest = self.get::<PurgeTargetRun>(&newest);
        let (known, newest) = tokio::try_join!(runs, newest)?;
        let mut runs: Vec<PurgeTargetRun> = newest.into_iter().collect();
        for run in known.items {
            if run.run_id == order.run_id {
                continue;
            }
            if run.status.is_terminal() {
                runs.push(run);
            } else {
                runs.extend(self.get(&Key::run(org, &run.run_id)).await?);
            }
        }
        Ok(PurgeTarget { order, runs })
    }

    /// Deletes work orders and their runs, all or none; what belongs to the runs is deleted behind.
    /// False if one of them has changed, or is not at rest.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn purge(
        &self,
        org: &OrgId,
        targets: &[PurgeTarget],
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Some(first) = targets.first() else {
            return Ok(true);
        };
        let record = PurgeRecord {
            org_id: org.clone(),
            work_orders: targets.iter().map(|one| one.id().clone()).collect(),
            runs: targets
                .iter()
                .flat_map(|one| one.runs.iter().map(|run| run.run_id.clone()))
                .collect(),
            purged_at: now,
            due_shard: DUE_PURGES.to_owned(),
            due_at: now.plus_ms(ERASE_AFTER_MS).epoch_ms(),
            v: SCHEMA_VERSION,
        };
        let mut tally = Change::new();
        let mut transaction = Transaction::new().put(&Key::purge(org, first.id()), &record)?;
        let orders: Vec<&WorkOrder> = targets.iter().map(|target| &target.order).collect();
        for emptied in self.emptied_threads(org, &orders).await? {
            transaction = transaction.delete_thread(org, &emptied);
        }
        for PurgeTarget { order, runs } in targets {
            tally = tally.uncount_work_order(order.status);
            let unchanged = Change::new()
                .when("status", order.status)
                .when("runId", &order.run_id);
            let key = Key::work_order(org, &order.id);
            transaction = transaction
                .delete(&key, unchanged)
                .delete_prompt(org, order);
            for run in runs {
                tally = tally.uncount_run(run.status);
                let key = Key::run(org, &run.run_id);
                transaction = transaction.delete(&key, at_rest(run.status));
            }
        }
        let committed = transaction
            .update(&Key::tally(org), tally)
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }

    /// Deletes a run whose work order is purged, once all that belonged to it is deleted.
    pub(crate) async fn purge_run(&self, org: &OrgId, run: &RunId) -> Result<(), Error> {
        let Some(status) = self.run(org, run).await?.map(|run| run.status) else {
            return Ok(());
        };
        let tally = Change::new().uncount_run(status);
        // Refused, somebody else has done it; were it not so, the next erasure would find it.
        Transaction::new()
            .delete(&Key::run(org, run), at_rest(status))
            .update(&Key::tally(org), tally)
            .commit(self)
            .await?;
        Ok(())
    }
}

/// The condition that a run is over in every way: nothing writes to it any more.
fn at_rest(status: RunStatus) -> Change {
    Change::new()
        .when("status", status)
        .when_present("computeStoppedAt")
        .when_present("settledAt")
}
