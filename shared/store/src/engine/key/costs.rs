//! Keys of costs.

use awo_domain::budget::Budget;
use awo_domain::statement::Month;
use awo_domain::{OrgId, Timestamp, TransactionId};

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;

impl Key {
    /// A cost that is not in the sums yet.
    pub fn new_cost(org: &OrgId, id: &TransactionId) -> Key {
        new_costs(org).key(id.as_str())
    }

    /// A cost that is in the sums.
    pub fn cost(org: &OrgId, id: &TransactionId) -> Key {
        costs(org).key(id.as_str())
    }

    /// Sums of costs, by their name.
    pub fn cost_sums(org: &OrgId, name: &str) -> Key {
        cost_sums(org).key(name)
    }

    /// How often costs were added to sums.
    pub fn cost_head(org: &OrgId) -> Key {
        Key::new(ItemKind::CostHead, format!("{org}#costhead"), "head")
    }

    /// The values of a cost label that are told apart.
    pub fn cost_values(org: &OrgId, label: &str) -> Key {
        Key::new(
            ItemKind::CostLabel,
            format!("{org}#costhead"),
            format!("label#{label}"),
        )
    }

    /// The statement of a closed month.
    pub fn statement(org: &OrgId, month: &Month) -> Key {
        statements(org).key(month.to_string())
    }

    /// What a budget counts in the period that begins then.
    pub fn budget_counter(org: &OrgId, budget: &Budget, start: Timestamp) -> Key {
        let name = format!("{}#{:04}#{start}", budget.id, budget.epoch);
        Key::new(ItemKind::BudgetCounter, format!("{org}#budget"), name)
    }

    /// What a credit was worth over time.
    pub fn credit_prices() -> Key {
        Key::new(
            ItemKind::CreditPrices,
            "deployment#prices".to_owned(),
            "credits",
        )
    }

    /// What the organization declares about its costs.
    pub fn cost_policy(org: &OrgId) -> Key {
        Key::new(ItemKind::CostPolicy, format!("{org}#costs"), "policy")
    }
}

/// Partition of the closed months' statements.
pub(crate) fn statements(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Statement, format!("{org}#statement"))
}

pub(crate) fn new_costs(org: &OrgId) -> Partition {
    Partition::new(ItemKind::NewCost, format!("{org}#costnew"))
}

pub(crate) fn costs(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Cost, format!("{org}#cost"))
}

pub(crate) fn cost_sums(org: &OrgId) -> Partition {
    Partition::new(ItemKind::CostSums, format!("{org}#costsum"))
}

/// Partition of the index of due items: costs that are to be added to sums. Apart from the others,
/// too.
pub(crate) const DUE_COSTS: &str = "cost";
