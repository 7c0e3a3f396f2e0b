//! Stored responses, for callers that repeat a request with the same idempotency key.

use std::fmt;

use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::Item;
use crate::engine::key::Key;
use crate::engine::table::read;
use crate::engine::transaction::Transaction;

/// How long an answer is kept.
pub const STORED_MS: i64 = 24 * 3_600_000;

/// A request that carries an idempotency key.
#[derive(Debug, Clone)]
pub struct IdempotentRequest {
    /// Hash of method, path and key.
    pub key_hash: String,
    /// Hash of the body.
    pub body_hash: String,
}

/// The first answer to a request. It may show a secret, so it does not show itself in logs.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstAnswer {
    /// Hash of the body that it answered.
    pub body_hash: String,
    /// HTTP status.
    pub status: u16,
    /// The body, byte for byte.
    pub body: String,
    /// Unix seconds after which DynamoDB may remove it.
    pub ttl: i64,
    /// Unix milliseconds after which it no longer counts.
    pub expires_at_ms: i64,
}

impl fmt::Debug for FirstAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstAnswer")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Where first answers are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResponseStore {
    /// Beside the work, as most are.
    WithWork,
    /// Beside the webhooks: it shows the secret of one.
    WithWebhooks,
}

impl ResponseStore {
    fn key(self, org: &OrgId, hash: &str) -> Key {
        match self {
            ResponseStore::WithWork => Key::idempotency(org, hash),
            ResponseStore::WithWebhooks => Key::webhook_answer(org, hash),
        }
    }
}

impl Transaction {
    /// Keeps the first answer, unless one is kept that still counts.
    pub(crate) fn remember(
        self,
        org: &OrgId,
        request: &IdempotentRequest,
        answer: (u16, String),
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        self.remember_in(ResponseStore::WithWork, org, request, answer, now)
    }

    /// The same in another place.
    pub(crate) fn remember_in(
        self,
        responses: ResponseStore,
        org: &OrgId,
        request: &IdempotentRequest,
        (status, body): (u16, String),
        now: Timestamp,
    ) -> Result<Transaction, Error> {
        let expires = now.plus_ms(STORED_MS);
        let answer = FirstAnswer {
            body_hash: request.body_hash.clone(),
            status,
            body,
            ttl: expires.epoch_seconds() + 1,
            expires_at_ms: expires.epoch_ms(),
        };
        let free = Change::new().at_most_or_missing("expiresAtMs", now.epoch_ms());
        let key = responses.key(org, &request.key_hash);
        self.put_when(&key, &answer, free)
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
        request: &IdempotentRequest,
        answer: (u16, String),
        now: Timestamp,
    ) -> Result<FirstAnswer, Error> {
        Transaction::new()
            .remember(org, request, answer, now)?
            .commit(self)
            .await?;
        let first = self.first_answer(org, request, now).await?;
        first.ok_or_else(|| Error::internal("a response was not stored"))
    }

    /// The first answer to a request, if it was answered before and that still counts.
    ///
    /// # Errors
    /// [`Error::IdempotencyMismatch`], or internal.
    pub async fn first_answer(
        &self,
        org: &OrgId,
        request: &IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<FirstAnswer>, Error> {
        self.first_answer_in(ResponseStore::WithWork, org, request, now)
            .await
    }

    /// The same from another place.
    pub(crate) async fn first_answer_in(
        &self,
        responses: ResponseStore,
        org: &OrgId,
        request: &IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<FirstAnswer>, Error> {
        let key = responses.key(org, &request.key_hash);
        let known: Option<FirstAnswer> = self.get(&key).await?;
        match known.filter(|answer| answer.expires_at_ms > now.epoch_ms()) {
            Some(answer) if answer.body_hash == request.body_hash => Ok(Some(answer)),
            Some(_) => Err(Error::IdempotencyMismatch),
            None => Ok(None),
        }
    }
}

/// The answer that stands in the way of a new one.
pub(crate) fn first_answer(
    request: &IdempotentRequest,
    item: Option<Item>,
) -> Result<FirstAnswer, Error> {
    let item =
        item.ok_or_else(|| Error::internal("a refused idempotency record was not returned"))?;
    let answer: FirstAnswer = read(item)?;
    if answer.body_hash == request.body_hash {
        Ok(answer)
    } else {
        Err(Error::IdempotencyMismatch)
    }
}
