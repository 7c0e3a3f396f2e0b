//! The state of a trigger for one subject: its attempts, the window in which deliveries gather, and the thread that
//! it has made for the subject.

use serde::{Deserialize, Serialize};

use super::{MAX_SETTLE_S, TriggerContent};
use crate::{InboxDeliveryId, Timestamp, WorkOrderId};

/// Most deliveries of one window whose texts count.
pub const MAX_GATHERED: usize = 50;
/// Time for which the state of a subject is kept after its last change, in milliseconds.
pub const SUBJECTS_KEPT_MS: i64 = 90 * 24 * 3_600_000;

/// The time in which deliveries about one subject gather.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettleWindow {
    /// The delivery that opened it, which creates the work order at its end.
    pub first: InboxDeliveryId,
    /// The deliveries that joined it.
    #[serde(default)]
    pub joined: Vec<InboxDeliveryId>,
    /// The time at which it ends, unless another delivery moves it.
    pub ends_at: Timestamp,
    /// The time beyond which no delivery moves its end.
    pub latest_at: Timestamp,
}

/// The state of a trigger for one subject.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectState {
    /// Number of work orders since a person last did something.
    pub attempts: u32,
    /// The window in which deliveries gather.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<SettleWindow>,
    /// The first work order of the thread that the trigger made for the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<WorkOrderId>,
    /// True if the comment of the thread says that there are no further attempts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_shown: bool,
}

/// A delivery's place in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settling {
    /// No window: the delivery is judged at once.
    Unsettled,
    /// The delivery waits for the end of the window that it opened.
    Waits(Timestamp),
    /// The delivery is part of another one's window.
    Joins,
    /// The window that the delivery opened has ended, with these deliveries in it.
    Ended(Vec<InboxDeliveryId>),
}

impl SubjectState {
    /// True if no further attempt is allowed.
    #[must_use]
    pub fn is_at_limit(&self, content: &TriggerContent) -> bool {
        self.attempts >= content.limits.per_subject
    }

    /// The state after a person did something.
    #[must_use]
    pub fn touched(self) -> SubjectState {
        SubjectState {
            attempts: 0,
            limit_shown: false,
            ..self
        }
    }

    /// The state after a work order of this thread was created, or of none that the trigger made.
    #[must_use]
    pub fn attempted(self, thread_id: Option<WorkOrderId>) -> SubjectState {
        SubjectState {
            attempts: self.attempts + 1,
            window: None,
            thread_id: thread_id.or(self.thread_id),
            limit_shown: false,
        }
    }

    /// The place of a delivery in the window of the subject, and the state afterwards.
    #[must_use]
    pub fn settled(
        self,
        content: &TriggerContent,
        delivery: &InboxDeliveryId,
        now: Timestamp,
    ) -> (SubjectState, Settling) {
        let window_ms = i64::from(content.settle_seconds) * 1_000;
        let Some(window) = self.window.clone() else {
            if window_ms == 0 {
                return (self, Settling::Unsettled);
            }
            let window = SettleWindow {
                first: delivery.clone(),
                joined: Vec::new(),
                ends_at: now.plus_ms(window_ms),
                latest_at: now.plus_ms(i64::from(MAX_SETTLE_S) * 1_000),
            };
            let waits = Settling::Waits(window.ends_at);
            return (self.with(window), waits);
        };
        if window.first == *delivery {
            let is_over = window.ends_at <= now;
            let place = if is_over {
                Settling::Ended(window.joined)
            } else {
                Settling::Waits(window.ends_at)
            };
            return (self, place);
        }
        if window.joined.contains(delivery) || window.joined.len() >= MAX_GATHERED {
            return (self, Settling::Joins);
        }
        let mut joined = window.joined.clone();
        joined.push(delivery.clone());
        let moved = now.plus_ms(window_ms).min(window.latest_at);
        let ends_at = window.ends_at.max(moved);
        let window = SettleWindow {
            joined,
            ends_at,
            ..window
        };
        (self.with(window), Settling::Joins)
    }

    fn with(self, window: SettleWindow) -> SubjectState {
        SubjectState {
            window: Some(window),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::tests::trigger;

    fn time(seconds: i64) -> Timestamp {
        Timestamp::from_epoch_ms(1_800_000_000_000 + seconds * 1_000)
    }

    fn delivery(number: u128) -> InboxDeliveryId {
        InboxDeliveryId::new(time(0), number)
    }

    #[test]
    fn deliveries_gather_until_none_came_for_the_window_or_ten_minutes() {
        let mut content = trigger(20).content;
        content.settle_seconds = 60;
        let (state, place) = SubjectState::default().settled(&content, &delivery(1), time(0));
        assert_eq!(place, Settling::Waits(time(60)));
        let (mut state, place) = state.settled(&content, &delivery(2), time(50));
        assert_eq!(place, Settling::Joins);
        let (same, place) = state.clone().settled(&content, &delivery(1), time(60));
        assert_eq!((&same, place), (&state, Settling::Waits(time(110))));
        for number in 3..20 {
            let now = time(50 * i64::try_from(number).unwrap());
            (state, _) = state.settled(&content, &delivery(number), now);
        }
        let (state, place) = state.settled(&content, &delivery(1), time(600));
        let Settling::Ended(joined) = place else {
            panic!("{place:?}")
        };
        assert_eq!(joined.len(), 18);
        assert_eq!(state.attempted(None).window, None);
    }

    #[test]
    fn a_trigger_without_a_window_judges_at_once() {
        let content = trigger(20).content;
        let (state, place) = SubjectState::default().settled(&content, &delivery(1), time(0));
        assert_eq!(
            (state, place),
            (SubjectState::default(), Settling::Unsettled)
        );
    }

    #[test]
    fn attempts_are_bounded_until_a_person_does_something() {
        let mut content = trigger(20).content;
        content.limits.per_subject = 2;
        let mut state = SubjectState::default();
        for _ in 0..2 {
            assert!(!state.is_at_limit(&content));
            state = state.attempted(None);
        }
        assert!(state.is_at_limit(&content));
        assert!(!state.touched().is_at_limit(&content));
    }
}
