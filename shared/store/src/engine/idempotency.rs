//! Stored responses, for callers that repeat a request with the same idempotency key. A response is its
//! body, byte for byte: its meaning is known to the caller.

use std::fmt;

use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::table::read;
use crate::engine::transaction::{Refusal, Transaction};

/// How long a response is stored.
pub const STORED_MS: i64 = 24 * 3_600_000;
/// Releases that took the status of a replay from here need one.
const STATUS_FOR_EARLIER_RELEASES: u16 = 201;

/// A request that carries an idempotency key.
#[derive(Debug, Clone)]
pub struct IdempotentRequest {
    /// Hash of method, path and key.
    pub key_hash: String,
    /// Hash of the body.
    pub body_hash: String,
}

/// A request that is answered for the first time, with the response for its replays. It may show a
/// secret, so it does not show itself in logs.
#[derive(Clone)]
pub struct NewResponse<'a> {
    /// The request.
    pub request: &'a IdempotentRequest,
    /// The response's body.
    pub body: String,
}

impl fmt::Debug for NewResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewResponse").finish_non_exhaustive()
    }
}

/// The first response to a request. It may show a secret, so it does not show itself in logs.
#[derive(Deserialize)]
pub struct StoredResponse {
    /// The body, byte for byte.
    pub body: String,
}

impl fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResponse").finish_non_exhaustive()
    }
}

/// The result of a request that may carry an idempotency key.
#[derive(Debug)]
pub enum RequestOutcome<T = ()> {
    /// It is done.
    New(T),
    /// The same request was answered before.
    Replayed(StoredResponse),
}

/// A response as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseItem {
    /// Hash of the body that it answered.
    body_hash: String,
    #[serde(skip_deserializing)]
    status: u16,
    body: String,
    /// Unix seconds after which DynamoDB may remove it.
    ttl: i64,
    /// Unix milliseconds after which it no longer counts.
    expires_at_ms: i64,
}

impl ResponseItem {
    /// The response, if it is one to this request.
    fn to(self, request: &IdempotentRequest) -> Result<StoredResponse, Error> {
        if self.body_hash == request.body_hash {
            Ok(StoredResponse { body: self.body })
        } else {
            Err(Error::IdempotencyMismatch)
        }
    }
}

/// Where responses are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResponseStore {
    /// Beside the work, as most are.
    Work,
    /// Beside the webhooks: it shows the secret of one.
    Webhooks,
    /// Beside the inboxes: it shows the secret of one.
    Inboxes,
}

impl ResponseStore {
    fn key(self, org: &OrgId, hash: &str) -> Key {
        match self {
            ResponseStore::Work => Key::idempotency(org, hash),
            ResponseStore::Webhooks => Key::webhook_answer(org, hash),
            ResponseStore::Inboxes => Key::inbox_answer(org, hash),
        }
    }
}

impl Transaction {
    /// Stores the response, if the request carries an idempotency key, unless one is stored that still
    /// counts.
    pub(crate) fn store_response(
        self,
        org: &OrgId,
        response: Option<&NewResponse<'_>>,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        self.store_response_in(ResponseStore::Work, org, response, now)
    }

    /// The same in another place.
    pub(crate) fn store_response_in(
        self,
        responses: ResponseStore,
        org: &OrgId,
        response: Option<&NewResponse<'_>>,
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let Some(NewResponse { request, body }) = response else {
            return Ok(self);
        };
        let expires = now.plus_ms(STORED_MS);
        let item = ResponseItem {
            body_hash: request.body_hash.clone(),
            status: STATUS_FOR_EARLIER_RELEASES,
            body: body.clone(),
            ttl: expires.epoch_seconds() + 1,
            expires_at_ms: expires.epoch_ms(),
        };
        let free = Change::new().at_most_or_missing("expiresAtMs", now.epoch_ms());
        self.put_when(&responses.key(org, &request.key_hash), &item, free)
    }
}

impl Store {
    /// Stores the response to a request that nothing else is written with; the one that counts, which
    /// may be an earlier one.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal.
    pub async fn store_response(
        &self,
        org: &OrgId,
        response: &NewResponse<'_>,
        now: Timestamp,
    ) -> Result<StoredResponse, Error> {
        Transaction::new()
            .store_response(org, Some(response), now)?
            .commit(self)
            .await?;
        let first = self.stored_response(org, response.request, now).await?;
        first.ok_or_else(|| Error::internal("a response was not stored"))
    }

    /// The first response to a request, if it was answered before and that still counts.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal.
    pub async fn stored_response(
        &self,
        org: &OrgId,
        request: &IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<StoredResponse>, Error> {
        self.stored_response_in(ResponseStore::Work, org, request, now)
            .await
    }

    /// The same from another place.
    pub(crate) async fn stored_response_in(
        &self,
        responses: ResponseStore,
        org: &OrgId,
        request: &IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<StoredResponse>, Error> {
        let key = responses.key(org, &request.key_hash);
        let known: Option<ResponseItem> = self.get(&key).await?;
        let known = known.filter(|item| item.expires_at_ms > now.epoch_ms());
        known.map(|item| item.to(request)).transpose()
    }
}

/// The stored response that a new one was refused for, if it was.
pub(crate) fn replay(
    response: Option<&NewResponse<'_>>,
    refusals: &[Refusal],
) -> Result<Option<StoredResponse>, Error> {
    let is_response =
        |of: &&Refusal| matches!(of.kind, ItemKind::StoredResponse | ItemKind::SecretResponse);
    let Some((response, refusal)) = response.zip(refusals.iter().find(is_response)) else {
        return Ok(None);
    };
    let item = (refusal.item.clone())
        .ok_or_else(|| Error::internal("a refused idempotency record was not returned"))?;
    let item: ResponseItem = read(item)?;
    item.to(response.request).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::item::Item;
    use serde_json::json;

    #[test]
    fn releases_before_and_after_read_each_others_responses() {
        let request = IdempotentRequest {
            key_hash: "key".to_owned(),
            body_hash: "body".to_owned(),
        };
        let earlier = json!({
            "bodyHash": "body", "status": 200, "body": "{}", "ttl": 2, "expiresAtMs": 1_000
        });
        let item: Item = serde_dynamo::to_item(&earlier).unwrap();
        let item: ResponseItem = read(item).unwrap();
        assert_eq!(item.to(&request).unwrap().body, "{}");
        let new = ResponseItem {
            body_hash: "body".to_owned(),
            status: STATUS_FOR_EARLIER_RELEASES,
            body: "{}".to_owned(),
            ttl: 2,
            expires_at_ms: 1_000,
        };
        let names: Vec<String> = json!(new).as_object().unwrap().keys().cloned().collect();
        let expected: Vec<String> = earlier.as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, expected);
    }
}
