//! Triggers of organizations. A trigger, the state of its subject and the work order that it creates change in one
//! transaction, conditional on both as they were read and on the delivery having no work order of the trigger yet.

mod step;
pub mod subjects;

pub(crate) use step::trigger_changed;
pub use step::{TriggerCreation, TriggerStep};

use awo_domain::trigger::{MAX_TRIGGERS, Trigger};
use awo_domain::{Error, InboxId, OrgId, Resource, TriggerId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, triggers};
use crate::engine::list::Slice;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::settings::counted::create_outcome;

/// A trigger as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TriggerItem {
    #[serde(flatten)]
    trigger: Trigger,
    /// The number of writes.
    revision: u32,
    v: u32,
}

/// A trigger as it was read, to be changed or left.
#[derive(Debug, Clone)]
pub struct CurrentTrigger {
    /// The trigger.
    pub trigger: Trigger,
    revision: u32,
}

impl From<TriggerItem> for CurrentTrigger {
    fn from(item: TriggerItem) -> CurrentTrigger {
        CurrentTrigger {
            trigger: item.trigger,
            revision: item.revision,
        }
    }
}

impl TriggerItem {
    fn of(trigger: &Trigger, revision: u32) -> TriggerItem {
        TriggerItem {
            trigger: trigger.clone(),
            revision,
            v: SCHEMA_VERSION,
        }
    }
}

impl Store {
    /// The organization's triggers, newest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn triggers(&self, org: &OrgId) -> Result<Vec<CurrentTrigger>, Error> {
        let slice = Slice::of_partition(triggers(org)).newest_first();
        let mut all: Vec<CurrentTrigger> = Vec::new();
        let mut after = None;
        loop {
            let slice = slice.clone().limit(MAX_TRIGGERS).after(after);
            let page = self.slice::<TriggerItem>(slice).await?;
            all.extend(page.items.into_iter().map(CurrentTrigger::from));
            let last = all.last().filter(|_| page.has_more);
            let Some(last) = last else {
                return Ok(all);
            };
            after = Some(Key::trigger(org, &last.trigger.id).to_item());
        }
    }

    /// The triggers that judge the deliveries to an inbox, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn triggers_of_inbox(
        &self,
        org: &OrgId,
        inbox: &InboxId,
    ) -> Result<Vec<CurrentTrigger>, Error> {
        let mut all = self.triggers(org).await?;
        all.retain(|read| read.trigger.content.inbox_id == *inbox && read.trigger.is_active());
        all.reverse();
        Ok(all)
    }

    /// A trigger of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn trigger(
        &self,
        org: &OrgId,
        id: &TriggerId,
    ) -> Result<Option<CurrentTrigger>, Error> {
        let item: Option<TriggerItem> = self.get(&Key::trigger(org, id)).await?;
        Ok(item.map(CurrentTrigger::from))
    }

    /// Adds a trigger. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there are too many; [`Error::IdempotencyMismatch`], or internal; in every
    /// case nothing was written.
    pub async fn create_trigger(
        &self,
        org: &OrgId,
        trigger: &Trigger,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let key = Key::trigger(org, &trigger.id);
        let created = Transaction::new()
            .put(&key, &TriggerItem::of(trigger, 1))?
            .count_one_more(&Key::trigger_count(org), MAX_TRIGGERS)
            .store_response(org, response, trigger.created_at)?
            .commit(self)
            .await?;
        let taken = Error::internal("a new trigger's id is taken");
        let full =
            format!("your organization has {MAX_TRIGGERS} triggers, the maximum: delete one first");
        let faults = (taken, Error::Conflict(full));
        create_outcome(created, ItemKind::Trigger, None, response, faults)
    }

    /// Writes `new` over what was read; false if that has changed meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn replace_trigger(
        &self,
        org: &OrgId,
        read: &CurrentTrigger,
        new: &Trigger,
    ) -> Result<bool, Error> {
        let replaced = Transaction::new()
            .replace_trigger(org, read, new)?
            .commit(self)
            .await?;
        Ok(replaced.is_yes())
    }

    /// Removes a trigger. Its work orders stay.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_trigger(&self, org: &OrgId, id: &TriggerId) -> Result<(), Error> {
        let deleted = Transaction::new()
            .delete(&Key::trigger(org, id), Change::new().when_present("pk"))
            .count_one_less(&Key::trigger_count(org))
            .commit(self)
            .await?;
        match deleted {
            CommitOutcome::Yes => Ok(()),
            CommitOutcome::No(_) => Err(Error::NotFound(Resource::Trigger)),
        }
    }
}

impl Transaction {
    /// Writes a trigger over what was read.
    fn replace_trigger(
        self,
        org: &OrgId,
        read: &CurrentTrigger,
        new: &Trigger,
    ) -> Result<Transaction, Error> {
        let item = TriggerItem::of(new, read.revision + 1);
        let same = Change::new().when("revision", read.revision);
        self.put_when(&Key::trigger(org, &new.id), &item, same)
    }
}
