//! A run's changes: the diff of its newest commit, as gzip, in parts that fit into items. The parts
//! are replaced together, and only by those of a later iteration.

use awo_domain::control::{MAX_DIFF_BYTES, MAX_DIFF_GZIP_BYTES, ReportAnswer};
use awo_domain::{Error, OrgId, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, diffs};
use crate::engine::list::Slice;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::engine::tries::Tries;
use crate::runs::lifecycle::report::Reporter;
use crate::runs::logs::unpacked_within;

/// How many parts a diff has; the last one may be empty.
const PARTS: u32 = 2;
/// Largest part, in bytes: an item has its limit.
const PART_BYTES: usize = MAX_DIFF_GZIP_BYTES.div_ceil(PARTS as usize);

/// A diff as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The iteration of its commit, from 1.
    pub iteration: u32,
    /// The commit that the run began with.
    pub base_commit: String,
    /// The iteration's commit.
    pub commit: String,
    /// The gzip of its beginning, at most [`MAX_DIFF_GZIP_BYTES`].
    pub gzip: Vec<u8>,
    /// How many bytes it has in all.
    pub bytes: u64,
}

impl Diff {
    /// What is stored of it. None if it does not unpack to at most [`MAX_DIFF_BYTES`].
    #[must_use]
    pub fn unpacked(&self) -> Option<Vec<u8>> {
        unpacked_within(&self.gzip, MAX_DIFF_BYTES)
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartItem {
    iteration: u32,
    base_commit: String,
    commit: String,
    gzip: ByteBuf,
    bytes: u64,
    created_at: Timestamp,
    v: u32,
}

impl Store {
    /// Stores the diff of an iteration in place of an earlier one's. One that is not later than
    /// what is stored changes nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the lease is lost, or internal.
    pub async fn store_diff(
        &self,
        by: &Reporter,
        diff: &Diff,
        now: Timestamp,
    ) -> Result<ReportAnswer, Error> {
        let lease_key = Key::lease(&by.org, &by.run_id);
        let mut tries = Tries::new("store diff: the lease kept changing");
        loop {
            tries.next().await?;
            let lease = self.held_lease(by).await?;
            let change = Change::new()
                .set("diffIteration", diff.iteration)
                .when("tokenHash", &by.token_hash)
                .when_missing_unless("closedAt", "stopRequest")
                .at_most_or_missing("diffIteration", i64::from(diff.iteration) - 1);
            let mut transaction = Transaction::new().update(&lease_key, change);
            for part in 1..=PARTS {
                let key = Key::diff(&by.org, &by.run_id, part);
                let item = diff.part(part, now);
                let item = self.details.expiring(&item, now);
                // The lease has which diff is the later one.
                let any = Change::new().at_most_or_missing("iteration", i64::MAX);
                transaction = transaction.put_when(&key, &item, any)?;
            }
            match transaction.commit(self).await? {
                CommitOutcome::Yes => return Ok(lease.answer()),
                CommitOutcome::No(_) if lease.has_diff_of(diff.iteration) => {
                    return Ok(lease.answer());
                }
                CommitOutcome::No(_) => {}
            }
        }
    }

    /// The diff of a run, if it has one that has not expired. Of another organization's run there is none.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn diff(
        &self,
        org: &OrgId,
        run: &RunId,
        now: Timestamp,
    ) -> Result<Option<Diff>, Error> {
        let mut tries = Tries::new("read diff: it kept changing");
        loop {
            tries.next().await?;
            let slice = Slice::of_partition(diffs(org, run))
                .limit(PARTS)
                .unexpired(now);
            let parts: Vec<PartItem> = self.slice(slice).await?.items;
            let Some(first) = parts.first() else {
                return Ok(None);
            };
            let whole = parts.len() == PARTS as usize
                && parts.iter().all(|part| part.iteration == first.iteration);
            if whole {
                return Ok(Some(Diff {
                    iteration: first.iteration,
                    base_commit: first.base_commit.clone(),
                    commit: first.commit.clone(),
                    bytes: first.bytes,
                    gzip: parts.into_iter().flat_map(|part| part.gzip).collect(),
                }));
            }
        }
    }
}

impl Diff {
    /// From 1.
    fn part(&self, number: u32, now: Timestamp) -> PartItem {
        let before = (number as usize - 1) * PART_BYTES;
        let rest = self.gzip.get(before..).unwrap_or_default();
        PartItem {
            iteration: self.iteration,
            base_commit: self.base_commit.clone(),
            commit: self.commit.clone(),
            gzip: ByteBuf::from(&rest[..rest.len().min(PART_BYTES)]),
            bytes: self.bytes,
            created_at: now,
            v: SCHEMA_VERSION,
        }
    }
}
