//! `PUT /v1/templates/{id}`: the given fields replace the stored ones. Work orders that used the
//! template do not change.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::templates::input::TemplateUpdate;
use awo_contract::templates::output::TemplateShape;
use awo_domain::template::{Template, TemplateId};
use awo_domain::{Error, Resource};
use awo_http::retry::until_unchanged;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

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
    until_unchanged(Resource::Template, || update(&state, &call, &id)).await
}

async fn update(state: &State, call: &Call, id: &TemplateId) -> Result<Option<Answer>, Error> {
    let stored = state.store.template(call.org(), id).await?;
    let stored = stored.ok_or(Error::NotFound(Resource::Template))?;
    if stored.template.built_in {
        return Err(Error::BuiltIn(Resource::Template));
    }
    let old = stored.template.clone();
    let change = call.object()?.read(&TemplateUpdate)?;
    let content = change.applied_to(old.content);
    Error::if_any(content.faults(state.allow_file))?;
    let new = Template {
        content,
        updated_at: Some(call.now),
        ..old
    };
    let replaced = state.store.replace_template(call.org(), &stored, &new);
    if !replaced.await? {
        return Ok(None);
    }
    Answer::ok(TemplateShape::from(&new)).map(Some)
}
