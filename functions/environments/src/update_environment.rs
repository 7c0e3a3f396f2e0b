//! `PUT /v1/environments/{name}`: fields that the body omits are removed. Runs that are claimed later see
//! it; the size is that of the moment at which a work order was made.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::environments::input::EnvironmentReplacement;
use awo_contract::environments::output::EnvironmentShape;
use awo_domain::environment::{Deployment, Environment};
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// How often an update is made anew when others change the environment under it.
const UPDATE_TRIES: u32 = 8;

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
        deployment: settings::environments(&cloud.environment),
    };
    HttpFunction::keyed(cloud, &routes::UPDATE_ENVIRONMENT, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    call.query().finish()?;
    for _ in 0..UPDATE_TRIES {
        let known = state.store.environment(call.org(), &name).await?;
        let known = known.ok_or(Error::NotFound(Resource::Environment))?;
        let body = EnvironmentReplacement { name: Some(&name) };
        let content = call.object()?.read(&body)?;
        Error::if_any(content.faults(&state.deployment))?;
        let new = Environment {
            content,
            updated_at: Some(call.now),
            ..known.environment.clone()
        };
        let replaced = state.store.replace_environment(call.org(), &known, &new);
        if replaced.await? {
            return Answer::ok(EnvironmentShape::from(&new));
        }
    }
    Err(Error::Conflict(
        "others keep changing this environment: try again".to_owned(),
    ))
}
