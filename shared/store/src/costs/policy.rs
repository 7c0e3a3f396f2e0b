//! An organization's declaration about its costs. The balance has the declaration's version, too: a
//! transaction that holds credits is conditional on the version it used, so it needs no read if
//! nothing was declared, and none uses an outdated declaration.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use awo_domain::budget::Budget;
use awo_domain::cost::labels::CostLabels;
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{Item, SCHEMA_VERSION};
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::engine::tries::Tries;

/// The version's attribute on the balance.
const POLICY: &str = "policy";
/// The attribute of the budgets' version there; what settles a run needs to know of no other change.
const BUDGETS: &str = "budgets";
/// On the tally: true if the organization may have to be alerted of something.
pub(crate) const WATCHED: &str = "watched";
/// Most organizations whose declaration a process remembers.
const MOST_KNOWN: usize = 10_000;

/// A declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostPolicy {
    /// 0 where nothing was declared.
    pub version: u64,
    /// The cost labels.
    pub labels: CostLabels,
    /// The budgets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Budget>,
    /// The version with which the budgets changed last; 0 where there never was one.
    #[serde(default)]
    pub budgets_version: u64,
    /// Of what is available, the threshold below which the organization is alerted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits_low_micro: Option<i64>,
    v: u32,
}

impl Default for CostPolicy {
    fn default() -> CostPolicy {
        CostPolicy {
            version: 0,
            labels: CostLabels::default(),
            budgets: Vec::new(),
            budgets_version: 0,
            credits_low_micro: None,
            v: SCHEMA_VERSION,
        }
    }
}

impl CostPolicy {
    /// The name of the first cost label.
    pub(crate) fn first_label(&self) -> Option<String> {
        self.labels.all().first().map(|label| label.name.clone())
    }

    /// The next one, with these budgets.
    pub(crate) fn with_budgets(&self, budgets: Vec<Budget>) -> CostPolicy {
        CostPolicy {
            version: self.version + 1,
            budgets_version: self.version + 1,
            budgets,
            ..self.clone()
        }
    }

    /// True if an organization may have to be alerted of something, or has what waits for a budget.
    fn is_watched(&self) -> bool {
        self.budgets_version > 0 || self.credits_low_micro.is_some()
    }
}

/// The declarations as this process last read them. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CostPolicies(Arc<Mutex<HashMap<OrgId, CostPolicy>>>);

impl CostPolicies {
    fn get(&self, org: &OrgId) -> Option<CostPolicy> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(org).cloned()
    }

    fn note(&self, org: &OrgId, policy: &CostPolicy) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(org.clone(), policy.clone());
    }
}

impl Change {
    /// A balance on which this version stands.
    pub(crate) fn when_policy(self, version: u64) -> Change {
        self.when_option(POLICY, (version > 0).then_some(version))
    }
}

/// The version that stands on a refused balance.
pub(crate) fn policy_of(balance: Option<&Item>) -> u64 {
    let version = balance.and_then(|item| item.get(POLICY)?.as_n().ok()?.parse().ok());
    version.unwrap_or(0)
}

/// The version of budgets that stands on a balance.
pub(crate) mod when_budgets {
    use super::BUDGETS;
    use crate::engine::change::Change;
    use crate::engine::item::Item;

    /// A balance on which this version stands.
    pub(crate) fn is(change: Change, version: u64) -> Change {
        change.when_option(BUDGETS, (version > 0).then_some(version))
    }

    /// The version that stands on a refused balance.
    pub(crate) fn of(balance: Option<&Item>) -> u64 {
        let version = balance.and_then(|item| item.get(BUDGETS)?.as_n().ok()?.parse().ok());
        version.unwrap_or(0)
    }
}

impl Store {
    /// What an organization has declared, as it was read last: a guess, which costs nothing.
    #[must_use]
    pub fn known_cost_policy(&self, org: &OrgId) -> CostPolicy {
        self.cost_policies.get(org).unwrap_or_default()
    }

    /// The same, if it was read.
    pub(crate) fn remembered_cost_policy(&self, org: &OrgId) -> Option<CostPolicy> {
        self.cost_policies.get(org)
    }

    /// The declaration of an organization.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn cost_policy(&self, org: &OrgId) -> Result<CostPolicy, Error> {
        let key = Key::cost_policy(org);
        let policy = self.get(&key).await?.unwrap_or_default();
        self.cost_policies.note(org, &policy);
        Ok(policy)
    }

    /// Declares cost labels, instead of those that there are. Work orders that were created before
    /// keep the values that they have.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there is no such organization, or internal.
    pub async fn declare_cost_labels(&self, org: &OrgId, labels: &CostLabels) -> Result<(), Error> {
        let with_labels = |known: &CostPolicy| CostPolicy {
            version: known.version + 1,
            labels: labels.clone(),
            ..known.clone()
        };
        self.declare(org, with_labels).await
    }

    /// Sets the threshold below which the organization is alerted of what is available.
    ///
    /// # Errors
    /// As [`Store::declare_cost_labels`].
    pub async fn set_credits_low(&self, org: &OrgId, threshold: MicroCredits) -> Result<(), Error> {
        let with_threshold = |known: &CostPolicy| CostPolicy {
            version: known.version + 1,
            credits_low_micro: (threshold > MicroCredits::ZERO).then_some(threshold.micro()),
            ..known.clone()
        };
        self.declare(org, with_threshold).await
    }

    async fn declare(
        &self,
        org: &OrgId,
        change: impl Fn(&CostPolicy) -> CostPolicy,
    ) -> Result<(), Error> {
        let mut tries = Tries::new("declare: other declarations were always faster");
        loop {
            tries.next().await?;
            let known = self.cost_policy(org).await?;
            let next = change(&known);
            let transaction = self.declaration(org, (&known, &next), None)?;
            match transaction.commit(self).await? {
                CommitOutcome::Yes => {
                    self.cost_policies.note(org, &next);
                    return Ok(());
                }
                CommitOutcome::No(refusals)
                    if refusals.iter().any(|r| r.kind == ItemKind::Balance) =>
                {
                    return Err(Error::Conflict("there is no such organization".to_owned()));
                }
                CommitOutcome::No(_) => {}
            }
        }
    }

    /// A declaration in place of the one that is known, while the balance has had so many changes.
    pub(crate) fn declaration(
        &self,
        org: &OrgId,
        (known, next): (&CostPolicy, &CostPolicy),
        changes: Option<u64>,
    ) -> Result<Transaction, Error> {
        let key = Key::cost_policy(org);
        let same = (known.version > 0).then_some(known.version);
        let same = Change::new().when_option("version", same);
        let budgets = (next.budgets_version > 0).then_some(next.budgets_version);
        let balance = Change::new()
            .set(POLICY, next.version)
            .set_some(BUDGETS, budgets)
            .when_present("v");
        let balance = match changes {
            None => balance,
            Some(0) => balance.at_most_or_missing("changes", 0),
            Some(changes) => balance.when("changes", changes),
        };
        let watched = Change::new().set(WATCHED, next.is_watched());
        Ok(Transaction::new()
            .put_when(&key, next, same)?
            .update(&Key::balance(org), balance)
            .update(&Key::tally(org), watched))
    }
}
