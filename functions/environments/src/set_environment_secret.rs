//! `PUT /v1/environments/{name}/secrets/{secret}`: sets the value of a secret, which no route ever reads.

use std::sync::Arc;

use awo_cloud::secrets::Secrets;
use awo_cloud::{Cloud, SetupError};
use awo_contract::environments::input::NewSecretValue;
use awo_domain::Error;
use awo_domain::environment::{EnvironmentName, SecretName, secret_name};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

struct State {
    store: Store,
    secrets: Secrets,
}

/// The function `set-environment-secret`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        secrets: cloud.secrets()?,
    };
    HttpFunction::keyed(cloud, &routes::SET_ENVIRONMENT_SECRET, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let (name, secret): (EnvironmentName, SecretName) = (call.path_id()?, call.path_id()?);
    call.query().finish()?;
    let value = call.object()?.read(&NewSecretValue)?;
    let State { store, secrets } = &*state;
    let org = call.org();
    let known = store.environment_with_secret(org, &name, &secret).await?;
    let bound_to = known.environment.content.exposure(secret.as_str());
    let stored_as = secret_name(&name, secret.as_str());
    secrets.set(org, &stored_as, &value).await?;
    store
        .note_set_secret(org, &name, &secret, &bound_to, call.now)
        .await?;
    Ok(Answer::no_content())
}
