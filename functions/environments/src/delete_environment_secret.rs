//! `DELETE /v1/environments/{name}/secrets/{secret}`: deletes the value of a secret; its name stays in the environment.

use std::sync::Arc;

use awo_cloud::secrets::Secrets;
use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_domain::environment::{EnvironmentName, SecretName, secret_name};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    secrets: Secrets,
}

/// The function `delete-environment-secret`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        secrets: cloud.secrets()?,
    };
    HttpFunction::keyed(cloud, &routes::DELETE_ENVIRONMENT_SECRET, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (name, secret): (EnvironmentName, SecretName) = (call.path_id()?, call.path_id()?);
    call.query().finish()?;
    let State { store, secrets } = &*state;
    // The note first: without it no run gets the value.
    store.note_unset_secret(call.org(), &name, &secret).await?;
    let stored_as = secret_name(&name, secret.as_str());
    secrets.delete(call.org(), &stored_as).await?;
    Ok(Answer::no_content())
}
