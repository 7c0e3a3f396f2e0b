//! `POST /v1/environments`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::environments::input::NewEnvironment;
use awo_contract::environments::output::EnvironmentShape;
use awo_domain::Error;
use awo_domain::environment::{Deployment, Environment, SetSecrets};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::inheritance::checked_parent;

struct State {
    store: Store,
    deployment: Deployment,
}

/// The function `create-environment`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        deployment: settings::environments(&cloud.environment)?,
    };
    HttpFunction::keyed(cloud, &routes::CREATE_ENVIRONMENT, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (name, content) = call.object()?.read(&NewEnvironment)?;
    let parties = (&state.store, &state.deployment);
    let parent = checked_parent(parties, &call, &name, &content, None).await?;
    let environment = Environment {
        name,
        content,
        created_at: call.now,
        updated_at: None,
        set_secrets: SetSecrets::new(),
    };
    let answer = Answer::created(EnvironmentShape::of(&environment, parent.as_ref()))?;
    let response = call.response(idempotent.as_ref(), &answer);
    let created = state
        .store
        .create_environment(call.org(), &environment, response.as_ref());
    Ok(answer.unless_replayed(created.await?))
}
