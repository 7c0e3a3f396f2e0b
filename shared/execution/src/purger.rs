//! Deletes work orders permanently. Waiting ones are canceled first; running ones are killed, and
//! deleted only once their compute is known to be gone. A work order that does not reach rest in
//! time, or changes meanwhile, stays and is not reported as deleted.

use std::time::{Duration, Instant};

use awo_cloud::{Clock, Cloud, SetupError};
use awo_domain::control::StopRequest;
use awo_domain::stop::{Stop, StopKind};
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use awo_store::Store;
use awo_store::capacity::call_permits::{CallPermit, LongCall};
use awo_store::runs::lifecycle::lease::Lease;
use awo_store::work_orders::WorkOrder;
use awo_store::work_orders::cascades::FamilyStop;
use awo_store::work_orders::purge::{PurgeTarget, in_transactions};
use futures::{StreamExt, stream};

use crate::stopper::{KillOutcome, StopTarget, Stopper};

/// When a purge begins with nothing more: a function has 15 minutes, and a last kill and its proof
/// take two.
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// Most work orders that one purge deletes, so that its answer stays small.
pub const MAX_PURGED: usize = 10_000;
/// How many are brought to rest at once; every cancel changes the same tally.
const AT_ONCE: usize = 16;
const CANCELS_AT_ONCE: usize = 4;
/// How often one is brought to rest that changes meanwhile.
const TRIES: u32 = 4;
/// Most slots of an organization.
const MAX_LEASES: u32 = 1_000;
/// How long the compute of a run that is over may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(60);
/// Pause between two readings of its lease, and the longest one between two calls of ECS.
const READ_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PATIENCE: Duration = Duration::from_secs(5);

const DEAD_AT_ONCE: StopRequest = StopRequest::Kill {
    grace_period_ms: 0,
    immediate: true,
};

/// Which work orders are to be deleted.
#[derive(Debug, Clone)]
pub struct Purge {
    /// Of these statuses, as each is when it is read.
    pub statuses: Vec<WorkOrderStatus>,
    /// Created before this.
    pub before: Option<Timestamp>,
}

/// Deletes work orders.
#[derive(Debug, Clone)]
pub struct Purger {
    store: Store,
    stopper: Stopper,
    clock: Clock,
}

impl Purger {
    /// By the environment's settings.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<Purger, SetupError> {
        Ok(Purger {
            store: cloud.store()?,
            stopper: Stopper::new(cloud)?,
            clock: cloud.clock.clone(),
        })
    }

    /// The right to hold a function for a purge. `holder` is unique.
    ///
    /// # Errors
    /// [`Error::TooManyAtOnce`], or internal.
    pub async fn permit(&self, org: &OrgId, holder: &str) -> Result<CallPermit, Error> {
        let now = self.clock.now();
        let permit = self
            .store
            .take_call_permit(org, LongCall::Purge, holder, now);
        permit.await
    }

    /// How many work orders a purge would delete.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn count(&self, org: &OrgId, purge: &Purge) -> Result<u64, Error> {
        self.store
            .count_purge_candidates(org, &purge.statuses, purge.before)
            .await
    }

    /// Deletes work orders, as many as there is time for; their ids, oldest first. What is deleted
    /// is returned also where something failed.
    ///
    /// # Errors
    /// Internal, when a call fails and nothing is deleted.
    pub async fn purge(&self, org: &OrgId, purge: &Purge) -> Result<Vec<WorkOrderId>, Error> {
        let mut done = PurgeProgress {
            began: Instant::now(),
            purged: Vec::new(),
            failed: None,
        };
        // Statuses in the order of a life: what is canceled or killed here does not come again.
        for status in WorkOrderStatus::ALL {
            if purge.statuses.contains(&status) {
                let purged = self.purge_status(org, status, purge, &mut done).await;
                done.note(purged);
            }
        }
        done.purged.sort();
        match done.failed {
            Some(error) if done.purged.is_empty() => Err(error),
            _ => Ok(done.purged),
        }
    }

    async fn purge_status(
        &self,
        org: &OrgId,
        status: WorkOrderStatus,
        purge: &Purge,
        done: &mut PurgeProgress,
    ) -> Result<(), Error> {
        let mut after = None;
        while done.goes_on() {
            let page = self
                .store
                .purge_candidates(org, status, purge.before, after.as_ref());
            let mut page = page.await?;
            page.items.truncate(MAX_PURGED - done.purged.len());
            after = page.items.last().map(|order| order.id.clone());
            let targets = self.all_at_rest(org, page.items, status, done).await?;
            for part in in_transactions(targets) {
                let deleted = self.delete(org, part).await?;
                done.purged.extend(deleted);
            }
            if !page.has_more {
                break;
            }
        }
        Ok(())
    }

    /// Those of them that can be deleted now.
    async fn all_at_rest(
        &self,
        org: &OrgId,
        orders: Vec<WorkOrder>,
        status: WorkOrderStatus,
        done: &mut PurgeProgress,
    ) -> Result<Vec<PurgeTarget>, Error> {
        // Read after them: a terminal one without a lease now gets one only by a new run.
        let leases = self.store.leases(org, MAX_LEASES).await?.items;
        let each: Vec<_> = orders
            .into_iter()
            .map(|order| {
                let slot = leases.iter().any(|lease| lease.work_order_id == order.id);
                let is_live = slot || !status.is_terminal();
                Box::pin(self.at_rest(org, order, is_live, done.began))
            })
            .collect();
        let at_once = match status {
            WorkOrderStatus::Queued => CANCELS_AT_ONCE,
            _ => AT_ONCE,
        };
        let mut targets = Vec::new();
        let mut each = stream::iter(each).buffered(at_once);
        while let Some(one) = each.next().await {
            match one {
                Ok(one) => targets.extend(one),
                Err(error) => done.note(Err(error)),
            }
        }
        Ok(targets)
    }

    async fn at_rest(
        &self,
        org: &OrgId,
        order: WorkOrder,
        is_live: bool,
        began: Instant,
    ) -> Result<Option<PurgeTarget>, Error> {
        let order = match is_live {
            false => Some(order),
            true if began.elapsed() < LONGEST => self.quieted(org, &order).await?,
            true => None,
        };
        match order {
            Some(order) => self.store.purge_target(org, order).await.map(Some),
            None => Ok(None),
        }
    }

    /// Deletes these together or, where one has changed, those that have not.
    async fn delete(&self, org: &OrgId, part: Vec<PurgeTarget>) -> Result<Vec<WorkOrderId>, Error> {
        if self.store.purge(org, &part, self.clock.now()).await? {
            return Ok(part.iter().map(|one| one.id().clone()).collect());
        }
        let mut deleted = Vec::new();
        for one in part {
            let alone = std::slice::from_ref(&one);
            if self.store.purge(org, alone, self.clock.now()).await? {
                deleted.push(one.id().clone());
            }
        }
        Ok(deleted)
    }

    /// Ends a work order as it was seen, and waits until its compute is gone; none if its status is
    /// another one by now, or its compute is not known to be gone in time.
    async fn quieted(&self, org: &OrgId, seen: &WorkOrder) -> Result<Option<WorkOrder>, Error> {
        for _ in 0..TRIES {
            let found = match self.stopper.find(org, &seen.id).await {
                Ok(found) if found.order.status == seen.status => found,
                Ok(_) | Err(Error::NotFound(_)) => return Ok(None),
                Err(error) => return Err(error),
            };
            match self.end(org, &found).await? {
                EndOutcome::Yes => return self.when_gone(org, &seen.id).await,
                EndOutcome::Changed => {}
                EndOutcome::No => return Ok(None),
            }
        }
        Ok(None)
    }

    async fn end(&self, org: &OrgId, found: &StopTarget) -> Result<EndOutcome, Error> {
        let stop = |kind| Stop {
            kind,
            reason: Some("purged".to_owned()),
            requested_at: self.clock.now(),
        };
        match found.order.status {
            // It has just got a slot: that is another status.
            WorkOrderStatus::Queued if found.lease.is_some() => Ok(EndOutcome::Changed),
            WorkOrderStatus::Queued => {
                let stop = stop(StopKind::Cancel);
                let alone = alone(&stop);
                let canceled = self.stopper.try_cancel(org, found, &alone, false).await?;
                Ok(if canceled {
                    EndOutcome::Yes
                } else {
                    EndOutcome::Changed
                })
            }
            status if status.is_terminal() => Ok(EndOutcome::Yes),
            _ => {
                let (id, stop) = (&found.order.id, stop(StopKind::Kill));
                let alone = alone(&stop);
                match self.stopper.kill(org, id, DEAD_AT_ONCE, &alone).await {
                    Ok(KillOutcome::NotConfirmed { .. }) | Err(Error::NotFound(_)) => {
                        Ok(EndOutcome::No)
                    }
                    Ok(_) => Ok(EndOutcome::Yes),
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// The work order once it is terminal and none of its runs has compute; none if that takes too
    /// long.
    async fn when_gone(&self, org: &OrgId, id: &WorkOrderId) -> Result<Option<WorkOrder>, Error> {
        let leases = self.store.leases(org, MAX_LEASES).await?.items;
        for lease in leases.iter().filter(|lease| lease.work_order_id == *id) {
            if !self.is_gone_in_time(lease).await? {
                return Ok(None);
            }
        }
        let order = self.store.work_order(org, id).await?;
        Ok(order.filter(|order| order.status.is_terminal()))
    }

    async fn is_gone_in_time(&self, lease: &Lease) -> Result<bool, Error> {
        if lease.closed_at.is_none() {
            // A new run, of somebody who started it meanwhile.
            return Ok(false);
        }
        self.stopper.wake_task(lease).await;
        let (began, mut asked_at, mut patience) = (Instant::now(), Instant::now(), READ_PAUSE);
        while began.elapsed() < GONE_WITHIN {
            let ask = asked_at.elapsed() >= patience;
            if ask {
                (asked_at, patience) = (Instant::now(), (patience * 2).min(LONGEST_PATIENCE));
            }
            if self.stopper.is_gone(lease, ask).await? {
                return Ok(true);
            }
            tokio::time::sleep(READ_PAUSE).await;
        }
        Ok(false)
    }
}

/// Children that the purge does not name go on.
fn alone(stop: &Stop) -> FamilyStop<'_> {
    FamilyStop {
        stop,
        children: None,
    }
}

/// The outcome of ending a work order.
enum EndOutcome {
    Yes,
    /// It has changed meanwhile: read it again.
    Changed,
    /// It lives on, or is gone already.
    No,
}

/// The progress of a purge.
struct PurgeProgress {
    began: Instant,
    purged: Vec<WorkOrderId>,
    /// The first thing that failed.
    failed: Option<Error>,
}

impl PurgeProgress {
    fn goes_on(&self) -> bool {
        self.began.elapsed() < LONGEST && self.purged.len() < MAX_PURGED
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            tracing::warn!(
                event = "purge_incomplete",
                ?error,
                "a purge could not delete everything"
            );
            self.failed.get_or_insert(error);
        }
    }
}
