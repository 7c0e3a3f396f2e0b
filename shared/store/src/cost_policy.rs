//! An organization's declaration about its costs. The balance has the declaration's version, too: a
//! transaction that holds credits is conditional on the version it used, so it needs no read if
//! nothing was declared, and none uses an outdated declaration.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use awo_domain::cost::labels::CostLabels;
use awo_domain::{Error, OrgId};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::change::Change;
use crate::item::{Item, Key, SCHEMA_VERSION};
use crate::table::conflict_pause;
use crate::transaction::{Committed, Guard, Transaction};

/// The version's attribute on the balance.
const POLICY: &str = "policy";
/// Most organizations whose declaration a process remembers.
const MOST_KNOWN: usize = 10_000;
/// How often a declaration is tried that meets another one.
const DECLARE_TRIES: u32 = 8;

/// A declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostPolicy {
    /// 0 where nothing was declared.
    pub version: u64,
    /// The cost labels.
    pub labels: CostLabels,
    v: u32,
}

impl Default for CostPolicy {
    fn default() -> CostPolicy {
        CostPolicy {
            version: 0,
            labels: CostLabels::default(),
            v: SCHEMA_VERSION,
        }
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

impl Store {
    /// What an organization has declared, as it was read last: a guess, which costs nothing.
    #[must_use]
    pub fn known_cost_policy(&self, org: &OrgId) -> CostPolicy {
        self.cost_policies.get(org).unwrap_or_default()
    }

    /// What an organization has declared.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn cost_policy(&self, org: &OrgId) -> Result<CostPolicy, Error> {
        let (settings, key) = (&self.tables.settings, Key::cost_policy(org));
        let policy = self.get(settings, &key).await?.unwrap_or_default();
        self.cost_policies.note(org, &policy);
        Ok(policy)
    }

    /// Declares cost labels, instead of those that there are. Work orders that were created before
    /// keep the values that they have.
    ///
    /// # Errors
    /// [`Error::Conflict`] if there is no such organization, or internal.
    pub async fn declare_cost_labels(&self, org: &OrgId, labels: &CostLabels) -> Result<(), Error> {
        for attempt in 0..DECLARE_TRIES {
            let known = self.cost_policy(org).await?;
            let next = CostPolicy {
                version: known.version + 1,
                labels: labels.clone(),
                ..known
            };
            let (settings, key) = (&self.tables.settings, Key::cost_policy(org));
            let same = (known.version > 0).then_some(known.version);
            let same = Change::new().when_option("version", same);
            let balance = Change::new().set(POLICY, next.version).when_present("v");
            let committed = Transaction::new()
                .put_when(Guard::CostPolicy, settings, &key, &next, same)?
                .update(
                    Guard::Balance,
                    &self.tables.ledger,
                    &Key::balance(org),
                    balance,
                )?
                .commit(self)
                .await?;
            match committed {
                Committed::Yes => {
                    self.cost_policies.note(org, &next);
                    return Ok(());
                }
                Committed::No(refusals) if refusals.iter().any(|r| r.guard == Guard::Balance) => {
                    return Err(Error::Conflict("there is no such organization".to_owned()));
                }
                Committed::No(_) => conflict_pause(attempt).await,
            }
        }
        Err(Error::contended("other declarations were always faster"))
    }
}
