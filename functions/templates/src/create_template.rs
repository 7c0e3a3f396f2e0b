//! `POST /v1/templates`

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::templates::input::NewTemplate;
use awo_contract::templates::output::TemplateShape;
use awo_domain::Error;
use awo_domain::template::{Template, built_in_template};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::settings::templates::taken_id;

struct State {
    store: Store,
    allow_file: bool,
}

/// The function `create-template`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        allow_file: settings::allow_file_repositories(&cloud.environment),
    };
    HttpFunction::keyed(cloud, &routes::CREATE_TEMPLATE, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    let idempotent = call.idempotency()?;
    call.query().finish()?;
    let (id, content) = call.object()?.read(&NewTemplate)?;
    Error::if_any(content.faults(state.allow_file))?;
    if built_in_template(&id).is_some() {
        return Err(taken_id(&id));
    }
    let template = Template {
        id,
        content,
        built_in: false,
        created_at: call.now,
        updated_at: None,
    };
    let answer = Answer::created(TemplateShape::from(&template))?;
    let response = call.response(idempotent.as_ref(), &answer);
    let created = state
        .store
        .create_template(call.org(), &template, response.as_ref());
    Ok(answer.unless_replayed(created.await?))
}
