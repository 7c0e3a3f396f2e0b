//! The function `fallback`: responds to unknown paths and methods with 404 or 405 in the right
//! style.

use awo_cloud::{Cloud, SetupError};
use awo_http::HttpFunction;

/// The function `fallback`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::fallback(cloud)
}
