//! Inboxes of organizations, with their secrets.
//!
//! A sender names an inbox by its id alone, so an inbox is an item of its own, which an index of its
//! organization names. Both and the count of the organization's inboxes change in one transaction. A change is
//! conditional on exactly the state it was made from. Secrets are in that item, and in the stored responses that
//! show them, in a partition of their own; a role that cannot read those cannot read a secret.

pub mod deliveries;
mod stored;
pub mod unprocessed;

use awo_domain::inbox::{Inbox, MAX_INBOXES};
use awo_domain::{Error, InboxId, OrgId, Resource, Timestamp};
use serde::{Deserialize, Serialize};

use stored::InboxItem;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::idempotency::{
    IdempotentRequest, NewResponse, RequestOutcome, ResponseStore, StoredResponse, replay,
};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::{Key, inbox_indexes};
use crate::engine::list::Slice;
use crate::engine::table::read;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::settings::counted::create_outcome;

/// An inbox as it was read, to be changed or left.
#[derive(Debug, Clone)]
pub struct CurrentInbox {
    /// The inbox.
    pub inbox: Inbox,
    revision: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InboxIndex {
    id: InboxId,
    v: u32,
}

impl Store {
    /// The ids of the organization's inboxes, newest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn inbox_ids(&self, org: &OrgId) -> Result<Vec<InboxId>, Error> {
        let slice = Slice::of_partition(inbox_indexes(org))
            .newest_first()
            .limit(MAX_INBOXES);
        let indexes: Vec<InboxIndex> = self.slice(slice).await?.items;
        Ok(indexes.into_iter().map(|index| index.id).collect())
    }

    /// The organization's inboxes, newest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn inboxes(&self, org: &OrgId) -> Result<Vec<Inbox>, Error> {
        let ids = self.inbox_ids(org).await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut items = self.batch(ids.iter().map(Key::inbox)).await?;
        let items = ids.iter().filter_map(|id| items.remove(&Key::inbox(id)));
        items
            .map(|item| Ok(CurrentInbox::from(read::<InboxItem>(item)?).inbox))
            .collect()
    }

    /// An inbox of this organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn inbox(&self, org: &OrgId, id: &InboxId) -> Result<Option<CurrentInbox>, Error> {
        let read = self.any_inbox(id).await?;
        Ok(read.filter(|read| read.inbox.org_id == *org))
    }

    /// An inbox of any organization, for a delivery to it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn any_inbox(&self, id: &InboxId) -> Result<Option<CurrentInbox>, Error> {
        let item: Option<InboxItem> = self.get(&Key::inbox(id)).await?;
        Ok(item.map(CurrentInbox::from))
    }

    /// The first response to a request that showed a secret, if that still counts.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal.
    pub async fn stored_inbox_response(
        &self,
        org: &OrgId,
        request: &IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<StoredResponse>, Error> {
        self.stored_response_in(ResponseStore::Inboxes, org, request, now)
            .await
    }

    /// Adds an inbox. `response` is what a replay of the same request gets.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there are too many; [`Error::IdempotencyMismatch`], or internal; in every
    /// case nothing was written.
    pub async fn create_inbox(
        &self,
        inbox: &Inbox,
        response: Option<&NewResponse<'_>>,
    ) -> Result<RequestOutcome, Error> {
        let (org, id) = (&inbox.org_id, &inbox.id);
        let index = InboxIndex {
            id: id.clone(),
            v: SCHEMA_VERSION,
        };
        let (responses, now) = (ResponseStore::Inboxes, inbox.created_at);
        let created = Transaction::new()
            .put(&Key::inbox(id), &InboxItem::of(inbox, 1))?
            .put(&Key::inbox_index(org, id), &index)?
            .count_one_more(&Key::inbox_count(org), MAX_INBOXES)
            .store_response_in(responses, org, response, now)?
            .commit(self)
            .await?;
        let taken = Error::internal("a new inbox's id is taken");
        let full =
            format!("your organization has {MAX_INBOXES} inboxes, the maximum: delete one first");
        let faults = (taken, Error::Conflict(full));
        create_outcome(created, ItemKind::Inbox, None, response, faults)
    }

    /// Writes `new` over what was read; none if that has changed meanwhile, or is gone. `response` is what a
    /// replay of the same request, made at `now`, gets.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal.
    pub async fn replace_inbox(
        &self,
        read: &CurrentInbox,
        new: &Inbox,
        response: Option<&NewResponse<'_>>,
        now: Timestamp,
    ) -> Result<Option<RequestOutcome>, Error> {
        let item = InboxItem::of(new, read.revision + 1);
        let unchanged = Change::new().when("revision", read.revision);
        let replaced = Transaction::new()
            .put_when(&Key::inbox(&new.id), &item, unchanged)?
            .store_response_in(ResponseStore::Inboxes, &new.org_id, response, now)?
            .commit(self)
            .await?;
        let refusals = match replaced {
            CommitOutcome::Yes => return Ok(Some(RequestOutcome::New(()))),
            CommitOutcome::No(refusals) => refusals,
        };
        Ok(replay(response, &refusals)?.map(RequestOutcome::Replayed))
    }

    /// Removes an inbox. Deliveries to it are refused from now on; those that were stored expire.
    ///
    /// # Errors
    /// [`Error::NotFound`], or internal.
    pub async fn delete_inbox(&self, org: &OrgId, id: &InboxId) -> Result<(), Error> {
        let deleted = Transaction::new()
            .delete(&Key::inbox(id), Change::new().when("orgId", org))
            .delete(&Key::inbox_index(org, id), Change::new())
            .count_one_less(&Key::inbox_count(org))
            .commit(self)
            .await?;
        match deleted {
            CommitOutcome::Yes => Ok(()),
            CommitOutcome::No(_) => Err(Error::NotFound(Resource::Inbox)),
        }
    }
}
