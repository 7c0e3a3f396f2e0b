//! `GET /v1/templates/{id}`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::templates::output::TemplateShape;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `get-template`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_TEMPLATE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    let known = store
        .template(call.org(), &id)
        .await?
        .ok_or(Error::NotFound(Resource::Template))?;
    Answer::ok(TemplateShape::from(&known.template))
}
