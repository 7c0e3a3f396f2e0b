//! Usage over a period: the sums of its whole days and the records of the remainders at its ends,
//! all read in parallel. Usage of a run or of a work order is read from its runs alone.

use awo_domain::span::Span;
use awo_domain::time::DAY_MS;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};

use crate::Store;
use crate::costs::sums::{DayItem, Sums, UsageSummary};
use crate::engine::item::runs_of;
use crate::engine::item_kind::Table;
use crate::engine::key::{agains, days, usage_records};
use crate::engine::list::Slice;
use crate::engine::schema::BY_PARENT;
use crate::runs::Run;
use crate::usage::{Again, UsageRecord};

/// Before and behind all sort keys that begin with a time.
const EVER: (&str, &str) = ("0", ":");

/// Which runs to sum up.
#[derive(Debug, Clone, Default)]
pub struct UsageFilter {
    /// One run.
    pub run_id: Option<RunId>,
    /// Those of a work order.
    pub work_order_id: Option<WorkOrderId>,
    /// Those that used a model, and only what they used of it.
    pub model: Option<String>,
    /// Those completed in a period.
    pub span: Span,
}

impl Store {
    /// What was used by runs that are over and settled.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn usage_summary(
        &self,
        org: &OrgId,
        filter: &UsageFilter,
    ) -> Result<UsageSummary, Error> {
        let runs = match (&filter.run_id, &filter.work_order_id) {
            (None, None) => return self.usage_of_all(org, filter).await,
            (Some(id), _) => self.run(org, id).await?.into_iter().collect(),
            (None, Some(id)) => self.runs_of_work_order(org, id).await?,
        };
        Ok(filter.summary_of(&runs))
    }

    /// All runs of a work order, as an index shows them.
    pub(crate) async fn runs_of_work_order(
        &self,
        org: &OrgId,
        id: &WorkOrderId,
    ) -> Result<Vec<Run>, Error> {
        let partition = runs_of(org, id);
        let slice = Slice::of_index(Table::Work, BY_PARENT, "parentKey", partition);
        self.all(Some(slice)).await
    }

    async fn usage_of_all(&self, org: &OrgId, filter: &UsageFilter) -> Result<UsageSummary, Error> {
        let parts = filter.span.parts();
        let [before, after] = parts
            .edges
            .map(|edge| edge.map(|span| self.records(org, span)));
        let whole = parts.days.map(|span| self.days(org, span));
        let again = parts.days.map(|span| {
            let slice = Slice::of_partition(agains(org));
            during(slice, span)
        });
        let read = tokio::try_join!(
            self.all::<UsageRecord>(before),
            self.all::<UsageRecord>(after),
            self.all::<DayItem>(whole),
            self.all::<Again>(again),
            self.ends(org, filter),
        );
        let (before, after, whole, again, ends) = read?;
        let mut sums = Sums::new(filter.span, filter.model.as_deref());
        for record in before.iter().chain(&after) {
            sums.add_record(record);
        }
        whole.iter().for_each(|day| sums.add_day(day));
        again.iter().for_each(|again| sums.add_again(again));
        let mut summary = sums.summary();
        (summary.first, summary.last) = match &filter.model {
            None => ends,
            Some(model) => {
                self.ends_of_model(org, filter.span, model, &summary)
                    .await?
            }
        };
        Ok(summary)
    }

    /// The first completion of a period without a start and the last of one without an end.
    async fn ends(
        &self,
        org: &OrgId,
        filter: &UsageFilter,
    ) -> Result<(Option<Timestamp>, Option<Timestamp>), Error> {
        let all = filter
            .model
            .is_none()
            .then(|| self.records(org, filter.span).limit(1));
        let first = all.clone().filter(|_| filter.span.from.is_none());
        let last = all.filter(|_| filter.span.until.is_none());
        tokio::try_join!(
            self.completion(first),
            self.completion(last.map(Slice::newest_first))
        )
    }

    async fn completion(&self, slice: Option<Slice>) -> Result<Option<Timestamp>, Error> {
        let Some(slice) = slice else {
            return Ok(None);
        };
        let page = self.slice::<UsageRecord>(slice).await?;
        Ok(page.items.first().map(|record| record.completed_at))
    }

    /// The same of the runs that used a model: the sums know on which days they were.
    async fn ends_of_model(
        &self,
        org: &OrgId,
        span: Span,
        model: &str,
        summary: &UsageSummary,
    ) -> Result<(Option<Timestamp>, Option<Timestamp>), Error> {
        let first = summary.days.keys().next().filter(|_| span.from.is_none());
        let last = summary.days.keys().last().filter(|_| span.until.is_none());
        let of_day = |day: &String| {
            let from = Timestamp::parse_bound(day).ok()?;
            let until = Some(from.plus_ms(DAY_MS));
            let from = Some(from);
            Some(self.records(org, Span { from, until }))
        };
        let (first, last) = tokio::try_join!(
            self.all::<UsageRecord>(first.and_then(of_day)),
            self.all::<UsageRecord>(last.and_then(of_day)),
        )?;
        let used = |record: &&UsageRecord| {
            let in_it = span.contains(record.completed_at);
            in_it && record.usage.iter().any(|one| one.usage.model == model)
        };
        Ok((
            first.iter().filter(used).map(|r| r.completed_at).min(),
            last.iter().filter(used).map(|r| r.completed_at).max(),
        ))
    }

    /// The records of a period, oldest first.
    fn records(&self, org: &OrgId, span: Span) -> Slice {
        let slice = Slice::of_partition(usage_records(org));
        during(slice, span)
    }

    /// The sums of whole days.
    fn days(&self, org: &OrgId, span: Span) -> Slice {
        let low = span.from.map_or(EVER.0.to_owned(), Timestamp::day);
        // Of the last day, everything that goes on with `#`.
        let high = span.until.map_or(EVER.1.to_owned(), |until| {
            format!("{}$", until.plus_ms(-1).day())
        });
        Slice::of_partition(days(org)).between(low, high)
    }

    async fn all<T: serde::de::DeserializeOwned>(
        &self,
        slice: Option<Slice>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        if let Some(slice) = slice {
            self.each(&slice, |item| all.push(item)).await?;
        }
        Ok(all)
    }
}

/// Only what was completed in a period: its sort key goes on after the time.
fn during(slice: Slice, span: Span) -> Slice {
    if span.is_empty() {
        return slice.between(EVER.0, EVER.0);
    }
    let text = |at: Option<Timestamp>, open: &str| at.map_or(open.to_owned(), |at| at.to_string());
    slice.between(text(span.from, EVER.0), text(span.until, EVER.1))
}

impl UsageFilter {
    /// The summary of a run, or of the runs of one work order.
    fn summary_of(&self, runs: &[Run]) -> UsageSummary {
        let mut sums = Sums::new(self.span, self.model.as_deref());
        let (mut first, mut last) = (None::<Timestamp>, None::<Timestamp>);
        for run in runs.iter().filter(|run| self.is_of_work_order(run)) {
            let counts = run.settled_at.and(run.started_at);
            let Some(completed_at) = counts.and(run.completed_at) else {
                continue;
            };
            let record = UsageRecord::of(run, &run.usage, completed_at);
            if sums.add_record(&record) {
                first = Some(first.map_or(completed_at, |at| at.min(completed_at)));
                last = Some(last.map_or(completed_at, |at| at.max(completed_at)));
            }
        }
        let summary = sums.summary();
        UsageSummary {
            work_orders: summary.runs().min(1),
            first: first.filter(|_| self.span.from.is_none()),
            last: last.filter(|_| self.span.until.is_none()),
            ..summary
        }
    }

    fn is_of_work_order(&self, run: &Run) -> bool {
        let wanted = self.work_order_id.as_ref();
        wanted.is_none_or(|id| *id == run.work_order_id)
    }
}
