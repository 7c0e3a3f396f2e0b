//! Outcomes of threads: their pull requests, what became of these, and what all attempts cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cost::Attribution;
use crate::cost::record::{CostRecord, NONE};
use crate::money::MicroCredits;
use crate::pull_request::{KnownPullRequest, PullRequestStatus};
use crate::span::Span;
use crate::statement::Month;
use crate::work_order::TenantContext;
use crate::{Timestamp, WorkOrderId};

const HOUR_MS: i64 = 3_600_000;
/// Millionths, in which rates and hours are rounded.
const MILLION: i64 = 1_000_000;

/// A thread, as outcomes count it. What is booked for its runs until the month of its first creation closes is
/// counted apart from what is booked later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadOutcome {
    /// Time of the first creation; none for a thread from before outcomes were counted, of which only
    /// later bookings are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The client's customer, of the first work order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_context: Option<TenantContext>,
    /// The other dimensions, of the first work order.
    #[serde(default)]
    pub attribution: Attribution,
    /// Deductions less refunds until the month closed, in micro-credits.
    #[serde(default)]
    pub credits_micro: i64,
    /// Deductions less refunds after that.
    #[serde(default)]
    pub later_micro: i64,
}

/// The counter of a thread's outcome that a booking changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeCounter {
    /// Bookings until the month closed.
    InTime,
    /// Bookings after that.
    Later,
}

impl OutcomeCounter {
    /// The counter of a record of a thread's cost.
    #[must_use]
    pub fn of(thread: &WorkOrderId, record: &CostRecord) -> OutcomeCounter {
        if record.at < closes_at(thread.made_at()) {
            OutcomeCounter::InTime
        } else {
            OutcomeCounter::Later
        }
    }
}

/// The close of the month of a thread's first creation.
fn closes_at(created_at: Timestamp) -> Timestamp {
    Month::of(created_at).closes_at()
}

/// The time until which a report of threads that were created in a period counts: now, or when the last month of
/// the period closed.
#[must_use]
pub fn as_of(span: Span, now: Timestamp) -> Timestamp {
    let last = span.until.unwrap_or(now).plus_ms(-1);
    now.min(closes_at(last))
}

impl ThreadOutcome {
    /// All that is booked for its runs.
    #[must_use]
    pub fn credits(&self) -> MicroCredits {
        MicroCredits::from_micro(self.credits_micro.saturating_add(self.later_micro))
    }

    /// The credits that are booked; of a closed month, those that were booked at its close.
    #[must_use]
    pub fn known_credits(&self, now: Timestamp) -> MicroCredits {
        let is_closed = self
            .created_at
            .is_some_and(|created_at| closes_at(created_at) <= now);
        if is_closed {
            MicroCredits::from_micro(self.credits_micro)
        } else {
            self.credits()
        }
    }
}

/// The dimensions of outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutcomeDimension {
    /// The agent's type.
    Agent,
    /// The profile.
    Harness,
    /// The repository.
    Repository,
    /// The tenant.
    Tenant,
    /// The trigger or the schedule that created the thread.
    Trigger,
    /// A cost label.
    Label(String),
}

impl OutcomeDimension {
    /// The dimensions that are no labels.
    pub const FIXED: [OutcomeDimension; 5] = [
        OutcomeDimension::Agent,
        OutcomeDimension::Harness,
        OutcomeDimension::Repository,
        OutcomeDimension::Tenant,
        OutcomeDimension::Trigger,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match self {
            OutcomeDimension::Agent => "agent",
            OutcomeDimension::Harness => "harness",
            OutcomeDimension::Repository => "repository",
            OutcomeDimension::Tenant => "tenant",
            OutcomeDimension::Trigger => "trigger",
            OutcomeDimension::Label(label) => return format!("label:{label}"),
        };
        name.to_owned()
    }

    /// The dimension of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<OutcomeDimension> {
        match name.strip_prefix("label:") {
            Some("") => None,
            Some(label) => Some(OutcomeDimension::Label(label.to_owned())),
            None => (OutcomeDimension::FIXED.into_iter()).find(|one| one.name() == name),
        }
    }

    fn value_of(&self, thread: &ThreadOutcome) -> Option<String> {
        let attribution = &thread.attribution;
        match self {
            OutcomeDimension::Agent => Some(attribution.agent.clone()),
            OutcomeDimension::Harness => Some(attribution.harness.clone()),
            OutcomeDimension::Repository => Some(attribution.repository.clone()),
            OutcomeDimension::Tenant => {
                let tenant = thread.tenant_context.as_ref();
                tenant.map(|tenant| tenant.tenant_id.clone())
            }
            OutcomeDimension::Trigger => {
                // The id of a trigger or a schedule stands as the key.
                let is_automation = |id: &&String| id.starts_with("trg_") || id.starts_with("sch_");
                attribution.key_id.as_ref().filter(is_automation).cloned()
            }
            OutcomeDimension::Label(label) => attribution.labels.get(label).cloned(),
        }
    }
}

/// Counts of a group of threads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutcomeCounts {
    /// Threads.
    pub threads: u64,
    /// Threads with a pull request.
    pub with_pull_request: u64,
    /// Pull requests that are open.
    pub open: u64,
    /// Pull requests that were merged.
    pub merged: u64,
    /// Pull requests that were closed without a merge.
    pub closed: u64,
    /// Merged pull requests whose merged head is the last verified commit.
    pub merged_as_verified: u64,
    /// Deductions less refunds of all runs of the threads.
    pub credits: MicroCredits,
    /// From the first creation of the thread to each merge, in milliseconds.
    until_merge_ms: Vec<i64>,
}

impl OutcomeCounts {
    fn add(&mut self, thread: &ThreadOutcome, pulls: &[KnownPullRequest], now: Timestamp) {
        self.threads += 1;
        self.with_pull_request += u64::from(!pulls.is_empty());
        self.credits = self.credits.plus(thread.known_credits(now));
        for pull in pulls {
            match pull.state {
                PullRequestStatus::Open => self.open += 1,
                PullRequestStatus::Closed => self.closed += 1,
                PullRequestStatus::Merged => self.merged += 1,
            }
            self.merged_as_verified += u64::from(pull.merged_as_verified);
            if let Some((created_at, merged_at)) = thread.created_at.zip(pull.merged_at) {
                self.until_merge_ms
                    .push(merged_at.ms_since(created_at).max(0));
            }
        }
    }

    /// Merged ÷ (merged + closed), to a millionth; none without either.
    #[must_use]
    pub fn merge_rate(&self) -> Option<f64> {
        let ended = self.merged + self.closed;
        (ended > 0).then(|| {
            millionths(rounded(
                i128::from(self.merged) * i128::from(MILLION),
                ended,
            ))
        })
    }

    /// All credits ÷ merged, to a micro-credit; none without a merge.
    #[must_use]
    pub fn credits_per_merged(&self) -> Option<MicroCredits> {
        let micro = i128::from(self.credits.micro());
        (self.merged > 0).then(|| MicroCredits::from_micro(rounded(micro, self.merged)))
    }

    /// The median time from the first creation of a thread to the merge, in hours; none without a merge.
    #[must_use]
    pub fn median_hours_to_merge(&self) -> Option<f64> {
        let mut times = self.until_merge_ms.clone();
        times.sort_unstable();
        let upper = *times.get(times.len() / 2)?;
        let lower = *times.get(times.len().checked_sub(1)? / 2)?;
        let doubled = i128::from(lower) + i128::from(upper);
        let hour = 2 * HOUR_MS.unsigned_abs();
        Some(millionths(rounded(doubled * i128::from(MILLION), hour)))
    }
}

/// The quotient, rounded to the nearest number.
fn rounded(dividend: i128, divisor: u64) -> i64 {
    let divisor = i128::from(divisor.max(1));
    let quotient = (2 * dividend + divisor).div_euclid(2 * divisor);
    i64::try_from(quotient).unwrap_or(i64::MAX)
}

fn millionths(number: i64) -> f64 {
    MicroCredits::from_micro(number).to_decimal()
}

/// A row of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeRow {
    /// The value by which its threads are grouped, by the name of the dimension; empty without groups.
    pub group: BTreeMap<String, String>,
    /// The counts.
    pub counts: OutcomeCounts,
}

/// A report of outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeReport {
    /// By value.
    pub rows: Vec<OutcomeRow>,
    /// The counts of all threads.
    pub totals: OutcomeCounts,
}

impl OutcomeReport {
    /// The report of these threads with their pull requests as they are known.
    #[must_use]
    pub fn of(
        threads: &[(ThreadOutcome, Vec<KnownPullRequest>)],
        by: Option<&OutcomeDimension>,
        now: Timestamp,
    ) -> OutcomeReport {
        let mut groups: BTreeMap<BTreeMap<String, String>, OutcomeCounts> = BTreeMap::new();
        let mut totals = OutcomeCounts::default();
        for (thread, pulls) in threads {
            let group = by.map(|by| {
                let value = by.value_of(thread);
                (by.name(), value.unwrap_or_else(|| NONE.to_owned()))
            });
            let group = group.into_iter().collect();
            groups.entry(group).or_default().add(thread, pulls, now);
            totals.add(thread, pulls, now);
        }
        let rows = groups.into_iter();
        OutcomeReport {
            rows: rows
                .map(|(group, counts)| OutcomeRow { group, counts })
                .collect(),
            totals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn thread(repository: &str, credits_micro: i64) -> ThreadOutcome {
        ThreadOutcome {
            created_at: Some(time("2026-11-20T08:00:00Z")),
            tenant_context: None,
            attribution: Attribution {
                repository: repository.to_owned(),
                ..Attribution::default()
            },
            credits_micro,
            later_micro: 5,
        }
    }

    fn pull(state: PullRequestStatus, merged_at: Option<&str>) -> KnownPullRequest {
        KnownPullRequest {
            state,
            merged_at: merged_at.map(time),
            merged_as_verified: merged_at.is_some(),
        }
    }

    #[test]
    fn failed_attempts_are_in_the_cost_of_what_was_merged() {
        let merged = pull(PullRequestStatus::Merged, Some("2026-11-20T10:00:00Z"));
        let later = pull(PullRequestStatus::Merged, Some("2026-11-20T13:00:00Z"));
        let closed = pull(PullRequestStatus::Closed, None);
        let open = pull(PullRequestStatus::Open, None);
        let threads = [
            (thread("a", 1_000_000), vec![merged]),
            (thread("a", 2_000_000), vec![]),
            (thread("a", 1), vec![closed, later]),
            (thread("b", 7), vec![open]),
        ];
        let now = time("2026-11-30T00:00:00Z");
        let by = OutcomeDimension::Repository;
        let report = OutcomeReport::of(&threads, Some(&by), now);
        let [a, b] = report.rows.as_slice() else {
            panic!("{report:?}")
        };
        assert_eq!(a.group, [("repository".to_owned(), "a".to_owned())].into());
        let a = &a.counts;
        assert_eq!((a.threads, a.with_pull_request), (3, 2));
        assert_eq!((a.open, a.merged, a.closed), (0, 2, 1));
        assert_eq!(a.merged_as_verified, 2);
        assert_eq!(a.merge_rate(), Some(0.666_667));
        assert_eq!(a.credits.micro(), 3_000_016);
        assert_eq!(a.credits_per_merged().unwrap().micro(), 1_500_008);
        assert_eq!(a.median_hours_to_merge(), Some(3.5));
        let b = &b.counts;
        assert_eq!((b.merge_rate(), b.credits_per_merged()), (None, None));
        assert_eq!(b.median_hours_to_merge(), None);
        assert_eq!(report.totals.credits.micro(), 3_000_028);
    }

    #[test]
    fn what_is_booked_after_a_month_closed_is_not_in_it() {
        let thread = thread("a", 10);
        let closed = time("2026-12-03T00:00:00Z");
        assert_eq!(thread.known_credits(closed.plus_ms(-1)).micro(), 15);
        assert_eq!(thread.known_credits(closed).micro(), 10);
        let november = Month::of(time("2026-11-20T08:00:00Z")).span();
        assert_eq!(as_of(november, closed.plus_ms(9)), closed);
        assert_eq!(as_of(november, closed.plus_ms(-9)), closed.plus_ms(-9));
    }

    #[test]
    fn a_trigger_is_an_automation_and_no_key() {
        let with = |key: &str| {
            let mut thread = thread("a", 1);
            thread.attribution.key_id = Some(key.to_owned());
            OutcomeDimension::Trigger.value_of(&thread)
        };
        assert_eq!(with("trg_1").as_deref(), Some("trg_1"));
        assert_eq!(with("sch_1").as_deref(), Some("sch_1"));
        assert_eq!(with("key_1"), None);
        for name in ["model", "label:", "tenantUser", ""] {
            assert_eq!(OutcomeDimension::parse(name), None, "{name}");
        }
        let label = OutcomeDimension::Label("team".to_owned());
        assert_eq!(OutcomeDimension::parse("label:team"), Some(label));
    }
}
