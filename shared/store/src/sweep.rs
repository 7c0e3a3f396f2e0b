//! Due items: the index of everything that has a deadline, which the sweep reads. It shows keys alone, and
//! may be seconds old: the sweep reads each item itself before it decides anything.

use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;

use crate::Store;
use crate::engine::item::{DUE_SHARDS, Item};
use crate::engine::item_kind::Table;
use crate::engine::list::{Page, Slice};
use crate::engine::schema::DUE;

/// Something whose time has come.
#[derive(Debug, Clone)]
pub enum Due {
    /// A queue in which something waits: wake the dispatcher.
    Queue(OrgId),
    /// A lease: check its run.
    Lease(OrgId, RunId),
    /// A manual verification, by the number of its permit: check whether it still goes on.
    Verification(OrgId, u32),
    /// A work order that waits for its children: check whether they have ended.
    Waiting(WaitingRef),
    /// A stop that is not yet applied to children: apply it.
    Cascade(OrgId, WorkOrderId),
    /// An item that this version does not know: a later one wrote it.
    Unknown(String),
}

/// A work order that waits for its children, as the index shows it.
#[derive(Debug, Clone)]
pub struct WaitingRef {
    /// The owner.
    pub org_id: OrgId,
    /// The work order.
    pub work_order_id: WorkOrderId,
    /// Time at which it was due, in Unix milliseconds.
    pub(crate) due_at: i64,
}

/// An item as the index of due items shows it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DueKey {
    pub pk: String,
    pub sk: String,
    pub due_shard: String,
    pub due_at: i64,
}

/// Beginning of the next page of a partition of due items.
#[derive(Debug, Clone)]
pub struct DueCursor(DueKey);

/// A page of a partition of due items.
#[derive(Debug)]
pub struct DuePage<T> {
    /// The items, oldest first.
    pub items: Vec<T>,
    /// The beginning of the next page; none at the end.
    pub next: Option<DueCursor>,
}

impl DueKey {
    /// The owner, and the kind of the item in its partition key.
    pub fn owner(&self) -> Option<(OrgId, &str)> {
        let (org, kind) = self.pk.split_once('#').unwrap_or((&self.pk, ""));
        Some((OrgId::parse(org).ok()?, kind))
    }

    fn parse(&self) -> Option<Due> {
        let (org, kind) = self.owner()?;
        let order = || WorkOrderId::parse(&self.sk).ok();
        Some(match kind {
            "" => Due::Queue(org),
            "lease" => Due::Lease(org, RunId::parse(&self.sk).ok()?),
            "verification" => Due::Verification(org, self.sk.parse().ok()?),
            "cascade" => Due::Cascade(org, order()?),
            "waiting" => Due::Waiting(WaitingRef {
                org_id: org,
                work_order_id: order()?,
                due_at: self.due_at,
            }),
            _ => return None,
        })
    }

    fn due(&self) -> Due {
        self.parse()
            .unwrap_or_else(|| Due::Unknown(format!("{} {}", self.pk, self.sk)))
    }

    fn start(&self) -> Item {
        let text = |text: &String| AttributeValue::S(text.clone());
        Item::from([
            ("pk".to_owned(), text(&self.pk)),
            ("sk".to_owned(), text(&self.sk)),
            ("dueShard".to_owned(), text(&self.due_shard)),
            (
                "dueAt".to_owned(),
                AttributeValue::N(self.due_at.to_string()),
            ),
        ])
    }
}

impl DuePage<DueKey> {
    /// The owners of the items.
    pub fn owners(self) -> DuePage<OrgId> {
        let owners = self.items.iter().filter_map(DueKey::owner);
        DuePage {
            items: owners.map(|(org, _)| org).collect(),
            next: self.next,
        }
    }
}

impl DuePage<Due> {
    /// The organizations in whose queues something waits.
    #[must_use]
    pub fn into_queues(self) -> Vec<OrgId> {
        let queue = |due| match due {
            Due::Queue(org) => Some(org),
            _ => None,
        };
        self.items.into_iter().filter_map(queue).collect()
    }
}

impl<T> DuePage<T> {
    pub(crate) fn map<U>(self, each: impl FnMut(T) -> U) -> DuePage<U> {
        DuePage {
            items: self.items.into_iter().map(each).collect(),
            next: self.next,
        }
    }
}

impl Store {
    /// Numbers of the shards of due items.
    #[must_use]
    pub fn due_shards() -> std::ops::Range<u8> {
        0..DUE_SHARDS
    }

    /// The items of a shard that are due, at most `limit` of them.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due(
        &self,
        shard: u8,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<Due>, Error> {
        let shard = format!("due#{shard}");
        let page = self.due_keys((Table::Work, shard), after, now, limit);
        Ok(page.await?.map(|key| key.due()))
    }

    /// The keys of a partition of the index that are due.
    pub(crate) async fn due_keys(
        &self,
        (table, partition): (Table, String),
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<DueKey>, Error> {
        let slice = Slice::of_index(table, DUE, "dueShard", partition)
            .range("dueAt", "<=", AttributeValue::N(now.epoch_ms().to_string()))
            .after(after.map(|DueCursor(last)| last.start()))
            .limit(limit);
        let Page { items, has_more } = self.slice::<DueKey>(slice).await?;
        let next = items.last().filter(|_| has_more).cloned().map(DueCursor);
        Ok(DuePage { items, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::key::Key;

    fn key(key: &Key) -> DueKey {
        DueKey {
            pk: key.pk.clone(),
            sk: key.sk.clone(),
            due_shard: "due#1".to_owned(),
            due_at: 7,
        }
    }

    #[test]
    fn an_item_of_the_index_is_known_by_its_key() {
        let at = Timestamp::from_epoch_ms(0);
        let (org, run) = (OrgId::new(at, 1), RunId::new(at, 2));
        let order = WorkOrderId::new(at, 3);
        let kind = |of: &Key| key(of).due();
        assert!(matches!(kind(&Key::tally(&org)), Due::Queue(of) if of == org));
        assert!(
            matches!(kind(&Key::lease(&org, &run)), Due::Lease(of, id) if (&of, &id) == (&org, &run))
        );
        assert!(matches!(kind(&Key::verification(&org, 2)), Due::Verification(of, 2) if of == org));
        assert!(matches!(kind(&Key::cascade(&org, &order)), Due::Cascade(_, id) if id == order));
        let waiting = kind(&Key::waiting(&org, &order));
        assert!(matches!(waiting, Due::Waiting(of) if of.work_order_id == order && of.due_at == 7));
        assert!(matches!(kind(&Key::run(&org, &run)), Due::Unknown(_)));
    }
}
