//! The second part of a purge: deletes timelines, logs, audits and diffs, of unknown number, whose
//! runs are already deleted. The record is deleted last, so an interrupted erasure is continued,
//! and a repeated one deletes nothing else.

use std::time::Instant;

use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, ReturnConsumedCapacity, WriteRequest,
};
use futures::{StreamExt, stream};
use serde::Deserialize;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{DUE_PURGES, Item, runs_of};
use crate::engine::item_kind::Table;
use crate::engine::key::{Key, Partition, children_of, diffs, events, logs, snapshots};
use crate::engine::list::Slice;
use crate::engine::schema::BY_PARENT;
use crate::engine::table::{conflict_pause, failed, log};
use crate::sweep::{DueCursor, DueKey, DuePage};
use crate::work_orders::purge::PurgeRecord;

/// Items of one kind that one call deletes of a run at most; the rest is left to the next one.
const MAX_ERASED: u32 = 1_000;
/// Runs, or work orders, that are read together.
const AT_ONCE: usize = 8;
/// Items of one batch: as many as DynamoDB takes.
const BATCH: usize = 25;
/// How often what DynamoDB left of a batch is sent again.
const BATCH_TRIES: u32 = 8;
/// Further runs of a purged work order that one call deletes.
const RUNS: u32 = 25;

#[derive(Debug, Deserialize)]
struct At {
    pk: String,
    sk: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunAt {
    run_id: RunId,
}

fn purge_at(key: &DueKey) -> Option<(OrgId, WorkOrderId)> {
    let (org, _) = key.owner()?;
    Some((org, WorkOrderId::parse(&key.sk).ok()?))
}

impl Store {
    /// Purges of which something is still to be deleted: the owner, and the first work order.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_purges(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<(OrgId, WorkOrderId)>, Error> {
        let partition = (Table::Work, DUE_PURGES.to_owned());
        let page = self.due_keys(partition, after, now, limit).await?;
        Ok(DuePage {
            items: page.items.iter().filter_map(purge_at).collect(),
            next: page.next,
        })
    }

    /// A purge of which something is still to be deleted.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn purge_record(
        &self,
        org: &OrgId,
        first: &WorkOrderId,
    ) -> Result<Option<PurgeRecord>, Error> {
        self.get(&Key::purge(org, first)).await
    }

    /// Deletes what a purge has left, up to a bound. True if that was all of it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn erase(&self, record: &PurgeRecord) -> Result<bool, Error> {
        let org = &record.org_id;
        let runs: Vec<_> = record
            .runs
            .iter()
            .map(|run| Box::pin(self.erase_run(org, run)))
            .collect();
        let runs: Vec<Result<bool, Error>> = stream::iter(runs).buffered(AT_ONCE).collect().await;
        let mut left = Vec::new();
        for (run, done) in record.runs.iter().zip(runs) {
            if !done? {
                left.push(run.clone());
            }
        }
        let orders: Vec<_> = record
            .work_orders
            .iter()
            .map(|order| Box::pin(self.erase_runs_of(org, order)))
            .collect();
        let orders: Vec<Result<bool, Error>> =
            stream::iter(orders).buffered(AT_ONCE).collect().await;
        let mut is_done = left.is_empty();
        for done in orders {
            is_done &= done?;
        }
        let Some(first) = record.work_orders.first() else {
            return Ok(true);
        };
        let key = Key::purge(org, first);
        if is_done {
            let (pk, sk) = (key.pk, key.sk);
            self.delete_all(Table::Work, vec![At { pk, sk }]).await?;
        } else {
            let change = Change::new().set("runs", left).when_present("purgedAt");
            // Refused, another sweep has completed it.
            self.update(&key, change).await?;
        }
        Ok(is_done)
    }

    /// Deletes the links to a purged work order's children, and runs of it that the index had not
    /// shown, or that were too many for one transaction. True if there are no more.
    async fn erase_runs_of(&self, org: &OrgId, order: &WorkOrderId) -> Result<bool, Error> {
        let runs = runs_of(org, order);
        let runs = Slice::of_index(Table::Work, BY_PARENT, "parentKey", runs);
        let page = self.slice::<RunAt>(runs.limit(RUNS)).await?;
        for run in page.items {
            if !self.erase_run(org, &run.run_id).await? {
                return Ok(false);
            }
            self.purge_run(org, &run.run_id).await?;
        }
        let links = Slice::of_partition(children_of(org, order));
        let links = self
            .slice::<At>(links.keys_only().limit(MAX_ERASED))
            .await?;
        self.delete_all(Table::Work, links.items).await?;
        Ok(!page.has_more && !links.has_more)
    }

    /// Deletes what belongs to a run; false if there is more of it.
    async fn erase_run(&self, org: &OrgId, run: &RunId) -> Result<bool, Error> {
        let keys = |partition: Partition| {
            let slice = Slice::of_partition(partition);
            self.slice::<At>(slice.keys_only().limit(MAX_ERASED))
        };
        let (events, logs, snapshots, diffs) = tokio::try_join!(
            keys(events(org, run)),
            keys(logs(org, run)),
            keys(snapshots(org, run)),
            keys(diffs(org, run))
        )?;
        let pages = [events, logs, snapshots, diffs];
        let is_done = !pages.iter().any(|page| page.has_more);
        let items = pages.into_iter().flat_map(|page| page.items).collect();
        self.delete_all(Table::Work, items).await?;
        Ok(is_done)
    }

    /// Deletes all that a partition of a table has.
    pub(crate) async fn empty(&self, partition: Partition) -> Result<(), Error> {
        let table = partition.kind.table();
        let slice = Slice::of_partition(partition).keys_only();
        let mut items = Vec::new();
        self.each(&slice, |at: At| items.push(at)).await?;
        self.delete_all(table, items).await
    }

    async fn delete_all(&self, table: Table, items: Vec<At>) -> Result<(), Error> {
        for batch in items.chunks(BATCH) {
            let requests: Result<Vec<WriteRequest>, Error> = batch.iter().map(delete).collect();
            self.write_batch(table, requests?).await?;
        }
        Ok(())
    }

    async fn write_batch(
        &self,
        table: Table,
        mut requests: Vec<WriteRequest>,
    ) -> Result<(), Error> {
        for attempt in 0..BATCH_TRIES {
            let began = Instant::now();
            let answer = self
                .client
                .batch_write_item()
                .request_items(self.tables.name(table), std::mem::take(&mut requests))
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|e| failed("BatchWriteItem", &e))?;
            log("BatchWriteItem", began, answer.consumed_capacity());
            let rest = answer
                .unprocessed_items
                .and_then(|mut of| of.remove(self.tables.name(table)));
            match rest {
                Some(rest) if !rest.is_empty() => requests = rest,
                _ => return Ok(()),
            }
            conflict_pause(attempt).await;
        }
        Err(Error::internal("BatchWriteItem: some items stayed undone"))
    }
}

fn delete(at: &At) -> Result<WriteRequest, Error> {
    let key: Item = [("pk", &at.pk), ("sk", &at.sk)]
        .map(|(name, text)| (name.to_owned(), AttributeValue::S(text.clone())))
        .into();
    let delete = DeleteRequest::builder()
        .set_key(Some(key))
        .build()
        .map_err(Error::internal)?;
    Ok(WriteRequest::builder().delete_request(delete).build())
}
