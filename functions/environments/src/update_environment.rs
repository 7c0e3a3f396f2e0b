//! `PUT /v1/environments/{name}`: fields that the body omits are removed. Runs that are claimed later see
//! it; the size is that of the moment at which a work order was made. A secret's value is bound to the phases and registries
//! that it was set for: another one unsets it, unless the key may set secrets.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::environments::input::EnvironmentReplacement;
use awo_contract::environments::output::EnvironmentShape;
use awo_domain::api_key::Scope;
use awo_domain::environment::{Deployment, Environment, EnvironmentName};
use awo_domain::{Error, Resource};
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::inheritance::checked_parent;

struct State {
    store: Store,
    deployment: Deployment,
}

/// The function `update-environment`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        deployment: settings::environments(&cloud.environment)?,
    };
    HttpFunction::keyed(cloud, &routes::UPDATE_ENVIRONMENT, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    call.query().finish()?;
    until_unchanged(Resource::Environment, || update(&state, &call, &name)).await
}

async fn update(
    state: &State,
    call: &Call,
    name: &EnvironmentName,
) -> Result<Option<Answer>, Error> {
    let stored = state.store.environment(call.org(), name).await?;
    let stored = stored.ok_or(Error::NotFound(Resource::Environment))?;
    let body = EnvironmentReplacement { name: Some(name) };
    let content = call.object()?.read(&body)?;
    let parties = (&state.store, &state.deployment);
    let before = Some(&stored.environment.content);
    let parent = checked_parent(parties, call, name, &content, before).await?;
    let may_set_secrets = Scope::EnvironmentsSecrets.is_granted_by(&call.caller.scopes);
    let replaced = &stored.environment;
    let set_secrets = replaced
        .content
        .still_set(&content, &replaced.set_secrets, may_set_secrets);
    let new = Environment {
        content,
        updated_at: Some(call.now),
        set_secrets,
        ..stored.environment.clone()
    };
    let replaced = state.store.replace_environment(call.org(), &stored, &new);
    if !replaced.await? {
        return Ok(None);
    }
    Answer::ok(EnvironmentShape::of(&new, parent.as_ref())).map(Some)
}
