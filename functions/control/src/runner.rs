//! Authentication of a runner, and its requests.

use awo_domain::control::{MAX_BODY_BYTES, MAX_REPORTED_EVENTS, NumberedEvent};
use awo_domain::{Error, OrgId, RunId};
use awo_http::authentication::bearer;
use awo_http::call::body_bytes;
use awo_store::runs::lifecycle::report::Reporter;
use lambda_http::{Request, RequestExt};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// Longest name of a commit, in characters.
const MAX_COMMIT: usize = 64;
/// Largest event, in bytes of JSON: a timeline event is one item.
const MAX_EVENT_BYTES: usize = 300_000;

/// The stored part of a token.
pub fn token_hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// True for 64 lower-case hex digits.
pub fn is_token(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The reporter that path and token name. Whether it holds the lease is for the store to decide.
pub fn reporter(request: &Request) -> Result<Reporter, Error> {
    let parameters = request.path_parameters();
    let org = parameters
        .first("orgId")
        .and_then(|id| OrgId::parse(id).ok());
    let run = parameters
        .first("runId")
        .and_then(|id| RunId::parse(id).ok());
    let token = bearer(request).filter(|token| is_token(token));
    match (org, run, token) {
        (Some(org), Some(run_id), Some(token)) => Ok(Reporter {
            org,
            run_id,
            token_hash: token_hash(token),
        }),
        _ => Err(Error::Unauthorized),
    }
}

/// The body.
pub fn body<T: DeserializeOwned>(request: &Request) -> Result<T, Error> {
    let bytes = body_bytes(request);
    if bytes.len() > MAX_BODY_BYTES {
        return Err(Error::PayloadTooLarge {
            limit_bytes: MAX_BODY_BYTES,
        });
    }
    serde_json::from_slice(bytes)
        .map_err(|e| Error::invalid("", format!("does not match the schema: {e}")))
}

/// Events that fit.
pub fn checked(events: &[NumberedEvent]) -> Result<(), Error> {
    if events.len() > MAX_REPORTED_EVENTS {
        return Err(Error::invalid(
            "/events",
            format!("must have at most {MAX_REPORTED_EVENTS} items"),
        ));
    }
    let too_large = |event: &NumberedEvent| {
        serde_json::to_vec(event).is_ok_and(|json| json.len() > MAX_EVENT_BYTES)
    };
    if let Some(at) = events.iter().position(too_large) {
        return Err(Error::invalid(
            &format!("/events/{at}"),
            format!("must not exceed {MAX_EVENT_BYTES} bytes"),
        ));
    }
    Ok(())
}

/// The name of a commit.
pub fn checked_commit(path: &str, commit: &str) -> Result<(), Error> {
    let is_hex = commit.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex && (1..=MAX_COMMIT).contains(&commit.len()) {
        return Ok(());
    }
    let message = format!("must be 1 to {MAX_COMMIT} hex digits");
    Err(Error::invalid(path, message))
}
