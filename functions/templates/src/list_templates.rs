//! `GET /v1/templates`: the organization's own, newest first, then the built-in ones.
//!
//! An organization has few enough to read all of them, so the list needs no index, and a cursor
//! stays valid when its template is deleted.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::templates::output::TemplateShape;
use awo_domain::Error;
use awo_domain::template::Template;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-templates`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_TEMPLATES, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let all = store.templates(call.org()).await?;
    let before = match &paging.after {
        Some(cursor) => up_to(cursor, &all),
        None => paging.offset as usize,
    };
    let shown = |template: &Template| json!(TemplateShape::from(template));
    Answer::ok(paging.of_whole("templates", &all, before, place, shown))
}

/// A cursor's key of a template: its id if it is built in, else its time of creation, too.
fn place(template: &Template) -> String {
    let (at, id) = (template.created_at, template.id.as_str());
    if template.built_in {
        id.to_owned()
    } else {
        format!("{at}#{id}")
    }
}

/// How many templates a page leaves out that begins behind a cursor. Times are of one length, so
/// places of the organization's own compare as they are listed.
fn up_to(cursor: &str, all: &[Template]) -> usize {
    match all.iter().position(|t| t.built_in && place(t) == cursor) {
        Some(at) => at + 1,
        None => (all.iter())
            .take_while(|t| !t.built_in && place(t).as_str() >= cursor)
            .count(),
    }
}
