//! Configuration snapshots of runs: one when a run is claimed, and one more with each start of an
//! iteration that finds the profile changed, in the same transaction. The run's item holds the head
//! of their chain, so each is written once and in order.

use awo_domain::audit::{AuditHead, Snapshot};
use awo_domain::control::Configuration;
use awo_domain::profile::Profile;
use awo_domain::work_order::MAX_ITERATIONS;
use awo_domain::{Error, OrgId, RunId, SnapshotId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::item::{SCHEMA_VERSION, runs_of};
use crate::engine::item_kind::Table;
use crate::engine::key::{Key, snapshots};
use crate::engine::list::Slice;
use crate::engine::schema::BY_PARENT;
use crate::engine::transaction::Transaction;
use crate::runs::Run;
use crate::work_orders::WorkOrder;

/// Most snapshots of a run: one at its claim and one at each iteration. With as many it keeps
/// the configuration that it has.
pub const MAX_SNAPSHOTS: u32 = 101;
/// Most runs of a work order whose audit is listed.
pub const MAX_AUDITED_RUNS: u32 = 100;

/// A snapshot as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotItem {
    id: SnapshotId,
    iteration: u32,
    config_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_hash: Option<String>,
    /// As JSON text: its hash must stay what it is.
    config: String,
    created_at: Timestamp,
    v: u32,
}

impl SnapshotItem {
    fn of(snapshot: &Snapshot) -> SnapshotItem {
        SnapshotItem {
            id: snapshot.id.clone(),
            iteration: snapshot.iteration,
            config_hash: snapshot.config_hash.clone(),
            previous_hash: snapshot.previous_hash.clone(),
            config: snapshot.config.to_string(),
            created_at: snapshot.created_at,
            v: SCHEMA_VERSION,
        }
    }

    fn snapshot(self) -> Result<Snapshot, Error> {
        let config = serde_json::from_str(&self.config)
            .map_err(|e| Error::internal(format!("a snapshot does not read: {e}")))?;
        Ok(Snapshot {
            id: self.id,
            iteration: self.iteration,
            config_hash: self.config_hash,
            previous_hash: self.previous_hash,
            config,
            created_at: self.created_at,
        })
    }
}

/// The effective profile of an iteration, and the snapshot to write if it is a new one.
pub(crate) struct EffectiveProfile {
    pub configuration: Configuration,
    pub snapshot: Option<(Snapshot, AuditHead)>,
    /// True if the run verifies a commit, and no agent works.
    pub is_verify: bool,
    /// The iterations that the run may have by it.
    pub max_iterations: u32,
}

impl Transaction {
    /// Adds a snapshot, which must be the next one.
    pub(crate) fn audit(
        self,
        (org, run): (&OrgId, &RunId),
        (snapshot, head): &(Snapshot, AuditHead),
    ) -> Result<Transaction, Error> {
        let key = Key::snapshot(org, run, head.snapshots);
        let item = SnapshotItem::of(snapshot);
        self.put(&key, &item)
    }
}

impl Store {
    /// The snapshots of a run, oldest first. Of another organization's run there are none.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn snapshots(&self, org: &OrgId, run: &RunId) -> Result<Vec<Snapshot>, Error> {
        let slice = Slice::of_partition(snapshots(org, run)).limit(MAX_SNAPSHOTS);
        let items: Vec<SnapshotItem> = self.slice(slice).await?.items;
        items.into_iter().map(SnapshotItem::snapshot).collect()
    }

    /// The newest runs of a work order, newest first, at most [`MAX_AUDITED_RUNS`].
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn audited_runs(&self, org: &OrgId, order: &WorkOrderId) -> Result<Vec<Run>, Error> {
        let of = runs_of(org, order);
        let slice = Slice::of_index(Table::Work, BY_PARENT, "parentKey", of)
            .newest_first()
            .limit(MAX_AUDITED_RUNS);
        Ok(self.slice(slice).await?.items)
    }

    /// The snapshot that is effective for a run, if it has any.
    async fn last_snapshot(
        &self,
        org: &OrgId,
        run: &Run,
    ) -> Result<Option<(Snapshot, AuditHead)>, Error> {
        let Some(head) = run.audit.clone() else {
            return Ok(None);
        };
        let key = Key::snapshot(org, &run.run_id, head.snapshots);
        let item: Option<SnapshotItem> = self.get(&key).await?;
        let item = item.ok_or_else(|| Error::internal("a run's last snapshot is missing"))?;
        Ok(Some((item.snapshot()?, head)))
    }

    /// The effective profile of a run that was claimed.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn audited_profile(&self, org: &OrgId, run: &Run) -> Result<Option<Profile>, Error> {
        let last = self.last_snapshot(org, run).await?;
        last.map(|(snapshot, _)| snapshot.profile()).transpose()
    }

    /// The effective profile of the iteration that is about to begin: as it is now, or, if no run
    /// can have that any more, as it was. `now` and the id are those of the snapshot, if one is
    /// needed.
    pub(crate) async fn take_profile(
        &self,
        org: &OrgId,
        run: &Run,
        iteration: u32,
        id: &SnapshotId,
        now: Timestamp,
    ) -> Result<EffectiveProfile, Error> {
        let (order, last) = tokio::try_join!(
            self.work_order(org, &run.work_order_id),
            self.last_snapshot(org, run)
        )?;
        let order = order.ok_or_else(|| Error::internal("a run has no work order"))?;
        let full = |head: &AuditHead| head.snapshots >= MAX_SNAPSHOTS;
        let profile = match &last {
            Some((snapshot, head)) if full(head) => snapshot.profile()?,
            Some((snapshot, _)) => match self.present_profile(org, &order).await? {
                Some(profile) => profile,
                None => snapshot.profile()?,
            },
            None => self.profile_of(org, &order).await?,
        };
        let before = last.as_ref().map(|(snapshot, head)| (snapshot, head));
        let taken = Snapshot::take(id.clone(), iteration, &profile, before, now)?;
        let is_news =
            run.audit.as_ref().map(|head| &head.config_hash) != Some(&taken.1.config_hash);
        Ok(EffectiveProfile {
            is_verify: order.terms.agent.kind.is_verification(),
            max_iterations: profile
                .max_iterations(order.asked_iterations)
                .max(iteration.min(MAX_ITERATIONS)),
            configuration: configuration(profile, &order, run),
            snapshot: is_news.then_some(taken),
        })
    }

    /// The effective profile of the iteration whose start was reported before.
    pub(crate) async fn taken_profile(
        &self,
        org: &OrgId,
        run: &Run,
    ) -> Result<Option<Box<Configuration>>, Error> {
        let (order, profile) = tokio::try_join!(
            self.work_order(org, &run.work_order_id),
            self.audited_profile(org, run)
        )?;
        let both = order.zip(profile);
        Ok(both.map(|(order, profile)| Box::new(configuration(profile, &order, run))))
    }
}

fn configuration(profile: Profile, order: &WorkOrder, run: &Run) -> Configuration {
    let in_all = profile.max_duration_ms(order.terms.limits.max_duration_ms);
    Configuration {
        max_duration_ms: in_all.saturating_sub(run.earlier_compute_ms()),
        profile,
    }
}
