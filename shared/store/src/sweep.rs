//! Due items: the index of everything that has a deadline, which the sweep reads.

use awo_domain::{Error, OrgId, Timestamp};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;

use crate::Store;
use crate::engine::item::DUE_SHARDS;
use crate::engine::item_kind::Table;
use crate::engine::list::Slice;
use crate::engine::schema::DUE;
use crate::runs::lifecycle::lease::Lease;
use crate::runs::lifecycle::suspend::WaitingOrder;
use crate::runs::verifications::Verification;
use crate::work_orders::cascades::Cascade;

/// Something whose time has come.
#[derive(Debug)]
pub enum Due {
    /// A queue in which something waits: wake the dispatcher.
    Queue(OrgId),
    /// A lease: check its run.
    Lease(Box<Lease>),
    /// A manual verification: check whether it still goes on.
    Verification(Box<Verification>),
    /// A work order that waits for its children: check whether they have ended.
    Waiting(Box<WaitingOrder>),
    /// A stop that is not yet applied to children: apply it.
    Cascade(Box<Cascade>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DueItem {
    Lease(Box<Lease>),
    Verification(Box<Verification>),
    Cascade(Box<Cascade>),
    Waiting(Box<WaitingOrder>),
    #[serde(rename_all = "camelCase")]
    Tally {
        org_id: OrgId,
    },
}

impl Store {
    /// The items that are due in all shards, at most `limit` of each, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<Due>, Error> {
        let mut due = Vec::new();
        for shard in 0..DUE_SHARDS {
            let slice = Slice::of_index(Table::Work, DUE, "dueShard", format!("due#{shard}"))
                .range("dueAt", "<=", AttributeValue::N(now.epoch_ms().to_string()))
                .limit(limit);
            let items = self.slice::<DueItem>(slice).await?.items;
            due.extend(items.into_iter().map(|item| match item {
                DueItem::Lease(lease) => Due::Lease(lease),
                DueItem::Verification(verification) => Due::Verification(verification),
                DueItem::Cascade(cascade) => Due::Cascade(cascade),
                DueItem::Waiting(waiting) => Due::Waiting(waiting),
                DueItem::Tally { org_id } => Due::Queue(org_id),
            }));
        }
        Ok(due)
    }
}
