//! Work orders: creating one with its first run, and reading one.

mod account;
mod beginning;
pub mod cascades;
pub mod erasure;
pub mod family;
mod listing;
mod origin_step;
pub mod parents;
pub mod prompts;
pub mod purge;
mod refusals;
pub mod threads;
mod turn_records;

use awo_domain::environment::{Containers, ContainersId, EnvironmentName, Size};
use awo_domain::event::Lifecycle;
use awo_domain::money::MicroCredits;
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run::RunStatus;
use awo_domain::schedule::Origin;
use awo_domain::source::GitSource;
use awo_domain::template::Hooks;
use awo_domain::thread::ThreadPlace;
use awo_domain::work_order::{Order, Terms, WorkOrderStatus};
use awo_domain::{Error, OrgId, RunId, ScheduleId, Timestamp, TriggerId, WorkOrderId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use account::Account;
pub(crate) use beginning::{queue_entry, queued_run};
pub(crate) use listing::start_after;
pub use origin_step::OriginStep;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome};
use crate::engine::item::{SCHEMA_VERSION, work_orders_with};
use crate::engine::key::{Key, children_of};
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::ledger::budgets::{WantedHold, only_waits};
use crate::ledger::holds::ParentsHold;
use crate::queue::tally::QueueLimits;
use crate::runs::RunItem;
use crate::runs::lifecycle::dispatch::EntryItem;
use crate::work_orders::prompts::StoredPrompt;
use crate::work_orders::refusals::refused;
use crate::work_orders::threads::FollowUp;

/// A work order as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrder {
    /// Its id.
    pub id: WorkOrderId,
    /// Its status.
    pub status: WorkOrderStatus,
    /// Its newest run.
    pub run_id: RunId,
    /// The task, or how long it is.
    #[serde(rename = "taskPrompt")]
    pub prompt: StoredPrompt,
    /// The source.
    pub source: GitSource,
    /// What is done after the clone: of the template as it was, whatever becomes of it.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// The iterations that the client asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_iterations: Option<u32>,
    /// The iterations that a run may have.
    pub max_iterations: u32,
    /// The client's fields.
    #[serde(flatten)]
    pub terms: Terms,
    /// The effective profile when the work order was created, as JSON, unless it is built in: it
    /// may be deleted since, and the work order goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_snapshot: Option<String>,
    /// The environment of its runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentName>,
    /// What that was when the work order was made, as JSON: it may be deleted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_snapshot: Option<String>,
    /// The size of its tasks, by which compute is priced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// What its tasks have in the place of the deployment's image and beside the runner, by its
    /// identity; what that is stands in `environment_snapshot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containers: Option<ContainersId>,
    /// The values of its cost labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cost_labels: BTreeMap<String, String>,
    /// The id of the key or the schedule that created it; of what an agent asked for, the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Its place in its thread, from turn 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ThreadPlace>,
    /// The id of the key that had last written that schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_by: Option<String>,
    /// The cause, unless a client created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How many are above it.
    #[serde(default)]
    pub depth: u32,
    /// How many parts it was given, whatever has become of them.
    #[serde(default)]
    pub children: u32,
    /// The commit of the source's branch to begin from; without it the branch's newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_commit: Option<String>,
    /// From when on it is given no more parts: those that it had have ended and are integrated, or
    /// a client wants it dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_at: Option<Timestamp>,
    /// The pull request that its newest delivery went to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_url: Option<PullRequestUrl>,
    /// The thread in whose outcome its cost counts, if it is a part of another work order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_thread: Option<WorkOrderId>,
    /// True if it succeeded, and its newest run's result is verified.
    #[serde(default)]
    pub verified: bool,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// A work order with the attributes that only the table needs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkOrderItem<'a> {
    #[serde(flatten)]
    work_order: &'a WorkOrder,
    status_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_key: Option<String>,
    v: u32,
}

/// A new work order and its first run.
#[derive(Debug, Clone)]
pub struct NewWorkOrder {
    /// The owner.
    pub org: OrgId,
    /// The work order's id.
    pub id: WorkOrderId,
    /// The first run's id.
    pub run_id: RunId,
    /// What is asked.
    pub order: Order,
    /// Whom its cost is put down to.
    pub account: Account,
    /// The step of the schedule or the trigger that creates it, if one does.
    pub step: Option<OriginStep>,
    /// How many work orders are above it.
    pub depth: u32,
    /// The parent's run that asked for it, if one did: it must still be the newest, and what is
    /// reserved comes out of its hold.
    pub asked_by: Option<ParentsHold>,
    /// The thread that it continues, if it does.
    pub follow_up: Option<FollowUp>,
    /// The iterations that a run may have, by its profile.
    pub max_iterations: u32,
    /// The profile as JSON, unless it is built in.
    pub profile_snapshot: Option<String>,
    /// The content of its environment, as JSON.
    pub environment_snapshot: Option<String>,
    /// The reserved amount.
    pub hold: MicroCredits,
    /// When it is created.
    pub now: Timestamp,
}

impl NewWorkOrder {
    /// When it comes into the queue.
    fn enqueued_at(&self) -> Timestamp {
        let follow_up = self.follow_up.as_ref();
        follow_up.map_or(self.now, |follow_up| follow_up.enqueued_at(self.now))
    }

    /// The work order as it will be stored.
    #[must_use]
    pub fn work_order(&self) -> WorkOrder {
        let order = self.order.clone();
        let content = order.environment.as_ref().map(|chosen| &chosen.content);
        let size = content.and_then(|content| content.size);
        let containers = content.and_then(Containers::of);
        WorkOrder {
            id: self.id.clone(),
            status: WorkOrderStatus::Queued,
            run_id: self.run_id.clone(),
            prompt: StoredPrompt::of(order.task_prompt),
            source: order.source,
            hooks: order.hooks,
            asked_iterations: order.max_iterations,
            max_iterations: self.max_iterations,
            terms: order.terms,
            profile_snapshot: self.profile_snapshot.clone(),
            environment: order.environment.map(|chosen| chosen.name),
            environment_snapshot: self.environment_snapshot.clone(),
            size,
            containers: containers.map(|containers| containers.id()),
            cost_labels: self.account.labels.clone(),
            key_id: self.account.key_id.clone(),
            place: (self.follow_up.as_ref()).map(|follow_up| follow_up.place.clone()),
            written_by: self.account.written_by.clone(),
            origin: self.step.as_ref().and_then(OriginStep::origin),
            depth: self.depth,
            children: 0,
            start_commit: order.start_commit,
            sealed_at: None,
            pr_url: None,
            root_thread: self.account.root_thread.clone(),
            verified: false,
            created_at: self.now,
        }
    }
}

/// Which work orders to list.
#[derive(Debug, Clone, Default)]
pub struct WorkOrderFilter {
    /// Of one status.
    pub status: Option<WorkOrderStatus>,
    /// Of one tenant.
    pub tenant_id: Option<String>,
    /// Of one user of a tenant.
    pub tenant_user_id: Option<String>,
    /// Parts of one work order.
    pub parent_id: Option<WorkOrderId>,
    /// Turns of one thread.
    pub thread_id: Option<WorkOrderId>,
    /// Created by one schedule.
    pub schedule_id: Option<ScheduleId>,
    /// Created by one trigger.
    pub trigger_id: Option<TriggerId>,
}

impl Store {
    /// Creates a work order, its first run, its queue entry and its hold, in one transaction.
    ///
    /// `response` is what a replay of the same request gets. None if the organization declares other
    /// things about its costs by now, or the thread has another turn: read them, and decide again.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::InsufficientCredits`], [`Error::IdempotencyMismatch`],
    /// [`Error::Invalid`] if its parent cannot have another child, or internal; in every case
    /// nothing was written.
    pub async fn create_work_order(
        &self,
        new: &NewWorkOrder,
        limits: QueueLimits,
        response: Option<&NewResponse<'_>>,
    ) -> Result<Option<RequestOutcome>, Error> {
        for waits in [false, true] {
            let transaction = self.creation(new, limits, waits, response)?;
            match transaction.commit(self).await? {
                CommitOutcome::Yes => return Ok(Some(RequestOutcome::New(()))),
                // What an agent asks for is refused instead: its parent would not end.
                CommitOutcome::No(refusals)
                    if !waits && new.asked_by.is_none() && only_waits(&refusals) => {}
                CommitOutcome::No(refusals) => return refused(new, response, refusals),
            }
        }
        Err(Error::internal(
            "a create without a hold was refused by a budget",
        ))
    }

    /// All that a create writes: with a hold, unless the run waits for a budget.
    fn creation(
        &self,
        new: &NewWorkOrder,
        limits: QueueLimits,
        waits: bool,
        response: Option<&NewResponse<'_>>,
    ) -> Result<Transaction, Error> {
        let (org, now) = (&new.org, new.now);
        let work_order = new.work_order();
        let run = queued_run(&work_order, &new.run_id, (new.hold, waits), now);
        let subject = run.subject(org);
        let entry = EntryItem {
            wanted: waits.then(|| work_order.wanted(new.hold)),
            ..queue_entry(&work_order, &new.run_id, new.enqueued_at())
        };
        let tally = Change::new()
            .entry_came(org, limits, now)
            .count_work_order(None, WorkOrderStatus::Queued)
            .count_run(None, RunStatus::Queued);
        let mut transaction = Transaction::new()
            .put(&Key::work_order(org, &new.id), &work_order.item(org))?
            .put(&Key::run(org, &new.run_id), &RunItem::of(org, &run))?
            .prompt(new)?
            .put(&Key::entry(org, &new.id), &entry)?
            .update(&Key::tally(org), tally)
            .append_event(
                self,
                &subject,
                run.last_sequence,
                Lifecycle::Created.to_parts(),
                now,
            )?;
        transaction = match &new.asked_by {
            _ if waits => transaction,
            Some(parent) => transaction.hold_out_of(org, &run, parent, now)?,
            None => transaction.hold(org, &run, new.account.policy, now)?,
        };
        if let Some(parent) = &work_order.terms.parent_id {
            transaction = transaction.add_child(parent, new)?;
        }
        transaction = match &new.follow_up {
            Some(follow_up) => transaction.add_turn(org, &new.id, follow_up, now),
            None if work_order.terms.parent_id.is_some() => transaction,
            None => transaction.begin_outcome(org, &work_order)?,
        };
        if let Some(step) = &new.step {
            transaction = step.made(transaction, new)?;
        }
        transaction.store_response(org, response, now)
    }

    /// A work order of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn work_order(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
    ) -> Result<Option<WorkOrder>, Error> {
        self.get(&Key::work_order(org, id)).await
    }
}

impl WorkOrder {
    fn item(&self, org: &OrgId) -> WorkOrderItem<'_> {
        WorkOrderItem {
            work_order: self,
            status_key: work_orders_with(org, self.status),
            parent_key: self
                .terms
                .parent_id
                .as_ref()
                .map(|id| children_of(org, id).pk),
            v: SCHEMA_VERSION,
        }
    }

    /// What is to be reserved for its run, if that waits for a budget.
    pub(crate) fn wanted(&self, hold: MicroCredits) -> WantedHold {
        WantedHold {
            amount_micro: hold.micro(),
            attribution: Some(self.attribution()),
        }
    }

    /// The tenant by which the queue is fair; empty without one.
    #[must_use]
    pub fn tenant(&self) -> &str {
        self.terms
            .tenant_context
            .as_ref()
            .map_or("", |t| t.tenant_id.as_str())
    }
}

/// When a client should try a full queue again, in seconds.
pub(crate) const QUEUE_RETRY_S: i64 = 30;
