//! Schedules of organizations. A schedule, its firing and the work order that it creates change in one
//! transaction, conditional on the schedule as it was read and on its time having no firing yet.

mod firings;
mod step;

pub use step::ScheduleStep;
pub(crate) use step::schedule_changed;

use awo_domain::schedule::{MAX_SCHEDULES, OrderStanding, Schedule};
use awo_domain::{Error, OrgId, Resource, ScheduleId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome};
use crate::engine::item::{DUE_SCHEDULES, SCHEMA_VERSION};
use crate::engine::item_kind::{ItemKind, Table};
use crate::engine::key::{Key, schedules};
use crate::engine::list::Slice;
use crate::engine::table::read;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::settings::counted::create_outcome;
use crate::sweep::{DueCursor, DueKey, DuePage};
use crate::work_orders::WorkOrder;

/// A schedule as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleItem {
    #[serde(flatten)]
    schedule: Schedule,
    /// How often it was written.
    revision: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_shard: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_at: Option<i64>,
    v: u32,
}

/// A schedule as it was read, to be changed or left.
#[derive(Debug, Clone)]
pub struct CurrentSchedule {
    /// The schedule.
    pub schedule: Schedule,
    revision: u32,
}

impl From<ScheduleItem> for CurrentSchedule {
    fn from(item: ScheduleItem) -> CurrentSchedule {
        CurrentSchedule {
            schedule: item.schedule,
            revision: item.revision,
        }
    }
}

impl ScheduleItem {
    fn of(schedule: &Schedule, revision: u32) -> ScheduleItem {
        let due_at = schedule.due_at();
        ScheduleItem {
            schedule: schedule.clone(),
            revision,
            due_shard: due_at.map(|_| DUE_SCHEDULES.to_owned()),
            due_at: due_at.map(Timestamp::epoch_ms),
            v: SCHEMA_VERSION,
        }
    }
}

fn schedule_at(key: &DueKey) -> Option<(OrgId, ScheduleId)> {
    let (org, _) = key.owner()?;
    Some((org, ScheduleId::parse(&key.sk).ok()?))
}

impl Store {
    /// The organization's schedules, newest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn schedules(&self, org: &OrgId) -> Result<Vec<Schedule>, Error> {
        let slice = Slice::of_partition(schedules(org)).newest_first();
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let slice = slice.clone().limit(MAX_SCHEDULES).after(after);
            let page = self.slice::<ScheduleItem>(slice).await?;
            all.extend(page.items.into_iter().map(|item| item.schedule));
            let last = all.last().filter(|_| page.has_more);
            let Some(last) = last else {
                return Ok(all);
            };
            after = Some(Key::schedule(org, &last.id).to_item());
        }
    }

    /// A schedule of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn schedule(
        &self,
        org: &OrgId,
        id: &ScheduleId,
    ) -> Result<Option<CurrentSchedule>, Error> {
        let item: Option<ScheduleItem> = self.get(&Key::schedule(org, id)).await?;
        Ok(item.map(CurrentSchedule::from))
    }

    /// Adds a schedule. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there are too many; [`Error::IdempotencyMismatch`], or internal; in every
    /// case nothing was written.
    pub async fn create_schedule(
        &self,
        org: &OrgId,
        schedule: &Schedule,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let created = Transaction::new()
            .put(
                &Key::schedule(org, &schedule.id),
                &ScheduleItem::of(schedule, 1),
            )?
            .count_one_more(&Key::schedule_count(org), MAX_SCHEDULES)
            .store_response(org, response, schedule.created_at)?
            .commit(self)
            .await?;
        let taken = Error::internal("a new schedule's id is taken");
        let full = format!(
            "your organization has {MAX_SCHEDULES} schedules, the maximum: delete one first"
        );
        let faults = (taken, Error::Conflict(full));
        create_outcome(created, ItemKind::Schedule, None, response, faults)
    }

    /// Writes `new` over what was read; false if that has changed meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn replace_schedule(
        &self,
        org: &OrgId,
        read: &CurrentSchedule,
        new: &Schedule,
    ) -> Result<bool, Error> {
        let replaced = Transaction::new()
            .replace_schedule(org, read, new)?
            .commit(self)
            .await?;
        Ok(replaced.is_yes())
    }

    /// Removes a schedule. Its work orders stay, and its firings until they expire.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_schedule(&self, org: &OrgId, id: &ScheduleId) -> Result<(), Error> {
        let deleted = Transaction::new()
            .delete(&Key::schedule(org, id), Change::new().when_present("pk"))
            .count_one_less(&Key::schedule_count(org))
            .commit(self)
            .await?;
        match deleted {
            CommitOutcome::Yes => Ok(()),
            CommitOutcome::No(_) => Err(Error::NotFound(Resource::Schedule)),
        }
    }

    /// Schedules that have something to do.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_schedules(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<(OrgId, ScheduleId)>, Error> {
        let partition = (Table::Work, DUE_SCHEDULES.to_owned());
        let page = self.due_keys(partition, after, now, limit).await?;
        Ok(DuePage {
            items: page.items.iter().filter_map(schedule_at).collect(),
            next: page.next,
        })
    }

    /// The standing of work orders, at most a hundred, in the order of their ids.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn order_standings(
        &self,
        org: &OrgId,
        ids: &[WorkOrderId],
    ) -> Result<Vec<OrderStanding>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let key = |id: &WorkOrderId| Key::work_order(org, id);
        let mut items = self.batch(ids.iter().map(key)).await?;
        let standing = |id: &WorkOrderId| {
            let order = items.remove(&key(id)).map(read::<WorkOrder>).transpose()?;
            Ok((id.clone(), order.map(|order| order.status)))
        };
        ids.iter().map(standing).collect()
    }
}

impl Transaction {
    /// Writes a schedule over what was read.
    fn replace_schedule(
        self,
        org: &OrgId,
        read: &CurrentSchedule,
        new: &Schedule,
    ) -> Result<Transaction, Error> {
        let item = ScheduleItem::of(new, read.revision + 1);
        let same = Change::new().when("revision", read.revision);
        self.put_when(&Key::schedule(org, &new.id), &item, same)
    }
}
