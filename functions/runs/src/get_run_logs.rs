//! `GET /v1/runs/{id}/logs`: the agent's output, by iteration.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::runs::log::{LogShape, LogsShape};
use awo_domain::work_order::MAX_ITERATIONS;
use awo_domain::{Error, Resource};
use awo_http::page::{DEFAULT_LIMIT, MAX_LIMIT};
use awo_http::query::Query;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_store::engine::list::MAX_PAGE_BYTES;
use awo_store::runs::logs::Log;
use serde_json::{Value, json};

/// The function `get-run-logs`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_RUN_LOGS, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id = call.path_id()?;
    let query = call.query();
    let wanted = IterationSelection::of(&query);
    query.finish()?;
    let logs = store.logs(call.org(), &id, wanted.after, wanted.limit, call.now);
    let (run, page) = tokio::try_join!(store.run(call.org(), &id), logs)?;
    run.ok_or(Error::NotFound(Resource::Run))?;
    let logs = page.items.iter().filter(|log| wanted.is(log.iteration));
    let (logs, all_shown) = shown(logs);
    let has_more = wanted.only.is_none() && (page.has_more || !all_shown);
    Answer::ok(LogsShape { logs, has_more })
}

/// Which iterations are asked for.
struct IterationSelection {
    after: u32,
    limit: u32,
    only: Option<u32>,
}

impl IterationSelection {
    fn of(query: &Query) -> IterationSelection {
        let only = query.parsed("iteration", ITERATION, |text| {
            let number = text.parse().ok();
            number.filter(|number| (1..=MAX_ITERATIONS).contains(number))
        });
        let Some(iteration) = only else {
            return IterationSelection {
                after: query.whole("after", 0..=MAX_ITERATIONS, 0),
                limit: query.whole("limit", 1..=MAX_LIMIT, DEFAULT_LIMIT),
                only,
            };
        };
        for name in ["after", "limit"] {
            if query.text(name).is_some() {
                query.fault(name, "must not be given together with iteration");
            }
        }
        IterationSelection {
            after: iteration - 1,
            limit: 1,
            only,
        }
    }

    fn is(&self, iteration: u32) -> bool {
        self.only.is_none_or(|only| only == iteration)
    }
}

const ITERATION: &str = "must be a whole number from 1 to 100";

/// The logs that an answer holds, at least one, and whether that is all of them.
fn shown<'a>(logs: impl Iterator<Item = &'a Log>) -> (Vec<LogShape>, bool) {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for log in logs {
        let shape = LogShape::from(log);
        bytes += bytes_on_the_way(&json!(shape));
        if bytes > MAX_PAGE_BYTES && !shown.is_empty() {
            return (shown, false);
        }
        shown.push(shape);
    }
    (shown, true)
}

/// What a part of a body takes in a function's answer, where the body is a string in JSON, so
/// that quotes and backslashes are escaped once more.
fn bytes_on_the_way(part: &Value) -> usize {
    let text = part.to_string();
    let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\'));
    text.len() + escaped.count()
}
