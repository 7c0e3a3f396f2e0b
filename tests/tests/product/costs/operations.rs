//! Each operation of the API, called as in its samples, in an organization that has one of
//! everything and in which nothing has changed yet.

use awo_http::routes::Access;
use awo_tests::counted_requests::CountedRequests;
use awo_tests::service::TestService;

use super::{Row, table};
use crate::authorisation::samples::{self, Sample, Things};
use crate::http_api::quiet_service;

/// Windows of the rate limit.
const WINDOW_MS: i64 = 60_000;

pub async fn write(text: &mut String) {
    let says = "One call of each, by a caller whose key was used in this minute.";
    table(text, "Operations", says, &measured().await);
}

async fn measured() -> Vec<Row> {
    let mut service = quiet_service().await;
    let requests = CountedRequests::of(&service).await;
    let called = |sample: &Sample| {
        let waits = sample.is_live() || sample.route.function == "run-verification";
        sample.route.access != Access::Runner && !waits
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut untouched = None;
    for sample in samples::all().into_iter().filter(called) {
        let title = sample.title();
        let costs = loop {
            let things = match untouched.take() {
                Some(things) => things,
                None => in_new_organization(&mut service).await,
            };
            let window = begun_window(&service, &requests).await;
            let client = requests.for_client(&service.client);
            let answer = sample.send(&client, &things).await;
            let costs = requests.costs();
            assert!(answer.status < 400, "{title}: {}", answer.text);
            untouched = sample.only_reads().then_some(things);
            if window_of(&service) == window {
                break costs;
            }
        };
        let rounds = costs.rounds.len();
        let most = match sample.route.function {
            // An export takes a permit, and must read new costs before those that are in sums.
            "export-focus" => 6,
            // What a budget counts is found by its definition: by its id, its version and its period.
            "get-budget" | "list-budgets" => 3,
            // An index names the inboxes, which senders name without their owner.
            "list-inboxes" => 3,
            // An entry names its thread, which another turn may hold.
            "get-queue-position" => 3,
            // A thread names its turns, these their newest runs, and the cost is that of all their runs.
            "get-thread" => 5,
            // A month that is open is added up from its entries and the holds of every day.
            "get-statement" | "list-statements" => usize::MAX,
            _ => 2,
        };
        assert!(!sample.only_reads() || rounds <= most, "{title}: {costs}");
        let is_another = rows.last().is_some_and(|(last, _)| *last == title);
        let with = if is_another { " with a body" } else { "" };
        rows.push((format!("{title}{with}"), costs));
    }
    rows
}

async fn in_new_organization(service: &mut TestService) -> Things {
    (service.org, service.client) = service.another_org(1_000_000).await;
    Things::of(service).await
}

/// The window of the rate limit that this is: what is measured is measured again if it ends
/// meanwhile.
pub fn window_of(service: &TestService) -> i64 {
    service.service.cloud.clock.now().epoch_ms() / WINDOW_MS
}

/// The window, in which the key was used from now on; nothing is recorded of that.
pub async fn begun_window(service: &TestService, requests: &CountedRequests) -> i64 {
    let window = window_of(service);
    service.client.get("/v1/credits").await;
    requests.costs();
    window
}
