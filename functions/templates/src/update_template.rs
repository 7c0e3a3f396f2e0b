//! `PUT /v1/templates/{id}`: the given fields replace the stored ones. Work orders that used the
//! template do not change.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::templates::input::TemplateUpdate;
use awo_contract::templates::output::TemplateShape;
use awo_domain::template::Template;
use awo_domain::{Error, Resource};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

/// How often an update is made anew when others change the template under it.
const UPDATE_TRIES: u32 = 8;

struct State {
    store: Store,
    allow_file: bool,
}

/// The function `update-template`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        allow_file: settings::allow_file_repositories(&cloud.environment),
    };
    HttpFunction::keyed(cloud, &routes::UPDATE_TEMPLATE, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    call.query().finish()?;
    for _ in 0..UPDATE_TRIES {
        let known = state.store.template(call.org(), &id).await?;
        let known = known.ok_or(Error::NotFound(Resource::Template))?;
        if known.template.built_in {
            return Err(Error::BuiltIn(Resource::Template));
        }
        let old = known.template.clone();
        let change = call.object()?.read(&TemplateUpdate)?;
        let content = change.applied_to(old.content);
        Error::if_any(content.faults(state.allow_file))?;
        let new = Template {
            content,
            updated_at: Some(call.now),
            ..old
        };
        let replaced = state.store.replace_template(call.org(), &known, &new);
        if replaced.await? {
            return Answer::ok(TemplateShape::from(&new));
        }
    }
    Err(Error::Conflict(
        "other requests keep changing this template: try again".to_owned(),
    ))
}
