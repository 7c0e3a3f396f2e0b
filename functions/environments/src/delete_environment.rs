//! `DELETE /v1/environments/{name}`. Work orders that name it go on with what it was when they were
//! made; profiles and templates that name it keep it from being deleted. The values of its secrets are deleted with it.

use std::sync::Arc;

use awo_cloud::secrets::Secrets;
use awo_cloud::{Cloud, SetupError};
use awo_domain::environment::secret_name;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// How often a delete is decided anew when others start to name the environment.
const DELETE_TRIES: u32 = 8;
/// How many of those that name it an error lists.
const MAX_LISTED: usize = 10;

struct State {
    store: Store,
    secrets: Secrets,
}

/// The function `delete-environment`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        secrets: cloud.secrets()?,
    };
    HttpFunction::keyed(cloud, &routes::DELETE_ENVIRONMENT, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let name = call.path_id()?;
    call.query().finish()?;
    let State { store, secrets } = &*state;
    for _ in 0..DELETE_TRIES {
        let known = store.environment(call.org(), &name).await?;
        let known = known.ok_or(Error::NotFound(Resource::Environment))?;
        // After the environment: the condition covers later references to it.
        let named_by = store.named_by(call.org(), &name).await?;
        if !named_by.is_empty() {
            return Err(named(&named_by));
        }
        if store.delete_environment(call.org(), &known).await? {
            // A new environment of this name has no secret that is set, so a value that is left behind has no reader.
            for secret in known.environment.set_secrets.keys() {
                secrets
                    .delete(call.org(), &secret_name(&name, secret))
                    .await?;
            }
            return Ok(Answer::no_content());
        }
    }
    Err(Error::Conflict(
        "others keep changing what names this environment: try again".to_owned(),
    ))
}

fn named(by: &[String]) -> Error {
    let more = match by.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed: Vec<&str> = by.iter().take(MAX_LISTED).map(String::as_str).collect();
    Error::Conflict(format!(
        "it is named by {}{more}: let them name another environment first, or delete them",
        listed.join(", ")
    ))
}
