//! API keys: creating, listing and revoking them, and the one round trip that authenticates a
//! request and counts it against the key's rate limit.

mod ends;
pub(crate) mod shared_counts;

use awo_domain::api_key::{ApiKey, KeyId, Scope};
use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::{Key, key_indexes};
use crate::engine::list::Slice;
use crate::engine::table::{UpdateOutcome, read};
use crate::engine::transaction::Transaction;
use crate::engine::tries::Tries;
use crate::queue::tally::SUSPENDED;

/// Length of a rate window.
pub const WINDOW_MS: i64 = 60_000;

/// A key as its organization's operators see it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredKey {
    /// Its public part.
    pub key_id: KeyId,
    /// Whose it is.
    pub org_id: OrgId,
    /// SHA-256 of the whole key.
    pub hash: String,
    /// Its scopes.
    pub scopes: Vec<String>,
    /// Its own rate limit; the deployment's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// The operator's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// From when on it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Shape of this item.
    pub v: u32,
}

/// What authenticates a key: found by the hash of the whole key, so that a request with another
/// secret touches nothing of the key's owner. A key that is revoked has none: functions may change
/// the window alone, so none of them can give a key back, or take one away.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    key_id: KeyId,
    org_id: OrgId,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_minute: Option<u32>,
    /// Hex of the organization's key for paging cursors.
    cursor_key: String,
    /// From when on it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// Since when its organization is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suspended_at: Option<Timestamp>,
    /// Start of the present rate window, Unix milliseconds.
    window_start: i64,
    /// Requests in it.
    window_count: u32,
    /// Shape of this item.
    v: u32,
}

impl Credential {
    fn new(key: &StoredKey, cursor_key: &str) -> Credential {
        Credential {
            key_id: key.key_id.clone(),
            org_id: key.org_id.clone(),
            scopes: key.scopes.clone(),
            requests_per_minute: key.requests_per_minute,
            cursor_key: cursor_key.to_owned(),
            expires_at: key.expires_at,
            suspended_at: None,
            window_start: 0,
            window_count: 0,
            v: SCHEMA_VERSION,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyIndex {
    key_id: KeyId,
}

/// What a key is made with.
#[derive(Debug, Clone, Default)]
pub struct KeyTerms {
    /// What it may do, by name.
    pub scopes: Vec<String>,
    /// Its own rate limit.
    pub requests_per_minute: Option<u32>,
    /// The operator's name for it.
    pub name: Option<String>,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// An authenticated caller.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose key it is.
    pub org_id: OrgId,
    /// The key.
    pub key_id: KeyId,
    /// Its scopes.
    pub scopes: Vec<Scope>,
    /// Hex of the organization's key for paging cursors.
    pub cursor_key: String,
    /// Its own rate limit.
    pub requests_per_minute: Option<u32>,
    /// Requests in the present window, this one included.
    pub window_count: u32,
    /// When the window ends.
    pub window_end: Timestamp,
}

impl Store {
    /// Checks a key and counts the request.
    ///
    /// One conditional update does both, for all requests that wait for it
    /// ([`shared_counts`]); it takes a second one when a window begins. An unknown, a revoked and a
    /// wrong key have the same cost and the same response; one with a wrong secret names an item that does
    /// not exist.
    ///
    /// # Errors
    /// [`Error::Unauthorized`], or internal.
    pub async fn authenticate(&self, key: &ApiKey, now: Timestamp) -> Result<Caller, Error> {
        let start = now.epoch_ms() - now.epoch_ms().rem_euclid(WINDOW_MS);
        let (hash, store) = (key.hash(), self.clone());
        let at = Key::credential(&hash);
        let update = move |requests| {
            let (store, at) = (store.clone(), at.clone());
            async move { store.count_requests(&at, start, requests).await }
        };
        let counted = self.shared_counts.count((hash, start), update).await;
        caller(counted?, now)
    }

    /// Adds requests to a window, or to the one that another process has begun after it.
    async fn count_requests(
        &self,
        at: &Key,
        window: i64,
        requests: u32,
    ) -> Result<Credential, Error> {
        let mut stored_window = window;
        let mut tries = Tries::new("authenticate: the rate window kept changing");
        loop {
            tries.next().await?;
            let change = if stored_window < window {
                Change::new()
                    .set("windowStart", window)
                    .set("windowCount", requests)
                    .when("windowStart", stored_window)
            } else {
                Change::new()
                    .add("windowCount", requests.into())
                    .when("windowStart", stored_window)
            };
            let stored: Credential = match self.update(at, change).await? {
                UpdateOutcome::New(item) => return read(item),
                UpdateOutcome::Refused(item) => read(item.ok_or(Error::Unauthorized)?)?,
            };
            stored_window = stored.window_start;
        }
    }

    /// Keeps a new key.
    ///
    /// # Errors
    /// [`Error::Conflict`] where the id is taken or the organization is suspended; internal, when
    /// DynamoDB fails.
    pub async fn create_key(
        &self,
        key: &ApiKey,
        org: &OrgId,
        scopes: &[Scope],
        requests_per_minute: Option<u32>,
        cursor_key: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let names = scopes.iter().map(|s| s.as_str().to_owned()).collect();
        let terms = KeyTerms {
            scopes: names,
            requests_per_minute,
            ..KeyTerms::default()
        };
        self.create_key_with(key, org, &terms, cursor_key, now)
            .await
    }

    /// Keeps a new key with a name and an end.
    ///
    /// # Errors
    /// As [`Store::create_key`].
    pub async fn create_key_with(
        &self,
        key: &ApiKey,
        org: &OrgId,
        terms: &KeyTerms,
        cursor_key: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let stored = StoredKey {
            key_id: key.id(),
            org_id: org.clone(),
            hash: key.hash(),
            scopes: terms.scopes.clone(),
            requests_per_minute: terms.requests_per_minute,
            name: terms.name.clone(),
            expires_at: terms.expires_at,
            created_at: now,
            revoked_at: None,
            v: SCHEMA_VERSION,
        };
        let credential = Credential::new(&stored, cursor_key);
        let index = KeyIndex { key_id: key.id() };
        let committed = Transaction::new()
            .update(
                &Key::organization(org),
                Change::new()
                    .set("v", SCHEMA_VERSION)
                    .when_present("orgId")
                    .when_missing(SUSPENDED),
            )
            .put(&Key::api_key(&key.id()), &stored)?
            .put(&Key::credential(&stored.hash), &credential)?
            .put(&Key::key_index(org, &key.id()), &index)?
            .commit(self)
            .await?;
        if committed.is_yes() {
            Ok(())
        } else {
            let why = "the organization is suspended or does not exist, or this key id is taken";
            Err(Error::Conflict(why.to_owned()))
        }
    }

    /// Revokes a key; false if there is none of that id. Revoking twice is the same as once.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn revoke_key(&self, key: &KeyId, now: Timestamp) -> Result<bool, Error> {
        let at = Key::api_key(key);
        let Some(stored) = self.get::<StoredKey>(&at).await? else {
            return Ok(false);
        };
        let revoked = Change::new()
            .set_if_missing("revokedAt", now)
            .when_present("hash");
        let credential = Key::credential(&stored.hash);
        let committed = Transaction::new()
            .update(&at, revoked)
            .delete(&credential, Change::new())
            .commit(self)
            .await?;
        Ok(committed.is_yes())
    }

    /// Makes what authenticates the keys of an organization, where a release before this one has
    /// made them without; returns for how many.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn upgrade_keys(&self, org: &OrgId, cursor_key: &str) -> Result<u32, Error> {
        let mut upgraded = 0;
        let alive = |key: &StoredKey| key.revoked_at.is_none();
        for key in self.list_keys(org).await?.into_iter().filter(alive) {
            let unchanged = Change::new().when_missing("revokedAt");
            let committed = Transaction::new()
                .put_when(&Key::api_key(&key.key_id), &key, unchanged)?
                .put(
                    &Key::credential(&key.hash),
                    &Credential::new(&key, cursor_key),
                )?
                .commit(self)
                .await?;
            upgraded += u32::from(committed.is_yes());
        }
        Ok(upgraded)
    }

    /// The keys of an organization, oldest first.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn list_keys(&self, org: &OrgId) -> Result<Vec<StoredKey>, Error> {
        let slice = Slice::of_partition(key_indexes(org));
        let mut indexes: Vec<KeyIndex> = Vec::new();
        self.each(&slice, |index| indexes.push(index)).await?;
        let mut keys: Vec<StoredKey> = Vec::with_capacity(indexes.len());
        for index in indexes {
            keys.extend(self.get(&Key::api_key(&index.key_id)).await?);
        }
        keys.sort_by_key(|key: &StoredKey| key.created_at);
        Ok(keys)
    }
}

/// A key that has expired, or whose organization is suspended, is found as it is used: the update
/// that counts the request answers with both.
fn caller(stored: Credential, now: Timestamp) -> Result<Caller, Error> {
    let has_expired = stored.expires_at.is_some_and(|at| at <= now);
    if has_expired || stored.suspended_at.is_some() {
        return Err(Error::Unauthorized);
    }
    Ok(Caller {
        scopes: stored
            .scopes
            .iter()
            .filter_map(|name| Scope::parse(name))
            .collect(),
        window_end: Timestamp::from_epoch_ms(stored.window_start + WINDOW_MS),
        org_id: stored.org_id,
        key_id: stored.key_id,
        cursor_key: stored.cursor_key,
        requests_per_minute: stored.requests_per_minute,
        window_count: stored.window_count,
    })
}
