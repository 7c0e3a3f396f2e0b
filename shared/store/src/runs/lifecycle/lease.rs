//! Slot leases. A lease exists exactly as long as its slot is taken: from the dispatch of a run
//! until its compute is known to be gone. Its token fences: without it a runner changes nothing.

use awo_domain::audit::Snapshot;
use awo_domain::control::{ReportAnswer, StopRequest};
use awo_domain::environment::{ContainersId, Size};
use awo_domain::profile::Profile;
use awo_domain::stop::CONFIRM_MS;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::capacity::permits::FreePermit;
use crate::engine::change::Change;
use crate::engine::item::{SCHEMA_VERSION, due_shard};
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, leases};
use crate::engine::list::{Page, Slice};
use crate::engine::table::{UpdateOutcome, read};
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::queue::tally::Tally;
use crate::runs::lifecycle::dispatch::EntryItem;

pub use claiming::Claiming;

mod claiming;

/// How long a task may take from its request to its first word.
pub const START_MS: i64 = 600_000;
/// How long a dispatch may go without a task before the sweep asks for it again.
pub const UNASKED_MS: i64 = 30_000;
/// How long a run without capacity for its task keeps its slot.
pub const NO_CAPACITY_MS: i64 = 60_000;
/// Longest time without a report: two heartbeats.
pub const SILENCE_MS: i64 = 2 * 10_000;
/// The iteration that is about to begin when a run is claimed.
const FIRST_ITERATION: u32 = 1;
/// What the client token of a run's second task ends with.
const RESUMED: &str = "-resumed";
/// How long compute may take to be gone before it is checked.
pub const STOPPING_MS: i64 = 30_000;

/// A lease as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The owner.
    pub org_id: OrgId,
    /// The run.
    pub run_id: RunId,
    /// Its work order.
    pub work_order_id: WorkOrderId,
    /// Sent with `RunTask`, so that asking twice starts one task.
    pub client_token: String,
    /// The secret part of the nonce, until it is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// SHA-256 of the runner's token, once it claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
    /// The task, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_arn: Option<String>,
    /// The shard of its task's capacity permit; none if it is older than permits.
    #[serde(rename = "place", default, skip_serializing_if = "Option::is_none")]
    pub capacity_shard: Option<u32>,
    /// How a client wants the run to stop, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_request: Option<StopRequest>,
    /// When the first such stop request came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_requested_at: Option<Timestamp>,
    /// When the sweep first found the report of its runner overdue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspected_at: Option<Timestamp>,
    /// When the runner of a run that a client stopped last reported its usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_report_at: Option<Timestamp>,
    /// When a process of client code was first known to have started: from then on the run's compute
    /// is paid, however it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed_at: Option<Timestamp>,
    /// When its runner last reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Timestamp>,
    /// When its runner confirmed, in its last report, that nothing of the run is alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_at: Option<Timestamp>,
    /// The size of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// What its task has beside the deployment's own container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containers: Option<ContainersId>,
    /// When the work order came into the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enqueued_at: Option<Timestamp>,
    /// How often its run has given a slot back because there was no compute for it.
    #[serde(default)]
    pub came_back: u32,
    /// When the slot was taken.
    pub leased_at: Timestamp,
    /// Set once the run is terminal: from then on the runner changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// The runner's highest event number that is stored.
    #[serde(default)]
    pub reported: u64,
    /// True if its organization had no webhooks when the lease was made, and has had none since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_webhooks: bool,
    /// Index of due items.
    pub due_shard: String,
    /// When the sweep reads it, Unix milliseconds.
    pub due_at: i64,
    /// Shape of this item.
    pub v: u32,
}

impl Lease {
    /// A new lease whose task is not asked for yet.
    #[must_use]
    pub fn new(
        org: &OrgId,
        run: &RunId,
        work_order: &WorkOrderId,
        nonce: String,
        enqueued_at: Timestamp,
        now: Timestamp,
    ) -> Lease {
        Lease {
            org_id: org.clone(),
            run_id: run.clone(),
            work_order_id: work_order.clone(),
            client_token: run.as_str().to_owned(),
            nonce: Some(nonce),
            token_hash: None,
            task_arn: None,
            capacity_shard: None,
            stop_request: None,
            stop_requested_at: None,
            suspected_at: None,
            last_report_at: None,
            executed_at: None,
            heard_at: None,
            dead_at: None,
            size: None,
            containers: None,
            enqueued_at: Some(enqueued_at),
            came_back: 0,
            leased_at: now,
            closed_at: None,
            reported: 0,
            no_webhooks: false,
            due_shard: due_shard(run.as_str()),
            due_at: now.plus_ms(UNASKED_MS).epoch_ms(),
            v: SCHEMA_VERSION,
        }
    }

    /// As it is once it has this permit, in an organization with this tally.
    pub(crate) fn at(&self, permit: &FreePermit, tally: &Tally) -> Lease {
        Lease {
            capacity_shard: Some(permit.shard),
            no_webhooks: tally.no_webhooks,
            ..self.clone()
        }
    }

    /// A new lease of an entry. A run that comes back from its children gets another task.
    #[must_use]
    pub fn of_entry(org: &OrgId, entry: &EntryItem, nonce: String, now: Timestamp) -> Lease {
        let (run, order) = (&entry.run_id, &entry.work_order_id);
        let lease = Lease::new(org, run, order, nonce, entry.enqueued_at, now);
        let resumed = entry.resumes.map_or("", |_| RESUMED);
        // Another nonce under a token that was sent before would be refused for a day.
        let again = match entry.came_back {
            0 => String::new(),
            times => format!("-{times}"),
        };
        Lease {
            client_token: format!("{run}{resumed}{again}"),
            came_back: entry.came_back,
            size: entry.size,
            containers: entry.containers.clone(),
            ..lease
        }
    }
}

/// The run for which a task was asked with this client token: what stands before the first `-`.
#[must_use]
pub fn run_of_client_token(token: &str) -> Option<RunId> {
    RunId::parse(token.split('-').next()?).ok()
}

impl Lease {
    /// True if this token is the runner's.
    #[must_use]
    pub fn is_held_by(&self, token_hash: &str) -> bool {
        self.token_hash.as_deref() == Some(token_hash)
    }

    /// True if a report need not move the deadline: at least half of it is left. Each move is two writes of
    /// the index of due items; the sweep knows by `heardAt` how long a runner has been silent.
    pub(crate) fn keeps_deadline(&self, now: Timestamp) -> bool {
        self.suspected_at.is_none() && self.due_at - now.epoch_ms() >= SILENCE_MS / 2
    }

    /// The deadline of a runner that has reported since the lease's was set; none if it was silent for as
    /// long as it may.
    #[must_use]
    pub fn later_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.heard_at?.plus_ms(SILENCE_MS);
        (until > now && self.closed_at.is_none() && self.stop_request.is_none()).then_some(until)
    }

    /// When a kill counts as failed without a confirmation that the compute is gone.
    #[must_use]
    pub fn kill_given_up_at(&self) -> Option<Timestamp> {
        let (
            Some(StopRequest::Kill {
                grace_period_ms, ..
            }),
            Some(at),
        ) = (self.stop_request, self.stop_requested_at)
        else {
            return None;
        };
        let wait = i64::try_from(grace_period_ms.saturating_add(CONFIRM_MS)).unwrap_or(i64::MAX);
        Some(at.plus_ms(wait))
    }

    /// What its runner is answered when it reports nothing new.
    pub(crate) fn answer(&self) -> ReportAnswer {
        ReportAnswer {
            acknowledged: self.reported,
            stop_request: self.stop_request,
            configuration: None,
        }
    }
}

/// The condition that the caller holds the lease: its token, and the run is not over.
pub(crate) fn held(token_hash: &str) -> Change {
    Change::new()
        .when("tokenHash", token_hash)
        .when_missing("closedAt")
}

impl Store {
    /// The lease of a run, while its slot is taken.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn lease(&self, org: &OrgId, run: &RunId) -> Result<Option<Lease>, Error> {
        self.get(&Key::lease(org, run)).await
    }

    /// The leases of an organization: at most as many as it has slots.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn leases(&self, org: &OrgId, limit: u32) -> Result<Page<Lease>, Error> {
        self.slice(Slice::of_partition(leases(org)).limit(limit))
            .await
    }

    /// Notes the task that was started for a lease.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn note_task(
        &self,
        org: &OrgId,
        run: &RunId,
        task_arn: &str,
        due_at: Timestamp,
    ) -> Result<(), Error> {
        let change = Change::new()
            .set("taskArn", task_arn)
            .set("dueAt", due_at.epoch_ms())
            .when_present("runId")
            .when_missing("tokenHash")
            .when_missing("closedAt");
        // A runner may have claimed already, or the run may be over: then that deadline counts.
        if let UpdateOutcome::Refused(Some(_)) = self.update(&Key::lease(org, run), change).await? {
            let change = Change::new().set("taskArn", task_arn).when_present("runId");
            self.update(&Key::lease(org, run), change).await?;
        }
        Ok(())
    }

    /// Trades the nonce for a token, and audits what the run begins with. The same token again is
    /// answered again, with what was audited the first time; another token, or a run that is
    /// over, is not.
    ///
    /// # Errors
    /// [`Error::Unauthorized`], or internal.
    pub async fn claim(
        &self,
        claiming: Claiming<'_>,
        (nonce, token_hash): (&str, &str),
        now: Timestamp,
    ) -> Result<Profile, Error> {
        let Claiming { lease, profile, .. } = &claiming;
        let (org, run_id) = (&lease.org_id, &lease.run_id);
        if lease.is_held_by(token_hash) && lease.closed_at.is_none() {
            return self.claimed_before(org, run_id).await;
        }
        let change = Change::new()
            .set("tokenHash", token_hash)
            .set("dueAt", now.plus_ms(SILENCE_MS).epoch_ms())
            .set("heardAt", now)
            // A runner starts in the environment's image, or beside its services.
            .executed(lease.containers.is_some(), now)
            .remove("nonce")
            .when("nonce", nonce)
            .when_missing("tokenHash")
            .when_missing("closedAt");
        let lease_key = Key::lease(org, run_id);
        let mut transaction = Transaction::new().update(&lease_key, change);
        if !claiming.resumes {
            let id = claiming.snapshot_id.clone();
            let first = Snapshot::take(id, FIRST_ITERATION, profile, None, now)?;
            let begins = Change::new()
                .set("audit", &first.1)
                .set("maxIterations", claiming.max_iterations)
                .set("priceList", &claiming.price_list)
                .set_some("environment", claiming.environment.as_ref())
                .when_present("runId");
            transaction = transaction
                .update(&Key::run(org, run_id), begins)
                .audit((org, run_id), &first)?;
        }
        let CommitOutcome::No(refusals) = transaction.commit(self).await? else {
            return if claiming.resumes {
                self.claimed_before(org, run_id).await
            } else {
                Ok(claiming.profile)
            };
        };
        let mut refusals = refusals.into_iter();
        let lease = refusals.find(|refusal| refusal.kind == ItemKind::Lease);
        let held: Option<Lease> = lease.and_then(|held| held.item).map(read).transpose()?;
        match held {
            Some(held) if held.is_held_by(token_hash) && held.closed_at.is_none() => {
                self.claimed_before(org, run_id).await
            }
            _ => Err(Error::Unauthorized),
        }
    }

    /// The effective profile of a run that was claimed before.
    async fn claimed_before(&self, org: &OrgId, run_id: &RunId) -> Result<Profile, Error> {
        let run = self.run(org, run_id).await?.ok_or(Error::Unauthorized)?;
        let profile = self.audited_profile(org, &run).await?;
        profile.ok_or_else(|| Error::internal("a claimed run has no snapshot"))
    }

    /// Postpones the sweep of a lease.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn postpone_lease(&self, lease: &Lease, at: Timestamp) -> Result<(), Error> {
        let change = Change::new()
            .set("dueAt", at.epoch_ms())
            .when("dueAt", lease.due_at);
        self.update(&Key::lease(&lease.org_id, &lease.run_id), change)
            .await?;
        Ok(())
    }
}

/// The error of a runner that has lost its lease.
#[must_use]
pub fn lease_lost() -> Error {
    Error::Conflict("this run is over, or its lease is lost: stop now".to_owned())
}
