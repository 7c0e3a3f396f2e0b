//! A budget as the API shows it.

use awo_domain::budget::{OnLimit, Period, ScopeParts};
use awo_domain::money::MicroCredits;
use awo_domain::{BudgetId, Timestamp};
use awo_store::ledger::budgets::BudgetStanding;
use serde::Serialize;
use utoipa::ToSchema;

/// A budget, with what counts against its limit in the present period.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetShape<'a> {
    /// Its id.
    id: &'a BudgetId,
    /// Its name, for people.
    name: &'a str,
    /// Whose runs count: of the organization (`{}`), a tenant, a user of a tenant, a key or a value of
    /// a cost label.
    scope: &'a ScopeParts,
    /// For how long the limit is, in UTC.
    period: Period,
    /// Most that may be spent and reserved in a period.
    limit_credits: MicroCredits,
    /// The effect on a run that would exceed the limit.
    on_limit: OnLimit,
    /// At which percentages of the limit `budget.threshold` is sent.
    alerts_at: &'a [u8],
    /// When the present period began.
    period_start: Timestamp,
    /// When it ends; absent if it has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    period_end: Option<Timestamp>,
    /// The cost of runs whose credits were reserved in this period, less refunds; including charges
    /// of the period before the budget was created.
    spent_credits: MicroCredits,
    /// The reserve of unsettled runs.
    reserved_credits: MicroCredits,
    /// The remainder of the limit.
    remaining_credits: MicroCredits,
    /// The extrapolated spending at the end of the period; at least the amount spent and reserved
    /// now.
    forecast_credits: MicroCredits,
    /// When it was created.
    created_at: Timestamp,
    /// When it was replaced last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

impl BudgetShape<'_> {
    /// A budget as it stands now.
    pub fn of(of: &BudgetStanding, now: Timestamp) -> BudgetShape<'_> {
        let (budget, standing) = (&of.budget, of.standing);
        let content = &budget.content;
        BudgetShape {
            id: &budget.id,
            name: &content.name,
            scope: content.scope.parts(),
            period: content.period,
            limit_credits: MicroCredits::from_micro(content.limit_micro),
            on_limit: content.on_limit,
            alerts_at: content.alerts_at.all(),
            period_start: budget.period_start(now),
            period_end: budget.period_end(now),
            spent_credits: standing.spent,
            reserved_credits: standing.reserved,
            remaining_credits: budget.remaining(standing),
            forecast_credits: budget.forecast(standing, now),
            created_at: budget.created_at,
            updated_at: budget.updated_at,
        }
    }
}
