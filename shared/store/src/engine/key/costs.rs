//! Keys of costs.

use awo_domain::budget::Budget;
use awo_domain::statement::Month;
use awo_domain::{OrgId, Timestamp, TransactionId};

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;
use crate::ledger::statements::listed::List;

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
        cost_heads(org).key("head")
    }

    /// The distinct values of a cost label.
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

    /// A ledger entry as statements list it.
    pub fn listed_entry(org: &OrgId, list: List, month: &Month, id: &TransactionId) -> Key {
        listed_entries(org).key(format!("{}{id}", list.prefix(month)))
    }

    /// The purchases of a month.
    pub fn purchased(org: &OrgId, month: &Month) -> Key {
        purchased(org).key(month.to_string())
    }

    /// What a budget counts in the period that begins then.
    pub fn budget_counter(org: &OrgId, budget: &Budget, start: Timestamp) -> Key {
        budget_counters(org).key(format!("{}#{:04}#{start}", budget.id, budget.epoch))
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

/// Partition of what budgets count; a budget's stand together, the newest period last.
pub(crate) fn budget_counters(org: &OrgId) -> Partition {
    Partition::new(ItemKind::BudgetCounter, format!("{org}#budget"))
}

/// Partition of the closed months' statements.
pub(crate) fn statements(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Statement, format!("{org}#statement"))
}

/// Partition of the entries that statements list one by one.
pub(crate) fn listed_entries(org: &OrgId) -> Partition {
    Partition::new(ItemKind::ListedEntry, format!("{org}#listed"))
}

/// Partition of the purchases by month.
pub(crate) fn purchased(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Purchased, format!("{org}#purchased"))
}

/// Partition of the head and of the values of cost labels.
pub(crate) fn cost_heads(org: &OrgId) -> Partition {
    Partition::new(ItemKind::CostHead, format!("{org}#costhead"))
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
