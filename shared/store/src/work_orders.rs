//! Work orders: creating one with its first run, reading one, listing them.

use awo_domain::agent::Agent;
use awo_domain::event::Lifecycle;
use awo_domain::money::MicroCredits;
use awo_domain::run::RunStatus;
use awo_domain::source::GitSource;
use awo_domain::template::Hooks;
use awo_domain::work_order::{Limits, Order, TenantContext, WorkOrderStatus};
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::Store;
use crate::change::Change;
use crate::credits::insufficient;
use crate::dispatch::EntryItem;
use crate::idempotency::{FirstAnswer, IdempotentRequest, first_answer};
use crate::item::Item;
use crate::item::{Key, SCHEMA_VERSION, work_orders, work_orders_with};
use crate::list::{Page, Slice};
use crate::runs::{CREATED_SEQUENCE, Run, RunItem};
use crate::schema::BY_STATUS;
use crate::tally::{QueueLimits, Tally};
use crate::transaction::{Committed, Guard, Refusal, Transaction};

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
    /// The task.
    pub task_prompt: String,
    /// What is cloned.
    pub source: GitSource,
    /// What is done after the clone: of the template as it was, whatever becomes of it.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// The iterations that the client asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_iterations: Option<u32>,
    /// The iterations that a run may have.
    pub max_iterations: u32,
    /// The client's customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<TenantContext>,
    /// The profile's name.
    pub harness: String,
    /// What the profile came to when the work order was made, as JSON, unless it is built in: it
    /// may be deleted since, and the work order goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_profile: Option<String>,
    /// Who does the work.
    pub agent: Agent,
    /// What a run may use.
    #[serde(default)]
    pub limits: Limits,
    /// The client's own notes.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
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
    /// The iterations that a run may have, by its profile.
    pub max_iterations: u32,
    /// The profile as JSON, unless it is built in.
    pub kept_profile: Option<String>,
    /// What is reserved.
    pub hold: MicroCredits,
    /// Now.
    pub now: Timestamp,
}

impl NewWorkOrder {
    /// The work order as it will be stored.
    #[must_use]
    pub fn work_order(&self) -> WorkOrder {
        let order = self.order.clone();
        WorkOrder {
            id: self.id.clone(),
            status: WorkOrderStatus::Queued,
            run_id: self.run_id.clone(),
            task_prompt: order.task_prompt,
            source: order.source,
            hooks: order.hooks,
            asked_iterations: order.max_iterations,
            max_iterations: self.max_iterations,
            tenant_context: order.tenant_context,
            harness: order.harness,
            kept_profile: self.kept_profile.clone(),
            agent: order.agent,
            limits: order.limits,
            metadata: order.metadata,
            created_at: self.now,
        }
    }
}

/// What came of a create.
#[derive(Debug)]
pub enum Created {
    /// It is there and waits.
    New,
    /// The same request was answered before.
    Replayed(FirstAnswer),
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
}

impl Store {
    /// Creates a work order, its first run, its queue entry and its hold, in one transaction.
    ///
    /// `answer` is what a replay of the same request will be given.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::InsufficientCredits`], [`Error::IdempotencyMismatch`], or
    /// internal; in every case nothing was written.
    pub async fn create_work_order(
        &self,
        new: &NewWorkOrder,
        limits: QueueLimits,
        idempotent: Option<(&IdempotentRequest, (u16, String))>,
    ) -> Result<Created, Error> {
        let (org, now) = (&new.org, new.now);
        let work_order = new.work_order();
        let run = queued_run(&work_order, &new.run_id, new.hold, now);
        let subject = run.subject(org);
        let entry = queue_entry(&work_order, &new.run_id, now);
        let tally = Change::new()
            .entry_came(org, limits, now)
            .count_work_order(None, WorkOrderStatus::Queued)
            .count_run(None, RunStatus::Queued);
        let work = &self.tables.work;
        let mut transaction = Transaction::new()
            .put(
                Guard::WorkOrder,
                work,
                &Key::work_order(org, &new.id),
                &work_order.item(org),
            )?
            .put(
                Guard::Run,
                work,
                &Key::run(org, &new.run_id),
                &RunItem::of(org, &run),
            )?
            .put(Guard::Entry, work, &Key::entry(org, &new.id), &entry)?
            .update(Guard::Tally, work, &Key::tally(org), tally)?
            .hold(self, org, &new.run_id, new.hold, now)?
            .tell(
                self,
                &subject,
                run.last_sequence,
                Lifecycle::Created.to_parts(),
                now,
            )?;
        let request = idempotent.as_ref().map(|(request, _)| *request);
        if let Some((request, answer)) = idempotent {
            transaction = transaction.remember(self, org, request, answer, now)?;
        }
        match transaction.commit(self).await? {
            Committed::Yes => Ok(Created::New),
            Committed::No(refusals) => refused(new, request, refusals),
        }
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
        self.get(&self.tables.work, &Key::work_order(org, id)).await
    }

    /// Work orders, newest first, and how many there are in all.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn work_orders(
        &self,
        org: &OrgId,
        filter: &WorkOrderFilter,
        (limit, skip): (u32, u32),
        after: Option<&WorkOrderId>,
    ) -> Result<(Page<WorkOrder>, u64), Error> {
        let start = after.map(|id| start_after(org, id, filter.status));
        let slice = match filter.status {
            None => Slice::of_partition(&self.tables.work, work_orders(org)),
            Some(status) => Slice::of_index(
                &self.tables.work,
                BY_STATUS,
                "statusKey",
                work_orders_with(org, status),
            ),
        }
        .newest_first()
        .filter("tenantContext.tenantId", filter.tenant_id.clone())
        .filter("tenantContext.tenantUserId", filter.tenant_user_id.clone());
        let by_tally = filter.tenant_id.is_none() && filter.tenant_user_id.is_none();
        let total = async {
            let whole = slice.clone();
            if by_tally {
                self.tally(org)
                    .await
                    .map(|t: Tally| t.work_orders(filter.status))
            } else {
                self.count(&whole).await
            }
        };
        tokio::try_join!(
            self.slice(slice.clone().limit(limit).skip(skip).after(start)),
            total
        )
    }
}

fn start_after(org: &OrgId, id: &WorkOrderId, status: Option<WorkOrderStatus>) -> Item {
    let mut key = Key::work_order(org, id).to_item();
    if let Some(status) = status {
        key.insert(
            "statusKey".to_owned(),
            crate::change::value(work_orders_with(org, status)),
        );
    }
    key
}

impl WorkOrder {
    fn item(&self, org: &OrgId) -> WorkOrderItem<'_> {
        WorkOrderItem {
            work_order: self,
            status_key: work_orders_with(org, self.status),
            v: SCHEMA_VERSION,
        }
    }

    /// The tenant by which the queue is fair; empty without one.
    #[must_use]
    pub fn tenant(&self) -> &str {
        self.tenant_context
            .as_ref()
            .map_or("", |t| t.tenant_id.as_str())
    }
}

/// The first state of a new run.
pub(crate) fn queued_run(
    work_order: &WorkOrder,
    run_id: &RunId,
    hold: MicroCredits,
    now: Timestamp,
) -> Run {
    Run {
        run_id: run_id.clone(),
        work_order_id: work_order.id.clone(),
        status: RunStatus::Queued,
        phase: None,
        iteration: 0,
        max_iterations: work_order.max_iterations,
        created_at: now,
        started_at: None,
        completed_at: None,
        compute_stopped_at: None,
        settled_at: None,
        stop: None,
        branch: None,
        commit: None,
        error: None,
        usage: Vec::new(),
        cost: None,
        work_dir: None,
        tenant_context: work_order.tenant_context.clone(),
        hold_micro: hold.micro(),
        last_sequence: CREATED_SEQUENCE,
        audit: None,
        earlier: None,
    }
}

/// The place of a work order in the queue.
pub(crate) fn queue_entry(work_order: &WorkOrder, run_id: &RunId, now: Timestamp) -> EntryItem {
    EntryItem {
        work_order_id: work_order.id.clone(),
        run_id: run_id.clone(),
        tenant_context: work_order.tenant_context.clone(),
        enqueued_at: now,
        v: SCHEMA_VERSION,
    }
}

/// What a refused create tells the caller: a replay before all else, since the first answer
/// holds whatever has become of the queue and the credits since.
fn refused(
    new: &NewWorkOrder,
    request: Option<&IdempotentRequest>,
    refusals: Vec<Refusal>,
) -> Result<Created, Error> {
    let mut refusals = refusals;
    refusals.sort_by_key(|refusal| match refusal.guard {
        Guard::Idempotency => 0,
        Guard::Tally => 1,
        Guard::Balance => 2,
        _ => 3,
    });
    match (refusals.into_iter().next(), request) {
        (
            Some(Refusal {
                guard: Guard::Idempotency,
                item,
            }),
            Some(request),
        ) => first_answer(request, item).map(Created::Replayed),
        (
            Some(Refusal {
                guard: Guard::Tally,
                ..
            }),
            _,
        ) => Err(Error::QueueFull {
            retry_after_s: QUEUE_RETRY_S,
        }),
        (
            Some(Refusal {
                guard: Guard::Balance,
                item,
            }),
            _,
        ) => Err(insufficient(new.hold, item)?),
        (refusal, _) => Err(Error::internal(format!(
            "create was refused by {:?}",
            refusal.map(|r| r.guard)
        ))),
    }
}

/// When a client should try a full queue again, in seconds.
pub(crate) const QUEUE_RETRY_S: i64 = 30;
