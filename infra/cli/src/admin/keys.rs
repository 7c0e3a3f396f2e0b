//! Keys: an operator creates, lists and revokes them.

use awo_domain::api_key::KeyId;
use awo_domain::{OrgId, Timestamp};
use awo_store::organizations::keys::{KeyTerms, StoredKey};
use serde_json::{Value, json};

use super::stores::{Stores, refused};
use super::values::KeyArguments;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;

/// The time so long from now.
fn end(stores: &Stores, in_ms: Option<u64>) -> Option<Timestamp> {
    let ms = i64::try_from(in_ms?).ok()?;
    Some(stores.cloud.clock.now().plus_ms(ms))
}

/// Makes a key.
pub async fn create(stores: &Stores, org: &OrgId, asked: &KeyArguments) -> Result<Value, Failure> {
    let names = asked.scopes.0.iter().map(|scope| scope.as_str().to_owned());
    let terms = KeyTerms {
        scopes: names.collect(),
        requests_per_minute: asked.requests_per_minute,
        name: asked.name.clone(),
        expires_at: end(stores, asked.expires_in),
    };
    create_by(stores, org, &terms).await
}

async fn create_by(stores: &Stores, org: &OrgId, terms: &KeyTerms) -> Result<Value, Failure> {
    let organization = stores.organization(org).await?;
    let (key, now) = (stores.cloud.mint.api_key(), stores.cloud.clock.now());
    let cursor_key = &organization.cursor_key;
    let made = stores
        .store
        .create_key_with(&key, org, terms, cursor_key, now);
    made.await.map_err(refused)?;
    let mut answer = json!({ "apiKey": key.reveal(), "keyId": key.id() });
    if let Some(at) = terms.expires_at {
        answer["expiresAt"] = json!(at);
    }
    Ok(answer)
}

/// Makes a key like another one, which ends after an overlap.
pub async fn rotate(
    stores: &Stores,
    id: &KeyId,
    overlap_ms: u64,
    expires_in: Option<u64>,
) -> Result<Value, Failure> {
    let old = stores.store.key(id).await.map_err(refused)?;
    let old = old.filter(|key| key.revoked_at.is_none());
    let old = old.ok_or_else(|| Failure::Refused(format!("there is no key with the id {id}")))?;
    let terms = KeyTerms {
        scopes: old.scopes.clone(),
        requests_per_minute: old.requests_per_minute,
        name: old.name.clone(),
        expires_at: end(stores, expires_in),
    };
    let mut answer = create_by(stores, &old.org_id, &terms).await?;
    // A key that ends sooner anyway keeps its end.
    let overlap = end(stores, Some(overlap_ms)).unwrap_or_else(|| stores.cloud.clock.now());
    let ends = old.expires_at.map_or(overlap, |at| at.min(overlap));
    if !stores.store.expire_key(id, ends).await.map_err(refused)? {
        let why = format!("the new key was created, but {id} was revoked at the same time");
        return Err(Failure::Refused(why));
    }
    answer["previousKeyId"] = json!(id);
    answer["previousExpiresAt"] = json!(ends);
    Ok(answer)
}

/// Revokes a key.
pub async fn revoke(stores: &Stores, id: &KeyId) -> Result<Value, Failure> {
    let now = stores.cloud.clock.now();
    if stores.store.revoke_key(id, now).await.map_err(refused)? {
        Ok(json!({ "keyId": id, "revoked": true }))
    } else {
        Err(Failure::Refused(format!(
            "there is no key with the id {id}"
        )))
    }
}

/// Lists the keys of an organization.
pub async fn list(stores: &Stores, org: &OrgId, output: &Output) -> Result<(), Failure> {
    stores.organization(org).await?;
    let keys = stores.store.list_keys(org).await.map_err(refused)?;
    let mut shown = Vec::with_capacity(keys.len());
    for key in &keys {
        let used = stores.store.last_use(key).await.map_err(refused)?;
        shown.push(without_hash(key, used));
    }
    if output.is_json() {
        return output.line(&json!({ "keys": shown }).to_string());
    }
    let mut grid = Grid::new(&[
        Column::whole("key", 0),
        Column::cut("name", 0),
        Column::whole("last used", 0),
        Column::whole("expires", 1),
        Column::whole("created", 3),
        Column::number("per minute", 4),
        Column::whole("revoked", 2),
        Column::cut("scopes", 0),
    ]);
    for key in &shown {
        let text = |name: &str| key[name].as_str().unwrap_or_default();
        let scopes = key["scopes"].as_array().into_iter().flatten();
        let scopes: Vec<&str> = scopes.filter_map(Value::as_str).collect();
        let rate = key["requestsPerMinute"].as_u64().map(|n| n.to_string());
        grid.row(vec![
            Entry::text(text("keyId")),
            Entry::text(text("name")),
            Entry::time(text("lastUsedAt"), output),
            Entry::time(text("expiresAt"), output),
            Entry::time(text("createdAt"), output),
            Entry::text(rate.unwrap_or_default()),
            Entry::time(text("revokedAt"), output),
            Entry::text(scopes.join(",")),
        ]);
    }
    grid.show(shown.len() as u64, "keys", output)
}

fn without_hash(key: &StoredKey, used: Option<Timestamp>) -> Value {
    let mut shown =
        json!({ "keyId": key.key_id, "scopes": key.scopes, "createdAt": key.created_at });
    let times = [
        ("expiresAt", key.expires_at),
        ("lastUsedAt", used),
        ("revokedAt", key.revoked_at),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            shown[name] = json!(time);
        }
    }
    if let Some(name) = &key.name {
        shown["name"] = json!(name);
    }
    if let Some(requests) = key.requests_per_minute {
        shown["requestsPerMinute"] = json!(requests);
    }
    shown
}
