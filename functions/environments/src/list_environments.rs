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
    let before = match &paging.after {
        // Times are of one length, so what stands for a position compares as the list is ordered.
        Some(cursor) => all
            .iter()
            .take_while(|one| position(one) >= *cursor)
            .count(),
        None => paging.offset as usize,
    };
    let page = all.iter().skip(before).take(paging.limit as usize);
    let page: Vec<&Environment> = page.collect();
    let has_more = all.len() > before + page.len();
    let next = page.last().filter(|_| has_more).map(|last| position(last));
    let items = page.iter().map(|one| json!(EnvironmentShape::from(*one)));
    Answer::ok(paging.body(
        "environments",
        items.collect(),
        all.len() as u64,
        next.as_deref(),
    ))
}

fn position(environment: &Environment) -> String {
    format!("{}#{}", environment.created_at, environment.name)
}
