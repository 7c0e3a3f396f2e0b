//! Pull requests that runs of a thread delivered to, as far as they are known.
//!
//! A report of its forge changes it, unless the report is older than the one before. A merge is final. What was
//! known when the month of the thread closed stays beside what is known now.

use serde::{Deserialize, Serialize};

use super::{PullRequestState, PullRequestStatus, PullRequestUrl};
use crate::statement::Month;
use crate::time::DAY_MS;
use crate::webhook::EventType;
use crate::{Timestamp, WorkOrderId};

/// Time between two questions to the forge about a pull request that no inbox reports.
pub const ASKED_EACH_MS: i64 = 6 * 3_600_000;
/// Time from the last delivery until the forge is no longer asked.
pub const ASKED_FOR_MS: i64 = 30 * DAY_MS;

/// A pull request of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullRequest {
    /// The thread.
    pub thread_id: WorkOrderId,
    /// The turn that delivered to it last.
    pub work_order_id: WorkOrderId,
    /// Address of its page.
    pub url: PullRequestUrl,
    /// The number in the repository.
    pub number: u64,
    /// The stage.
    pub state: PullRequestStatus,
    /// Time of the merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<Timestamp>,
    /// Time at which it was closed without a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// Commit by which it is in its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_commit: Option<String>,
    /// Newest commit of its branch, as the forge reported it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The last verified commit that a run delivered to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_commit: Option<String>,
    /// Time at the forge of the last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<Timestamp>,
    /// The forge's mark of its last answer, for a conditional request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Time of the first delivery.
    pub first_delivered_at: Timestamp,
    /// Time of the last delivery.
    pub delivered_at: Timestamp,
    /// The state that was known when the month of the thread closed, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_close: Option<KnownPullRequest>,
}

/// The part of a pull request that outcomes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownPullRequest {
    /// The stage.
    pub state: PullRequestStatus,
    /// Time of the merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<Timestamp>,
    /// True if the merged head is the last verified commit.
    pub merged_as_verified: bool,
}

impl PullRequest {
    /// The close of the month in which the thread began.
    fn closes_at(&self) -> Timestamp {
        Month::of(self.thread_id.made_at()).closes_at()
    }

    /// True if it is merged, and the merged head is the last verified commit.
    #[must_use]
    pub fn merged_as_verified(&self) -> bool {
        let is_verified = self.head.is_some() && self.head == self.verified_commit;
        self.state == PullRequestStatus::Merged && is_verified
    }

    fn known_now(&self) -> KnownPullRequest {
        KnownPullRequest {
            state: self.state,
            merged_at: self.merged_at,
            merged_as_verified: self.merged_as_verified(),
        }
    }

    /// The state that outcomes count at this time: once the month of the thread is closed, the one that was known then;
    /// none if it was not known.
    #[must_use]
    pub fn known_at(&self, now: Timestamp) -> Option<KnownPullRequest> {
        let closes_at = self.closes_at();
        if now < closes_at {
            return Some(self.known_now());
        }
        let was_there = self.first_delivered_at < closes_at;
        was_there.then(|| self.at_close.unwrap_or_else(|| self.known_now()))
    }

    /// The pull request after a report of its forge; none if the report changes nothing.
    #[must_use]
    pub fn reported(&self, report: &PullRequestState, now: Timestamp) -> Option<PullRequest> {
        let is_older = matches!(
            (report.updated_at, self.reported_at),
            (Some(reported), Some(before)) if reported < before
        );
        let is_final = self.state == PullRequestStatus::Merged;
        if is_older || (is_final && report.status != PullRequestStatus::Merged) {
            return None;
        }
        let is_reported = |status| report.status == status;
        let merged_at = report.merged_at.or(self.merged_at).unwrap_or(now);
        let closed_at = report.closed_at.or(self.closed_at).unwrap_or(now);
        let new = PullRequest {
            state: report.status,
            merged_at: is_reported(PullRequestStatus::Merged).then_some(merged_at),
            closed_at: is_reported(PullRequestStatus::Closed).then_some(closed_at),
            merged_commit: (report.merged_commit.clone())
                .or(self.merged_commit.clone())
                .filter(|_| is_reported(PullRequestStatus::Merged)),
            head: report.head.clone().or(self.head.clone()),
            reported_at: report.updated_at.or(self.reported_at),
            ..self.clone()
        };
        let known_at_close = self.at_close.or_else(|| {
            let closes_at = self.closes_at();
            let was_there = closes_at <= now && self.first_delivered_at < closes_at;
            was_there.then(|| self.known_now())
        });
        (new != *self).then_some(PullRequest {
            at_close: known_at_close,
            ..new
        })
    }

    /// The event of the change from what it was before, if there is one for it.
    #[must_use]
    pub fn event_since(&self, before: &PullRequest) -> Option<EventType> {
        match self.state {
            _ if self.state == before.state => None,
            PullRequestStatus::Merged => Some(EventType::PullRequestMerged),
            PullRequestStatus::Closed => Some(EventType::PullRequestClosed),
            PullRequestStatus::Open => None,
        }
    }

    /// The time after `now` at which the forge is asked again; none for a merged one, and for one that had no delivery for
    /// [`ASKED_FOR_MS`].
    #[must_use]
    pub fn asked_again_at(&self, now: Timestamp) -> Option<Timestamp> {
        let is_asked = self.state != PullRequestStatus::Merged
            && now < self.delivered_at.plus_ms(ASKED_FOR_MS);
        is_asked.then(|| now.plus_ms(ASKED_EACH_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn open() -> PullRequest {
        let begun = time("2026-11-20T08:00:00Z");
        let id = WorkOrderId::new(begun, 1);
        PullRequest {
            thread_id: id.clone(),
            work_order_id: id,
            url: PullRequestUrl::parse("https://github.com/a/b/pull/7").unwrap(),
            number: 7,
            state: PullRequestStatus::Open,
            merged_at: None,
            closed_at: None,
            merged_commit: None,
            head: None,
            verified_commit: Some("c1".to_owned()),
            reported_at: None,
            etag: None,
            first_delivered_at: begun,
            delivered_at: begun,
            at_close: None,
        }
    }

    fn report(status: PullRequestStatus, updated_at: &str, head: &str) -> PullRequestState {
        PullRequestState {
            status,
            merged_at: None,
            closed_at: None,
            merged_commit: None,
            head: Some(head.to_owned()),
            updated_at: Some(time(updated_at)),
        }
    }

    #[test]
    fn a_merge_of_the_last_verified_commit_is_merged_as_verified() {
        let now = time("2026-11-21T08:00:00Z");
        for (head, verified) in [("c1", true), ("c2", false)] {
            let merged = report(PullRequestStatus::Merged, "2026-11-21T07:00:00Z", head);
            let merged = open().reported(&merged, now).unwrap();
            assert_eq!(merged.merged_as_verified(), verified);
            assert_eq!(merged.merged_at, Some(now), "the forge named no time");
        }
        let unknown = PullRequest {
            verified_commit: None,
            state: PullRequestStatus::Merged,
            ..open()
        };
        assert!(!unknown.merged_as_verified());
    }

    #[test]
    fn a_report_that_is_older_or_not_new_changes_nothing() {
        let now = time("2026-11-21T08:00:00Z");
        let closed = report(PullRequestStatus::Closed, "2026-11-21T07:00:00Z", "c1");
        let new = open().reported(&closed, now).unwrap();
        assert_eq!(new.event_since(&open()), Some(EventType::PullRequestClosed));
        assert_eq!(new.reported(&closed, now.plus_ms(1)), None);
        let late = report(PullRequestStatus::Open, "2026-11-21T06:00:00Z", "c1");
        assert_eq!(new.reported(&late, now), None);
        let reopened = report(PullRequestStatus::Open, "2026-11-21T07:30:00Z", "c1");
        let reopened = new.reported(&reopened, now).unwrap();
        assert_eq!(reopened.closed_at, None);
        assert_eq!(reopened.event_since(&new), None);
    }

    #[test]
    fn a_merge_is_final() {
        let now = time("2026-11-21T08:00:00Z");
        let merged = report(PullRequestStatus::Merged, "2026-11-21T07:00:00Z", "c1");
        let merged = open().reported(&merged, now).unwrap();
        assert_eq!(
            merged.event_since(&open()),
            Some(EventType::PullRequestMerged)
        );
        assert_eq!(merged.asked_again_at(now), None);
        let open = report(PullRequestStatus::Open, "2026-11-22T07:00:00Z", "c1");
        assert_eq!(merged.reported(&open, now), None);
    }

    #[test]
    fn a_closed_month_shows_what_was_known_when_it_closed() {
        // November closes on the third of December.
        let (before, after) = (time("2026-12-02T23:59:59Z"), time("2026-12-03T00:00:00Z"));
        let merged = report(PullRequestStatus::Merged, "2026-12-02T23:00:00Z", "c1");
        let in_time = open().reported(&merged, before).unwrap();
        let counted = in_time.known_at(after).unwrap();
        assert_eq!(counted.state, PullRequestStatus::Merged);
        let late = open().reported(&merged, after).unwrap();
        assert_eq!(late.state, PullRequestStatus::Merged);
        let counted = late.known_at(after).unwrap();
        assert_eq!(counted.state, PullRequestStatus::Open);
        let unknown = PullRequest {
            first_delivered_at: after,
            ..late
        };
        assert_eq!(unknown.known_at(after), None);
    }

    #[test]
    fn the_forge_is_asked_each_six_hours_for_thirty_days_after_the_last_delivery() {
        let open = open();
        let last = open.delivered_at.plus_ms(ASKED_FOR_MS - 1);
        assert_eq!(open.asked_again_at(last), Some(last.plus_ms(ASKED_EACH_MS)));
        assert_eq!(open.asked_again_at(last.plus_ms(1)), None);
        let closed = PullRequest {
            state: PullRequestStatus::Closed,
            ..open
        };
        assert!(closed.asked_again_at(last).is_some(), "it may be reopened");
    }
}
