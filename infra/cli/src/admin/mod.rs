//! `awo admin`: an operator's commands, directly on the tables.
//!
//! A change of credits has one transaction id for all retries of the SDK within one invocation, so
//! a lost response never grants twice.

pub mod arguments;
mod costs;
mod dispatch;
mod forges;
mod keys;
mod ledger;
mod organizations;
mod providers;
mod secret;
pub mod stores;
mod values;

use awo_cloud::Environment;
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, TransactionId};
use awo_store::ledger::credits::Booking;
use awo_store::ledger::refunds::ChargedWork;
use serde_json::{Value, json};

use crate::arguments::Connection;
use crate::failure::Failure;
use crate::output::Output;
use arguments::{Action, Admin};
use stores::{Stores, refused};
use values::BookingArguments;

/// Does what an operator asks.
pub async fn run(
    admin: &Admin,
    connection: &Connection,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let stores = Stores::open(admin.local, connection, environment).await?;
    let answer = match &admin.action {
        Action::CreateOrg { name } => create_org(&stores, name).await?,
        Action::ListOrgs => return organizations::list(&stores, output).await,
        Action::ShowOrg { org } => return organizations::show(&stores, org, output).await,
        Action::RenameOrg { org, name } => organizations::rename(&stores, org, name).await?,
        Action::SuspendOrg { org } => organizations::suspend(&stores, org).await?,
        Action::ReinstateOrg { org } => organizations::reinstate(&stores, org).await?,
        Action::DeleteOrg { org, yes } => organizations::delete(&stores, org, *yes).await?,
        Action::Queue => return dispatch::queue(&stores, output).await,
        Action::Runs { status, limit } => {
            return dispatch::runs(&stores, status.as_deref(), *limit, output).await;
        }
        Action::Pause { org } => dispatch::pause(&stores, org.as_ref(), true).await?,
        Action::Resume { org } => dispatch::pause(&stores, org.as_ref(), false).await?,
        Action::Drain { org, timeout } => {
            dispatch::drain(&stores, org.as_ref(), *timeout, output).await?
        }
        Action::CreateKey { org, terms } => keys::create(&stores, org, terms).await?,
        Action::RotateKey {
            key_id,
            overlap,
            expires_in,
        } => keys::rotate(&stores, key_id, *overlap, *expires_in).await?,
        Action::ListKeys { org } => return keys::list(&stores, org, output).await,
        Action::RevokeKey { key_id } => keys::revoke(&stores, key_id).await?,
        Action::UpgradeKeys { org } => upgrade_keys(&stores, org.as_ref()).await?,
        Action::Grant {
            org,
            credits,
            booking,
        } => add_credits(&stores, org, None, (*credits, booking)).await?,
        Action::Refund {
            org,
            charge,
            credits,
            booking,
        } => add_credits(&stores, org, charge.work().as_ref(), (*credits, booking)).await?,
        Action::CheckLedger { org } => {
            return ledger::check(&stores, org.as_ref(), output).await;
        }
        Action::SetLimits {
            org,
            max_concurrent,
            max_queue_size,
            credits_low,
        } => {
            let queue = (*max_concurrent, *max_queue_size);
            set_limits(&stores, org, queue, *credits_low).await?
        }
        Action::SetCostLabels {
            org,
            labels,
            required,
        } => costs::set_labels(&stores, org, labels, required).await?,
        Action::BackfillCosts { org } => costs::backfill(&stores, org.as_ref()).await?,
        Action::SetProvider { org, change } => providers::set(&stores, org, change).await?,
        Action::SetForge { org, change } => forges::set(&stores, org, change).await?,
        Action::SetApp { org, change } => forges::set_app(&stores, org, change).await?,
        Action::SetSecret { org, name } => secret::set(&stores, org, name).await?,
        Action::ListSecrets { org } => secret::list(&stores, org).await?,
        Action::DeleteSecret { org, name } => secret::delete(&stores, org, name).await?,
    };
    show(&admin.action, &answer, output)
}

async fn create_org(stores: &Stores, name: &str) -> Result<Value, Failure> {
    let (cloud, now) = (&stores.cloud, stores.cloud.clock.now());
    let org = OrgId::new(now, cloud.mint.random(now));
    let made = stores
        .store
        .create_organization(&org, name, &cloud.mint.secret(), now)
        .await;
    made.map_err(refused)?;
    Ok(json!({ "orgId": org }))
}

async fn upgrade_keys(stores: &Stores, org: Option<&OrgId>) -> Result<Value, Failure> {
    let orgs = match org {
        Some(org) => vec![org.clone()],
        None => stores.store.organizations().await.map_err(refused)?,
    };
    let mut upgraded = 0;
    for org in &orgs {
        let cursor_key = stores.organization(org).await?.cursor_key;
        let done = stores.store.upgrade_keys(org, &cursor_key).await;
        upgraded += done.map_err(refused)?;
    }
    Ok(json!({ "organizations": orgs.len(), "upgraded": upgraded }))
}

/// A grant, or the refund of a run or a manual verification.
async fn add_credits(
    stores: &Stores,
    org: &OrgId,
    work: Option<&ChargedWork>,
    (credits, booking): (MicroCredits, &BookingArguments),
) -> Result<Value, Failure> {
    let booking = Booking {
        actor: booking.actor.clone(),
        note: booking.note.clone(),
        reference: booking.reference.clone(),
    };
    stores.organization(org).await?;
    let now = stores.cloud.clock.now();
    let id = TransactionId::new(now, stores.cloud.mint.random(now));
    let added = match work {
        None => stores.store.grant(org, &id, credits, &booking).await,
        Some(work) => {
            let of = (credits, &booking);
            stores.store.refund(org, &id, work, of, now).await
        }
    };
    let balance = added.map_err(|error| match error {
        Error::Internal { cause } => Failure::Unreachable {
            what: "the stores".to_owned(),
            why: cause,
            advice: format!(
                "search for {id} in the organization's transactions before you try again: it may \
                 have been written"
            ),
        },
        other => refused(other),
    })?;
    Ok(json!({ "balance": MicroCredits::from_micro(balance.balance), "transactionId": id }))
}

async fn set_limits(
    stores: &Stores,
    org: &OrgId,
    (max_concurrent, max_queue_size): (Option<u32>, Option<u32>),
    credits_low: Option<MicroCredits>,
) -> Result<Value, Failure> {
    stores.organization(org).await?;
    if let Some(threshold) = credits_low {
        let set = stores.store.set_credits_low(org, threshold).await;
        set.map_err(refused)?;
    }
    let set = stores
        .store
        .set_limits(org, max_concurrent, max_queue_size)
        .await;
    set.map_err(refused)?;
    let mut answer = json!({ "orgId": org });
    if let Some(most) = max_concurrent {
        answer["maxConcurrent"] = json!(most);
    }
    if let Some(most) = max_queue_size {
        answer["maxQueueSize"] = json!(most);
    }
    if let Some(threshold) = credits_low {
        answer["creditsLow"] = json!(threshold);
    }
    Ok(answer)
}

/// For people: a field a line, and what they must know.
fn show(action: &Action, answer: &Value, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(&answer.to_string());
    }
    if let Some(secrets) = answer["secrets"].as_array() {
        let names = secrets.iter().filter_map(Value::as_str);
        return names.into_iter().try_for_each(|name| output.line(name));
    }
    for (name, value) in answer.as_object().into_iter().flatten() {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        output.line(&format!("{name:<14} {value}"))?;
    }
    if matches!(action, Action::CreateKey { .. } | Action::RotateKey { .. }) {
        output.line("Save the key now: it is not stored and cannot be shown again.")?;
    }
    Ok(())
}
