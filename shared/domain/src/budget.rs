//! Budgets: limits of a period's spending, enforced by reservation. A run counts in the period in which
//! its credits were reserved, with its hold until it is settled and with its cost from then on.

mod alert;
mod period;
mod scope;

pub use alert::{BUDGET_THRESHOLD, BudgetThresholdData, CREDITS_LOW, CreditsLowData};
pub use period::Period;
pub use scope::{BudgetScope, LabelValue, ScopeParts, Spender};

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::money::MicroCredits;
use crate::{BudgetId, Timestamp};

/// Most budgets of an organization.
pub const MAX_BUDGETS: usize = 50;
/// Longest name of a budget, in characters.
pub const MAX_NAME: usize = 100;
/// Most percentages of a budget at which its organization is alerted.
pub const MAX_ALERTS: usize = 5;
/// The percentages where a client names none.
pub const USUAL_ALERTS: [u8; 3] = [50, 80, 100];

/// The effect on a run that would exceed a budget's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum OnLimit {
    /// It is refused.
    Block,
    /// It waits in the queue until the period turns or the limit rises.
    Wait,
    /// It begins; the organization is alerted.
    Alert,
}

/// Percentages of a limit, in ascending order, each once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertsAt(Vec<u8>);

impl Default for AlertsAt {
    fn default() -> AlertsAt {
        AlertsAt(USUAL_ALERTS.to_vec())
    }
}

impl AlertsAt {
    /// Reads percentages.
    ///
    /// # Errors
    /// What is wrong with them, as a predicate.
    pub fn of(percentages: &[u64]) -> Result<AlertsAt, String> {
        let percent = |of: &u64| u8::try_from(*of).ok().filter(|of| (1..=100).contains(of));
        let read: Option<Vec<u8>> = percentages.iter().map(percent).collect();
        let mut read = read
            .filter(|read| read.len() <= MAX_ALERTS)
            .ok_or_else(|| format!("must be up to {MAX_ALERTS} whole numbers from 1 to 100"))?;
        read.sort_unstable();
        if read.windows(2).any(|two| two[0] == two[1]) {
            Err("must not name a percentage twice".to_owned())
        } else {
            Ok(AlertsAt(read))
        }
    }

    /// The percentages.
    #[must_use]
    pub fn all(&self) -> &[u8] {
        &self.0
    }
}

/// The fields of a budget that a client sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// Its name.
    pub name: String,
    /// Whose runs count.
    pub scope: BudgetScope,
    /// How long it is for.
    pub period: Period,
    /// Most that may be spent and reserved, in micro-credits.
    pub limit_micro: i64,
    /// The effect of the limit.
    pub on_limit: OnLimit,
    /// At which percentages of the limit the organization is alerted.
    pub alerts_at: AlertsAt,
}

/// A budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Its id.
    pub id: BudgetId,
    /// What is set of it.
    #[serde(flatten)]
    pub content: Content,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// What was reserved before does not count: the start of the period in which it was created, or
    /// got another scope or period.
    pub counted_from: Timestamp,
    /// How often it began to count anew.
    pub epoch: u32,
}

/// The amount that counts against a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// What settled runs cost, less what was given back.
    pub spent: MicroCredits,
    /// What open holds reserve.
    pub reserved: MicroCredits,
}

impl Standing {
    /// Both.
    #[must_use]
    pub fn committed(self) -> MicroCredits {
        self.spent.plus(self.reserved)
    }
}

impl Budget {
    /// A new one.
    #[must_use]
    pub fn new(id: BudgetId, content: Content, now: Timestamp) -> Budget {
        Budget {
            id,
            counted_from: content.period.start(now).unwrap_or(now),
            content,
            created_at: now,
            updated_at: None,
            epoch: 0,
        }
    }

    /// The same with other content. It begins to count anew if it is about other runs.
    #[must_use]
    pub fn changed(self, content: Content, now: Timestamp) -> Budget {
        let old = &self.content;
        let same = (&old.scope, old.period) == (&content.scope, content.period);
        let (counted_from, epoch) = if same {
            (self.counted_from, self.epoch)
        } else {
            (content.period.start(now).unwrap_or(now), self.epoch + 1)
        };
        Budget {
            content,
            updated_at: Some(now),
            counted_from,
            epoch,
            ..self
        }
    }

    /// The start of the period in which a moment is.
    #[must_use]
    pub fn period_start(&self, at: Timestamp) -> Timestamp {
        self.content.period.start(at).unwrap_or(self.counted_from)
    }

    /// The first moment after the period in which a moment is, if it ends.
    #[must_use]
    pub fn period_end(&self, at: Timestamp) -> Option<Timestamp> {
        self.content.period.end(at)
    }

    /// The start of the period in which a run counts whose credits were reserved then; none if it
    /// does not count.
    #[must_use]
    pub fn counts(&self, of: Spender<'_>, reserved_at: Timestamp) -> Option<Timestamp> {
        let counts = reserved_at >= self.counted_from && self.content.scope.includes(of);
        counts.then(|| self.period_start(reserved_at))
    }

    /// What is left of the limit; nothing of one that is passed.
    #[must_use]
    pub fn remaining(&self, standing: Standing) -> MicroCredits {
        let limit = MicroCredits::from_micro(self.content.limit_micro);
        limit.minus(standing.committed()).max(MicroCredits::ZERO)
    }

    /// The percentages of the limit that are reached.
    pub fn reached(&self, standing: Standing) -> impl Iterator<Item = u8> + '_ {
        let committed = i128::from(standing.committed().micro()) * 100;
        let limit = i128::from(self.content.limit_micro);
        let all = self.content.alerts_at.all().iter().copied();
        all.filter(move |percent| committed >= limit * i128::from(*percent))
    }

    /// What will be spent at the end of the period if the rest of it goes on as it went so far; what
    /// is spent and reserved, where it has no end. The first hour counts as a whole one.
    #[must_use]
    pub fn forecast(&self, standing: Standing, now: Timestamp) -> MicroCredits {
        const LEAST_MS: i64 = 3_600_000;
        let Some(end) = self.period_end(now) else {
            return standing.committed();
        };
        let start = self.period_start(now);
        let whole = end.ms_since(start);
        let past = now.ms_since(start).clamp(LEAST_MS.min(whole), whole.max(1));
        let spent = i128::from(standing.spent.micro()) * i128::from(whole) / i128::from(past);
        let spent = MicroCredits::from_micro(i64::try_from(spent).unwrap_or(i64::MAX));
        spent.max(standing.committed())
    }
}

#[cfg(test)]
mod tests;
