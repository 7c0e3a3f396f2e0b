//! `GET /openapi.json`: the one route that everybody may call.

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_http::{Answer, HttpFunction, routes};
use lambda_http::Request;

/// The document as it is kept.
pub const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// The function `get-openapi`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::open(cloud, &routes::GET_OPENAPI, handle)
}

async fn handle(_: Request) -> Result<Answer, Error> {
    Ok(Answer::json(DOCUMENT.to_owned()))
}
