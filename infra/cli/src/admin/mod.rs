//! `awo admin`: what an operator does, on the stores themselves.
//!
//! A change of credits has one transaction id for all the tries that the SDK makes in one
//! invocation, so that a lost answer never grants twice.

pub mod arguments;
mod costs;
mod ledger;
mod secret;
mod stores;

use awo_cloud::Environment;
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, RunId, TransactionId};
use awo_store::credits::Booking;
use awo_store::keys::StoredKey;
use serde_json::{Value, json};

use crate::arguments::Connection;
use crate::failure::Failure;
use crate::output::Output;
use arguments::{Action, Admin, BookingArguments, Scopes};
use stores::{Stores, refused};

/// Does what an operator asks.
pub async fn run(
    admin: &Admin,
    connection: &Connection,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let stores = Stores::open(admin, connection, environment).await?;
    let answer = match &admin.action {
        Action::CreateOrg { name } => create_org(&stores, name).await?,
        Action::CreateKey {
            org,
            scopes,
            requests_per_minute,
        } => create_key(&stores, org, scopes, *requests_per_minute).await?,
        Action::ListKeys { org } => list_keys(&stores, org).await?,
        Action::RevokeKey { key_id } => {
            let now = stores.cloud.clock.now();
            if !stores
                .store
                .revoke_key(key_id, now)
                .await
                .map_err(refused)?
            {
                return Err(Failure::Refused(format!(
                    "there is no key with the id {key_id}"
                )));
            }
            json!({ "keyId": key_id, "revoked": true })
        }
        Action::UpgradeKeys { org } => upgrade_keys(&stores, org.as_ref()).await?,
        Action::Grant {
            org,
            credits,
            booking,
        } => add_credits(&stores, org, None, (*credits, booking)).await?,
        Action::Refund {
            org,
            run,
            credits,
            booking,
        } => add_credits(&stores, org, Some(run), (*credits, booking)).await?,
        Action::CheckLedger { org } => {
            return ledger::check(&stores, org.as_ref(), output).await;
        }
        Action::SetLimits {
            org,
            max_concurrent,
            max_queue_size,
        } => set_limits(&stores, org, *max_concurrent, *max_queue_size).await?,
        Action::SetCostLabels {
            org,
            labels,
            required,
        } => costs::set_labels(&stores, org, labels, required).await?,
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

async fn create_key(
    stores: &Stores,
    org: &OrgId,
    scopes: &Scopes,
    requests_per_minute: Option<u32>,
) -> Result<Value, Failure> {
    let organization = stores.organization(org).await?;
    let (key, now) = (stores.cloud.mint.api_key(), stores.cloud.clock.now());
    let cursor_key = &organization.cursor_key;
    let made = stores
        .store
        .create_key(&key, org, &scopes.0, requests_per_minute, cursor_key, now)
        .await;
    made.map_err(refused)?;
    Ok(json!({ "apiKey": key.reveal(), "keyId": key.id() }))
}

async fn list_keys(stores: &Stores, org: &OrgId) -> Result<Value, Failure> {
    stores.organization(org).await?;
    let keys = stores.store.list_keys(org).await.map_err(refused)?;
    let shown: Vec<Value> = keys.iter().map(key_without_hash).collect();
    Ok(json!({ "keys": shown }))
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

fn key_without_hash(key: &StoredKey) -> Value {
    let mut shown =
        json!({ "keyId": key.key_id, "scopes": key.scopes, "createdAt": key.created_at });
    if let Some(requests) = key.requests_per_minute {
        shown["requestsPerMinute"] = json!(requests);
    }
    if let Some(revoked) = key.revoked_at {
        shown["revokedAt"] = json!(revoked);
    }
    shown
}

/// A grant, or the refund of a run.
async fn add_credits(
    stores: &Stores,
    org: &OrgId,
    run: Option<&RunId>,
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
    let added = match run {
        None => stores.store.grant(org, &id, credits, &booking).await,
        Some(run) => {
            let of = (credits, &booking);
            stores.store.refund(org, &id, run, of, now).await
        }
    };
    let balance = added.map_err(|error| match error {
        Error::Internal { cause } => Failure::Unreachable {
            what: "the stores".to_owned(),
            why: cause,
            advice: format!(
                "look for {id} in the organization's transactions before adding again: it may \
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
    max_concurrent: Option<u32>,
    max_queue_size: Option<u32>,
) -> Result<Value, Failure> {
    stores.organization(org).await?;
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
    Ok(answer)
}

/// For people: a field a line, a key a line, and what they must know.
fn show(action: &Action, answer: &Value, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(&answer.to_string());
    }
    if let Some(keys) = answer["keys"].as_array() {
        if keys.is_empty() {
            return output.line("no keys");
        }
        return keys.iter().try_for_each(|key| output.line(&key_line(key)));
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
    if matches!(action, Action::CreateKey { .. }) {
        output.line("Keep the key now: it is not stored and cannot be shown again.")?;
    }
    Ok(())
}

fn key_line(key: &Value) -> String {
    let text = |name: &str| key[name].as_str().unwrap_or_default();
    let scopes: Vec<&str> = key["scopes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let limit = key["requestsPerMinute"].as_u64();
    let limit = limit
        .map(|n| format!("  {n} requests/min"))
        .unwrap_or_default();
    let revoked = key["revokedAt"]
        .as_str()
        .map(|at| format!("  revoked {at}"))
        .unwrap_or_default();
    format!(
        "{}  {}  {}{limit}{revoked}",
        text("keyId"),
        text("createdAt"),
        scopes.join(",")
    )
}
