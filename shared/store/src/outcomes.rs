//! Outcomes of threads. Each thread has an item from its first creation on, which counts all that is booked for its
//! runs, in the transactions that book it. It stays when the thread is purged, as costs do.

use std::collections::HashMap;

use awo_domain::cost::record::CostRecord;
use awo_domain::money::MicroCredits;
use awo_domain::outcome::{OutcomeCounter, OutcomeDimension, OutcomeReport, ThreadOutcome};
use awo_domain::pull_request::KnownPullRequest;
use awo_domain::span::Span;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, Partition, outcomes, pull_requests};
use crate::engine::list::Slice;
use crate::engine::transaction::Transaction;
use crate::pull_requests::PullRequestItem;
use crate::work_orders::WorkOrder;

/// Most threads of a report.
const MAX_THREADS: usize = 20_000;
/// Most items of a reading.
const MAX_READ: u32 = 5_000;

/// An outcome as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct OutcomeItem {
    /// The id of the thread.
    #[serde(default, skip_serializing)]
    sk: String,
    #[serde(flatten)]
    outcome: ThreadOutcome,
    #[serde(default)]
    v: u32,
}

/// An item of a thread.
trait OfThread: DeserializeOwned {
    fn sort_key(&self) -> String;
}

impl OfThread for OutcomeItem {
    fn sort_key(&self) -> String {
        self.sk.clone()
    }
}

impl OfThread for PullRequestItem {
    fn sort_key(&self) -> String {
        self.sort_key()
    }
}

impl Transaction {
    /// Begins the outcome of a thread with its first work order.
    pub(crate) fn begin_outcome(
        self,
        org: &OrgId,
        first: &WorkOrder,
    ) -> Result<Transaction, Error> {
        let outcome = ThreadOutcome {
            created_at: Some(first.created_at),
            tenant_context: first.terms.tenant_context.clone(),
            attribution: first.attribution(),
            credits_micro: 0,
            later_micro: 0,
        };
        let item = OutcomeItem {
            sk: String::new(),
            outcome,
            v: SCHEMA_VERSION,
        };
        self.put(&Key::outcome(org, &first.id), &item)
    }

    /// Counts what is booked by a record in the outcome of its thread.
    pub(crate) fn count_in_outcome(self, org: &OrgId, record: &CostRecord) -> Transaction {
        let attribution = record.attribution.as_ref();
        let thread = attribution.and_then(|attribution| attribution.thread_id.as_ref());
        let booked = record.booked().micro();
        let Some(thread) = thread.filter(|_| booked != 0) else {
            return self;
        };
        let counter = match OutcomeCounter::of(thread, record) {
            OutcomeCounter::InTime => "creditsMicro",
            OutcomeCounter::Later => "laterMicro",
        };
        // The item of a thread from before there were outcomes begins here, without its creation.
        let counted = Change::new().add(counter, booked);
        self.update(&Key::outcome(org, thread), counted)
    }
}

impl Store {
    /// All credits of a thread so far.
    pub(crate) async fn credits_of_thread(
        &self,
        org: &OrgId,
        thread: &WorkOrderId,
    ) -> Result<MicroCredits, Error> {
        let item: Option<OutcomeItem> = self.get(&Key::outcome(org, thread)).await?;
        Ok(item.map_or(MicroCredits::ZERO, |item| item.outcome.credits()))
    }

    /// The outcomes of the threads that were created in a period.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are too many threads, or internal.
    pub async fn outcomes(
        &self,
        org: &OrgId,
        span: Span,
        by: Option<&OutcomeDimension>,
        now: Timestamp,
    ) -> Result<OutcomeReport, Error> {
        if span.is_empty() {
            return Ok(OutcomeReport::of(&[], by, now));
        }
        let (threads, pulls) = tokio::try_join!(
            self.of_threads::<OutcomeItem>(outcomes(org), span),
            self.of_threads::<PullRequestItem>(pull_requests(org), span),
        )?;
        let mut pulls_of: HashMap<String, Vec<KnownPullRequest>> = HashMap::new();
        for item in pulls {
            let pull = item.pull_request;
            if let Some(state) = pull.known_at(now) {
                pulls_of
                    .entry(pull.thread_id.to_string())
                    .or_default()
                    .push(state);
            }
        }
        let whole = threads
            .into_iter()
            .filter(|item| item.outcome.created_at.is_some());
        let joined = whole.map(|item| {
            let pulls = pulls_of.remove(&item.sk).unwrap_or_default();
            (item.outcome, pulls)
        });
        let joined: Vec<_> = joined.collect();
        Ok(OutcomeReport::of(&joined, by, now))
    }

    /// The items of a partition whose sort keys begin with the ids of threads of a period.
    async fn of_threads<T: OfThread>(
        &self,
        partition: Partition,
        span: Span,
    ) -> Result<Vec<T>, Error> {
        let first = span.from.unwrap_or(Timestamp::from_epoch_ms(0));
        let last = span.until.unwrap_or(Timestamp::from_epoch_ms(i64::MAX));
        let low = WorkOrderId::new(first, 0);
        let high = WorkOrderId::new(last.plus_ms(-1), u128::MAX);
        let (kind, pk) = (partition.kind, partition.pk.clone());
        let slice = Slice::of_partition(partition)
            .between(low.as_str(), format!("{high}~"))
            .limit(MAX_READ);
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = self.slice::<T>(slice.clone().after(after)).await?;
            let last = page.items.last().filter(|_| page.has_more);
            let next = last.map(|item| Key::of(kind, pk.clone(), item.sort_key()).to_item());
            all.extend(page.items);
            let Some(next) = next else {
                return Ok(all);
            };
            after = Some(next);
            if all.len() > MAX_THREADS {
                return Err(Error::invalid(
                    "from",
                    "begins a period of too many threads: ask for a shorter one",
                ));
            }
        }
    }
}
