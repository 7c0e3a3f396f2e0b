//! `GET /console/`: the page.

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_http::{Answer, HttpFunction, routes};
use lambda_http::{Request, RequestExt};

use crate::files::PAGE;

/// The function `get-console`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::open(cloud, &routes::GET_CONSOLE, handle)
}

/// A gateway has one resource for the path with a slash and without. What the page loads lies in the folder,
/// so the slash must be there.
async fn handle(request: Request) -> Result<Answer, Error> {
    match request.raw_http_path().ends_with('/') {
        true => Ok(PAGE.answer(&request)),
        false => Ok(Answer::moved("console/")),
    }
}
