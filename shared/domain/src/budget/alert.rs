//! The data of events that are of an organization and of no run.

use serde::Serialize;
use utoipa::ToSchema;

use crate::money::MicroCredits;
use crate::{BudgetId, Timestamp};

/// Data of `budget.threshold`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetThresholdData {
    /// The budget.
    pub budget_id: BudgetId,
    /// Its name.
    pub name: String,
    /// The percentage of the limit that is reached.
    #[schema(minimum = 1, maximum = 100)]
    pub percent: u8,
    /// Credits of settled runs of the period.
    pub spent_credits: MicroCredits,
    /// Credits that runs under way have reserved.
    pub reserved_credits: MicroCredits,
    /// The limit, in credits.
    pub limit_credits: MicroCredits,
    /// When the period began.
    pub period_start: Timestamp,
}

/// Data of `credits.low`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreditsLowData {
    /// Credits that no run has reserved.
    pub available: MicroCredits,
    /// The organization's threshold, in credits.
    pub threshold: MicroCredits,
}
