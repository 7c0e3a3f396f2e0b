//! `GET /console/{file}`: what the page loads.

use awo_cloud::{Cloud, SetupError};
use awo_domain::{Error, Resource};
use awo_http::{Answer, HttpFunction, routes};
use lambda_http::{Request, RequestExt};

use crate::files::FILES;

/// The function `get-console-file`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::open(cloud, &routes::GET_CONSOLE_FILE, handle)
}

async fn handle(request: Request) -> Result<Answer, Error> {
    let parameters = request.path_parameters();
    let name = parameters.first("file").unwrap_or_default();
    let file = FILES.iter().find(|file| file.name == name);
    let file = file.ok_or(Error::NotFound(Resource::Route))?;
    Ok(file.answer(&request))
}
