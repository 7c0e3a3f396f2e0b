//! Pull requests of threads. A delivery of a run puts one there, and reports of its forge change it, each on condition
//! that it is as it was read. It is due while its forge is to be asked.

use awo_domain::pull_request::{
    ASKED_EACH_MS, OutcomeCost, PullRequest, PullRequestChangedData, PullRequestState,
    PullRequestStatus, PullRequestUrl,
};
use awo_domain::webhook::identity::event_id_of;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{DUE_PULL_REQUESTS, SCHEMA_VERSION, pull_requests_with};
use crate::engine::item_kind::Table;
use crate::engine::key::Key;
use crate::engine::list::Slice;
use crate::engine::schema::BY_PARENT;
use crate::engine::table::{conflict_pause, read};
use crate::engine::transaction::Transaction;
use crate::ledger::budgets::Alert;
use crate::sweep::{DueCursor, DueKey, DuePage};
use crate::webhooks::outbox::OutboxEvent;
use crate::work_orders::WorkOrder;

/// Most attempts to apply a report that meets other changes.
const TRIES: u32 = 6;

/// A pull request as it is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PullRequestItem {
    #[serde(flatten)]
    pub pull_request: PullRequest,
    /// The number of writes.
    revision: u64,
    parent_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_shard: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_at: Option<i64>,
    #[serde(default)]
    v: u32,
}

/// The name of a pull request of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestRef {
    /// The thread.
    pub thread_id: WorkOrderId,
    /// The hash of its URL.
    digest: String,
}

/// A report about a pull request.
#[derive(Debug, Clone, Default)]
pub struct StateReport {
    /// The state; none if it has not changed, or is not known.
    pub state: Option<PullRequestState>,
    /// The forge's mark of its answer, if it gave one.
    pub etag: Option<String>,
}

/// A delivery of a run to a pull request.
pub(crate) struct PullRequestDelivery<'a> {
    /// The work order of the run.
    pub order: &'a WorkOrder,
    pub url: &'a PullRequestUrl,
    /// The delivered commit, if it is verified.
    pub verified_commit: Option<&'a str>,
    pub now: Timestamp,
}

impl PullRequestItem {
    pub fn sort_key(&self) -> String {
        let pull = &self.pull_request;
        let named = PullRequestRef::of(&pull.thread_id, &pull.url);
        format!("{}#{}", named.thread_id, named.digest)
    }
}

impl PullRequestRef {
    /// The name of a thread's pull request with this URL.
    #[must_use]
    pub fn of(thread_id: &WorkOrderId, url: &PullRequestUrl) -> PullRequestRef {
        PullRequestRef {
            thread_id: thread_id.clone(),
            digest: url.digest(),
        }
    }

    fn key(&self, org: &OrgId) -> Key {
        Key::pull_request(org, &self.thread_id, &self.digest)
    }

    /// The name of the item with this sort key.
    fn parse(sk: &str) -> Option<PullRequestRef> {
        let (thread, digest) = sk.split_once('#')?;
        Some(PullRequestRef {
            thread_id: WorkOrderId::parse(thread).ok()?,
            digest: digest.to_owned(),
        })
    }
}

impl WorkOrder {
    /// The pull request that its newest delivery went to.
    #[must_use]
    pub fn pull_request(&self) -> Option<PullRequestRef> {
        let url = self.pr_url.as_ref()?;
        Some(PullRequestRef::of(self.thread_id(), url))
    }
}

impl Transaction {
    /// Puts the pull request of a delivery there, or notes another delivery to it. One whose URL has no number is
    /// not followed.
    pub(crate) fn delivered_to(
        self,
        org: &OrgId,
        delivery: &PullRequestDelivery<'_>,
    ) -> Transaction {
        let (order, url, now) = (delivery.order, delivery.url, delivery.now);
        let Some(number) = url.number() else {
            return self;
        };
        let pull = PullRequestRef::of(order.thread_id(), url);
        let delivered = Change::new()
            .set("threadId", order.thread_id())
            .set("workOrderId", &order.id)
            .set("url", url)
            .set("number", number)
            .set("deliveredAt", now)
            .set_some("verifiedCommit", delivery.verified_commit)
            .set_if_missing("state", PullRequestStatus::Open)
            .set_if_missing("firstDeliveredAt", now)
            .set("parentKey", pull_requests_with(org, &pull.digest))
            .set("dueShard", DUE_PULL_REQUESTS)
            .set("dueAt", now.plus_ms(ASKED_EACH_MS).epoch_ms())
            .set("v", SCHEMA_VERSION)
            .add("revision", 1);
        self.update(&pull.key(org), delivered)
    }
}

impl Store {
    /// A pull request of a thread.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn pull_request(
        &self,
        org: &OrgId,
        pull: &PullRequestRef,
    ) -> Result<Option<PullRequest>, Error> {
        let item: Option<PullRequestItem> = self.get(&pull.key(org)).await?;
        Ok(item.map(|item| item.pull_request))
    }

    /// The pull requests of these work orders, at most a hundred; none where a work order has none.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn pull_requests_of(
        &self,
        org: &OrgId,
        orders: &[WorkOrder],
    ) -> Result<Vec<Option<PullRequest>>, Error> {
        let keys: Vec<Option<Key>> = orders
            .iter()
            .map(|order| order.pull_request().map(|pull| pull.key(org)))
            .collect();
        let mut named: Vec<Key> = keys.iter().flatten().cloned().collect();
        if named.is_empty() {
            return Ok(vec![None; orders.len()]);
        }
        named.sort_by(|one, other| one.sk.cmp(&other.sk));
        named.dedup();
        let items = self.batch(named).await?;
        let item = |key: &Option<Key>| key.as_ref().and_then(|key| items.get(key)).cloned();
        let pull = |key| match item(key) {
            Some(item) => read::<PullRequestItem>(item).map(|item| Some(item.pull_request)),
            None => Ok(None),
        };
        keys.iter().map(pull).collect()
    }

    /// The pull requests of an organization that have this URL: one for each thread that delivered to it.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn pull_requests_at(
        &self,
        org: &OrgId,
        url: &PullRequestUrl,
    ) -> Result<Vec<PullRequestRef>, Error> {
        let partition = pull_requests_with(org, &url.digest());
        let slice = Slice::of_index(Table::Work, BY_PARENT, "parentKey", partition);
        let mut pulls = Vec::new();
        let add = |item: PullRequestItem| {
            let pull = item.pull_request;
            pulls.push(PullRequestRef::of(&pull.thread_id, &pull.url));
        };
        self.each(&slice, add).await?;
        Ok(pulls)
    }

    /// Pull requests whose forge is to be asked.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn due_pull_requests(
        &self,
        after: Option<&DueCursor>,
        now: Timestamp,
        limit: u32,
    ) -> Result<DuePage<(OrgId, PullRequestRef)>, Error> {
        let partition = (Table::Work, DUE_PULL_REQUESTS.to_owned());
        let page = self.due_keys(partition, after, now, limit).await?;
        let pull = |key: &DueKey| {
            let (org, _) = key.owner()?;
            Some((org, PullRequestRef::parse(&key.sk)?))
        };
        Ok(DuePage {
            items: page.items.iter().filter_map(pull).collect(),
            next: page.next,
        })
    }

    /// Applies a report, with the event of the change, and notes when the forge is asked again. What another report
    /// has changed meanwhile is read again.
    ///
    /// # Errors
    /// [`Error::Contended`] if other changes were faster all the time, or internal.
    pub async fn apply_report(
        &self,
        org: &OrgId,
        pull: &PullRequestRef,
        report: &StateReport,
        now: Timestamp,
    ) -> Result<(), Error> {
        for attempt in 0..TRIES {
            let Some(item) = self.get::<PullRequestItem>(&pull.key(org)).await? else {
                return Ok(());
            };
            let state = report.state.as_ref();
            let reported = state.and_then(|state| item.pull_request.reported(state, now));
            let new = PullRequest {
                etag: report.etag.clone().or(item.pull_request.etag.clone()),
                ..reported.unwrap_or_else(|| item.pull_request.clone())
            };
            let asked_again_at = new.asked_again_at(now);
            if self
                .replace_pull_request(org, pull, (&item, &new), asked_again_at, now)
                .await?
            {
                return Ok(());
            }
            conflict_pause(attempt).await;
        }
        Err(Error::contended(
            "a pull request: other changes were faster all the time",
        ))
    }

    /// Stops to ask for a pull request.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn ask_no_more(
        &self,
        org: &OrgId,
        pull: &PullRequestRef,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(item) = self.get::<PullRequestItem>(&pull.key(org)).await? else {
            return Ok(());
        };
        let same = &item.pull_request;
        self.replace_pull_request(org, pull, (&item, same), None, now)
            .await?;
        Ok(())
    }

    /// False if the pull request has changed since it was read.
    async fn replace_pull_request(
        &self,
        org: &OrgId,
        pull: &PullRequestRef,
        (item, new): (&PullRequestItem, &PullRequest),
        asked_again_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let replaced = PullRequestItem {
            pull_request: new.clone(),
            revision: item.revision + 1,
            parent_key: item.parent_key.clone(),
            due_shard: asked_again_at.map(|_| DUE_PULL_REQUESTS.to_owned()),
            due_at: asked_again_at.map(Timestamp::epoch_ms),
            v: SCHEMA_VERSION,
        };
        let same = Change::new().when("revision", item.revision);
        let mut transaction = Transaction::new().put_when(&pull.key(org), &replaced, same)?;
        let changed = new.event_since(&item.pull_request);
        if let Some(kind) = changed {
            let credits = self.credits_of_thread(org, &pull.thread_id).await?;
            let alert = Alert {
                kind,
                data: json!(PullRequestChangedData {
                    thread_id: new.thread_id.clone(),
                    work_order_id: new.work_order_id.clone(),
                    pr_url: new.url.as_str().to_owned(),
                    cost: OutcomeCost { credits },
                }),
            };
            let revision = replaced.revision.to_string();
            let parts = [pull.thread_id.as_str(), &pull.digest, &revision];
            let event = OutboxEvent::of_alert(org, event_id_of(&parts, now), &alert, now)?;
            transaction = transaction.event(event);
        }
        let is_replaced = transaction.commit(self).await?.is_yes();
        if let Some(kind) = changed.filter(|_| is_replaced) {
            let (thread, kind) = (&pull.thread_id, kind.as_str());
            tracing::info!(event = "pull_request_changed", %org, %thread, kind, "a pull request changed");
        }
        Ok(is_replaced)
    }
}
