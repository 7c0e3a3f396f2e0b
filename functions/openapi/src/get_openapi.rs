//! `GET /openapi.json`: the one route without authentication.

use std::sync::LazyLock;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_http::site::{is_known, weak_tag};
use awo_http::{Answer, HttpFunction, routes};
use lambda_http::Request;

/// The document as it is committed.
pub const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// How long caches may keep it without asking: it changes with a release.
const CACHE_CONTROL: &str = "public, max-age=300";

/// The document as it is sent: without white space, which is half of it.
static SENT: LazyLock<String> = LazyLock::new(|| {
    let document: Result<serde_json::Value, _> = serde_json::from_str(DOCUMENT);
    document.map_or_else(|_| DOCUMENT.to_owned(), |document| document.to_string())
});

/// Weak, since a gateway sends the same document in several codings under it.
static ETAG: LazyLock<String> = LazyLock::new(|| weak_tag(SENT.as_bytes()));

/// The function `get-openapi`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::open(cloud, &routes::GET_OPENAPI, handle)
}

async fn handle(request: Request) -> Result<Answer, Error> {
    let answer = if is_known(&request, &ETAG) {
        Answer::not_modified()
    } else {
        Answer::json(SENT.clone())
    };
    Ok(answer
        .header("etag", ETAG.clone())
        .header("cache-control", CACHE_CONTROL.to_owned())
        .header("vary", "accept-encoding".to_owned()))
}
