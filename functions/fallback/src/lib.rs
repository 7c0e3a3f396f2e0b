//! The function `fallback`: what no route serves is answered in the right style, 404 or 405.

use awo_cloud::{Cloud, SetupError};
use awo_http::HttpFunction;

/// The function `fallback`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::fallback(cloud)
}
