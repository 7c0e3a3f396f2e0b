//! `awo admin check-ledger`: compares balances with entries and open holds over the whole history.
//! It changes no ledger.

use awo_domain::OrgId;
use awo_domain::money::MicroCredits;
use awo_store::ledger::checkpoints::{Checkpoint, LedgerCheck, Sums};
use serde_json::{Value, json};

use super::stores::{Stores, refused};
use crate::failure::Failure;
use crate::output::Output;

/// Longest history of an organization: in steps of some thousand entries.
const MAX_STEPS: u32 = 10_000;

/// Checks the ledger of one organization, or of all. Where it is sound, the daily check goes on
/// from here; an organization from before there was one is checked every day from now on.
pub async fn check(stores: &Stores, org: Option<&OrgId>, output: &Output) -> Result<(), Failure> {
    let orgs = match org {
        Some(org) => vec![stores.organization(org).await?.org_id],
        None => stores.store.organizations().await.map_err(refused)?,
    };
    let (mut ledgers, mut all_sound) = (Vec::new(), true);
    for org in &orgs {
        let now = stores.cloud.clock.now();
        let begin = Checkpoint::begin(org, now);
        let checked = stores.store.check_ledger(&begin, MAX_STEPS, now).await;
        let (checked, next) = checked.map_err(refused)?;
        let is_sound = matches!(checked, LedgerCheck::Sound(_));
        if is_sound {
            let replaced = stores.store.replace_checkpoint(&next).await;
            replaced.map_err(refused)?;
        }
        all_sound &= is_sound;
        if output.is_json() {
            ledgers.push(verdict(org, &checked))
        } else {
            output.line(&line(org, &checked))?
        }
    }
    if output.is_json() {
        output.line(&json!({ "ledgers": ledgers }).to_string())?;
    }
    if all_sound {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

fn sums(of: &Sums) -> Value {
    json!({
        "balance": MicroCredits::from_micro(of.balance),
        "reserved": MicroCredits::from_micro(of.reserved),
        "available": MicroCredits::from_micro(of.available),
        "entries": of.entries,
    })
}

fn verdict(org: &OrgId, checked: &LedgerCheck) -> Value {
    match checked {
        LedgerCheck::Sound(found) => {
            json!({ "orgId": org, "status": "sound", "found": sums(found) })
        }
        LedgerCheck::Drifts { expected, found } => json!({
            "orgId": org, "status": "drifts", "expected": sums(expected), "found": sums(found),
        }),
        LedgerCheck::Unknown => json!({ "orgId": org, "status": "unknown" }),
    }
}

fn line(org: &OrgId, checked: &LedgerCheck) -> String {
    match checked {
        LedgerCheck::Sound(found) => format!("{org}  sound    {}", sums(found)),
        LedgerCheck::Drifts { expected, found } => format!(
            "{org}  DRIFTS   entries and holds give {}, the balance is {}",
            sums(expected),
            sums(found)
        ),
        LedgerCheck::Unknown => {
            format!("{org}  unknown  the ledger changed during the check: try again")
        }
    }
}
