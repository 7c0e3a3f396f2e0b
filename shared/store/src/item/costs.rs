//! Keys of costs.

use awo_domain::budget::Budget;
use awo_domain::statement::Month;
use awo_domain::{OrgId, Timestamp, TransactionId};

use super::Key;

impl Key {
    /// A cost that is not in the sums yet.
    pub fn new_cost(org: &OrgId, id: &TransactionId) -> Key {
        Key::new(new_costs(org), id.as_str())
    }

    /// A cost that is in the sums.
    pub fn cost(org: &OrgId, id: &TransactionId) -> Key {
        Key::new(costs(org), id.as_str())
    }

    /// Sums of costs, by their name.
    pub fn cost_sums(org: &OrgId, name: &str) -> Key {
        Key::new(cost_sums(org), name)
    }

    /// How often costs were added to sums.
    pub fn cost_head(org: &OrgId) -> Key {
        Key::new(format!("{org}#costhead"), "head")
    }

    /// The values of a cost label that are told apart.
    pub fn cost_values(org: &OrgId, label: &str) -> Key {
        Key::new(format!("{org}#costhead"), format!("label#{label}"))
    }

    /// The statement of a closed month.
    pub fn statement(org: &OrgId, month: &Month) -> Key {
        Key::new(statements(org), month.to_string())
    }

    /// What a budget counts in the period that begins then.
    pub fn budget_counter(org: &OrgId, budget: &Budget, start: Timestamp) -> Key {
        let name = format!("{}#{:04}#{start}", budget.id, budget.epoch);
        Key::new(format!("{org}#budget"), name)
    }

    /// What a credit was worth over time.
    pub fn credit_prices() -> Key {
        Key::new("deployment#prices".to_owned(), "credits")
    }

    /// What the organization declares about its costs.
    pub fn cost_policy(org: &OrgId) -> Key {
        Key::new(format!("{org}#costs"), "policy")
    }
}

/// Partition of the closed months' statements.
pub(crate) fn statements(org: &OrgId) -> String {
    format!("{org}#statement")
}

pub(crate) fn new_costs(org: &OrgId) -> String {
    format!("{org}#costnew")
}

pub(crate) fn costs(org: &OrgId) -> String {
    format!("{org}#cost")
}

pub(crate) fn cost_sums(org: &OrgId) -> String {
    format!("{org}#costsum")
}

/// Partition of the index of due items: costs that are to be added to sums. Apart from the others,
/// too.
pub(crate) const DUE_COSTS: &str = "cost";
