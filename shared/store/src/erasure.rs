//! What is deleted behind a purge: timelines, logs, audits and diffs of runs that are deleted
//! already, of unknown number. The record goes last, so that whatever breaks off is gone on with,
//! and doing anything twice deletes nothing else.

use std::time::Instant;

use awo_domain::{Error, OrgId, RunId, Timestamp};
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, ReturnConsumedCapacity, WriteRequest,
};
use serde::Deserialize;

use crate::Store;
use crate::change::Change;
use crate::item::{DUE_PURGES, Item, Key, audits, diffs, events, logs, runs_of};
use crate::list::Slice;
use crate::purge::PurgeRecord;
use crate::schema::{BY_PARENT, DUE};
use crate::table::{conflict_pause, failed, log};

/// Items that one call deletes at most; the rest is left to the next one.
const MAX_ERASED: u32 = 2_000;
/// Items of one batch: as many as DynamoDB takes.
const BATCH: usize = 25;
/// How often what DynamoDB left of a batch is sent again.
const BATCH_TRIES: u32 = 8;
/// Runs of a purged work order that are looked at together.
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

impl Store {
    /// Purges of which something is still to be deleted, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_purges(&self, now: Timestamp, limit: u32) -> Result<Vec<PurgeRecord>, Error> {
        let now = AttributeValue::N(now.epoch_ms().to_string());
        let slice = Slice::of_index(&self.tables.work, DUE, "dueShard", DUE_PURGES.to_owned())
            .range("dueAt", "<=", now)
            .limit(limit);
        Ok(self.slice(slice).await?.items)
    }

    /// Deletes what a purge has left, up to a bound. True if that was all of it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn erase(&self, record: &PurgeRecord) -> Result<bool, Error> {
        let (org, mut left) = (&record.org_id, MAX_ERASED);
        for (at, run) in record.runs.iter().enumerate() {
            left = self.erase_run(org, run, left).await?;
            if left == 0 {
                self.keep_rest(record, &record.runs[at..]).await?;
                return Ok(false);
            }
        }
        // Runs that the index had not shown, or that were too many for one transaction.
        for order in &record.work_orders {
            let runs = Slice::of_index(
                &self.tables.work,
                BY_PARENT,
                "parentKey",
                runs_of(org, order),
            );
            let page = self.slice::<RunAt>(runs.limit(RUNS)).await?;
            for run in page.items {
                left = self.erase_run(org, &run.run_id, left).await?;
                if left == 0 {
                    break;
                }
                self.purge_run(org, &run.run_id).await?;
            }
            if left == 0 || page.has_more {
                self.keep_rest(record, &[]).await?;
                return Ok(false);
            }
        }
        if let Some(first) = record.work_orders.first() {
            let key = Key::purge(org, first);
            self.delete_all(vec![At {
                pk: key.pk,
                sk: key.sk,
            }])
            .await?;
        }
        Ok(true)
    }

    /// Deletes what belongs to a run; how many more items may be deleted, 0 if it is not done.
    async fn erase_run(&self, org: &OrgId, run: &RunId, left: u32) -> Result<u32, Error> {
        let mut left = left;
        for partition in [
            events(org, run),
            logs(org, run),
            audits(org, run),
            diffs(org, run),
        ] {
            let slice = Slice::of_partition(&self.tables.work, partition).keys_only();
            let page = self.slice::<At>(slice.limit(left)).await?;
            left = left.saturating_sub(u32::try_from(page.items.len()).unwrap_or(u32::MAX));
            self.delete_all(page.items).await?;
            if left == 0 || page.has_more {
                return Ok(0);
            }
        }
        Ok(left)
    }

    /// Notes which runs are still to be looked at.
    async fn keep_rest(&self, record: &PurgeRecord, runs: &[RunId]) -> Result<(), Error> {
        let Some(first) = record.work_orders.first() else {
            return Ok(());
        };
        let change = Change::new().set("runs", runs).when_present("purgedAt");
        // Refused, another sweep has come to the end of it.
        self.update(
            &self.tables.work,
            &Key::purge(&record.org_id, first),
            change,
        )
        .await?;
        Ok(())
    }

    async fn delete_all(&self, items: Vec<At>) -> Result<(), Error> {
        for batch in items.chunks(BATCH) {
            let requests: Result<Vec<WriteRequest>, Error> = batch.iter().map(delete).collect();
            self.write_batch(requests?).await?;
        }
        Ok(())
    }

    async fn write_batch(&self, requests: Vec<WriteRequest>) -> Result<(), Error> {
        let (work, mut requests) = (&self.tables.work, requests);
        for attempt in 0..BATCH_TRIES {
            let began = Instant::now();
            let answer = self
                .client
                .batch_write_item()
                .request_items(work, std::mem::take(&mut requests))
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|e| failed("BatchWriteItem", &e))?;
            log("BatchWriteItem", began, answer.consumed_capacity());
            let rest = answer.unprocessed_items.and_then(|mut of| of.remove(work));
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
