//! Changes of a trigger: it creates work orders, is refused, and pauses.

use super::{PAUSE_AFTER, Trigger, TriggerPauseReason};
use crate::Timestamp;

const HOUR_MS: i64 = 3_600_000;

impl Trigger {
    /// True if it judges deliveries.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.content.enabled && self.paused.is_none()
    }

    /// True if it may not create another work order within this hour.
    #[must_use]
    pub fn is_at_hourly_limit(&self, now: Timestamp) -> bool {
        let recent = self.recent.iter().filter(|time| is_recent(**time, now));
        recent.count() >= usize::try_from(self.content.limits.per_hour).unwrap_or(usize::MAX)
    }

    /// The trigger after it has created a work order.
    #[must_use]
    pub fn fired(mut self, now: Timestamp) -> Trigger {
        self.recent.retain(|time| is_recent(*time, now));
        self.recent.push(now);
        Trigger {
            last_fired_at: Some(now),
            consecutive_refusals: 0,
            ..self
        }
    }

    /// The trigger after a create of it was refused.
    #[must_use]
    pub fn refused(mut self) -> Trigger {
        self.consecutive_refusals += 1;
        if self.consecutive_refusals >= PAUSE_AFTER && self.paused.is_none() {
            return self.paused_for(TriggerPauseReason::Refusals);
        }
        self
    }

    /// The trigger paused.
    #[must_use]
    pub fn paused_for(self, reason: TriggerPauseReason) -> Trigger {
        Trigger {
            paused: Some(reason),
            ..self
        }
    }
}

fn is_recent(time: Timestamp, now: Timestamp) -> bool {
    now.ms_since(time) < HOUR_MS
}
