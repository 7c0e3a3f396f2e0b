//! The function `fallback`: responds to unknown paths and methods with 404 or 405 in the right
//! style.

use awo_cloud::{Cloud, SetupError};
use awo_http::HttpFunction;
use awo_http::program::{ApiProgram, Make};
use awo_http::routes::FALLBACK;

/// It is of no route.
pub const PROGRAMS: &[ApiProgram] = &[ApiProgram {
    name: FALLBACK,
    make: Make::Whole(function),
}];

/// The function `fallback`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::fallback(cloud)
}
