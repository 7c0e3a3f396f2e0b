//! `DELETE /v1/templates/{id}`. Work orders that used it retain its resolved content.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::template::built_in_template;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// The function `delete-template`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::DELETE_TEMPLATE, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    if built_in_template(&id).is_some() {
        return Err(Error::BuiltIn(Resource::Template));
    }
    store.delete_template(call.org(), &id).await?;
    Ok(Answer::no_content())
}
