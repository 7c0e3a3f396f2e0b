//! The events of budgets and of the balance: of an organization, and of no run.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::cost::report::month;
use crate::money::MicroCredits;
use crate::schema::TypeSchema;
use crate::webhook::OrganizationEvent;
use crate::{BudgetId, Timestamp};

/// A percentage of a budget is reached.
pub const BUDGET_THRESHOLD: OrganizationEvent = OrganizationEvent {
    name: "budget.threshold",
    description: "A budget reached one of its percentages, once in each period.",
    data: TypeSchema::of::<BudgetThresholdData>(),
    sample: |now| {
        json!(BudgetThresholdData {
            budget_id: BudgetId::new(now, 1),
            name: "Team A".to_owned(),
            percent: 80,
            spent_credits: MicroCredits::from_micro(700_500_000),
            reserved_credits: MicroCredits::from_credits(100),
            limit_credits: MicroCredits::from_credits(1_000),
            period_start: month(now, 0),
        })
    },
};

/// Fewer credits are available than the organization's threshold.
pub const CREDITS_LOW: OrganizationEvent = OrganizationEvent {
    name: "credits.low",
    description: "The available credits fell below the organization's threshold.",
    data: TypeSchema::of::<CreditsLowData>(),
    sample: |_| {
        json!(CreditsLowData {
            available: MicroCredits::from_micro(412_250_000),
            threshold: MicroCredits::from_credits(500),
        })
    },
};

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
