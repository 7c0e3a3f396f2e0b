//! `GET /v1/environments`: newest first.
//!
//! An organization has few enough to read all of them, so the list needs no index, and a cursor
//! is good also when the environment that it names is gone.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::environments::output::EnvironmentShape;
use awo_domain::Error;
use awo_domain::environment::Environment;
use awo_http::page::{DEFAULT_LIMIT, Paging};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use serde_json::json;

/// The function `list-environments`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::LIST_ENVIRONMENTS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, "");
    query.finish()?;
    let all = store.environments(call.org()).await?;
    let shown = |environment: &Environment| {
        let extended = environment.content.extends.as_ref();
        let parent = all.iter().find(|other| Some(&other.name) == extended);
        json!(EnvironmentShape::of(environment, parent))
    };
    // Times are of one length, so places compare as the list is sorted.
    Answer::ok(paging.of_sorted("environments", &all, place, shown))
}

fn place(environment: &Environment) -> String {
    format!("{}#{}", environment.created_at, environment.name)
}
