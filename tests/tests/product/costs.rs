//! The cost of operations and runs: round trips, calls and units of DynamoDB.
//! `tests/golden/calls.md` is the table of them, so that reviews show a change of cost.

mod operations;
mod runs;

use std::fmt::Write as _;
use std::path::Path;

use awo_domain::OrgId;
use awo_domain::statement::Month;
use awo_tests::counted_requests::CountedRequests;
use awo_tests::driven::DrivenRun;
use awo_tests::recorder::Costs;
use awo_tests::service::TestService;
use serde_json::json;

use self::operations::{begun_window, window_of};
use crate::authorisation::samples::Things;
use crate::http_api::quiet_service;

/// If it is set, the table is written rather than compared.
const WRITE: &str = "AWO_WRITE_CALLS";

const HEAD: &str = "\
# Calls of AWS

Written by `make calls` from what the stand-ins were asked; a test compares it. **Depth** is how many
round trips follow one another: calls that are under way at once (`‖`) are one. **Read** and **write** are
DynamoDB's units, as it reports them, indexes included; it does not report those of refused writes.
`TransactWriteItems:9` writes nine items. The first call of a minute with a key costs one `UpdateItem` more.
Not here, since they ask for as long as they wait: live events, verifications that a client asked for, kills
of what runs.
";

/// A line of a table: what was done, and what it cost.
type Row = (String, Costs);

fn table(text: &mut String, title: &str, says: &str, rows: &[Row]) {
    write!(text, "\n## {title}\n\n{says}\n\n").unwrap();
    text.push_str(
        "| | depth | calls | read | write | in their order |\n|---|--:|--:|--:|--:|---|\n",
    );
    for (what, costs) in rows {
        let calls = match costs.to_string() {
            none if none.is_empty() => "–".to_owned(),
            calls => calls,
        };
        writeln!(text, "{}{calls} |", numbers(what, costs)).unwrap();
    }
}

/// As [`table`], with the sum below it.
fn table_with_sum(text: &mut String, title: &str, says: &str, rows: &[Row]) {
    table(text, title, says, rows);
    let mut sum = Costs::default();
    rows.iter().for_each(|(_, costs)| sum.add(costs));
    writeln!(text, "{}|", numbers("**in all**", &sum)).unwrap();
}

fn numbers(what: &str, costs: &Costs) -> String {
    let (depth, calls) = (costs.rounds.len(), costs.calls());
    let (read, write) = (costs.read_units, costs.write_units);
    format!("| {what} | {depth} | {calls} | {read} | {write} | ")
}

#[tokio::test]
async fn a_read_costs_two_round_trips_at_most_and_the_table_says_what_everything_costs() {
    let mut text = HEAD.to_owned();
    operations::write(&mut text).await;
    runs::write(&mut text).await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/calls.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let differ = |(was, is): &(&str, &str)| was != is;
    let changed: Vec<(&str, &str)> = known.lines().zip(text.lines()).filter(differ).collect();
    assert!(
        known == text,
        "{} says what calls cost, and they cost something else: {changed:#?}\n\
         If that is meant, run `make calls`.",
        path.display(),
    );
}

/// Lets so many work orders be made and come to their end.
async fn finish(service: &TestService, orders: u32) {
    for _ in 0..orders {
        let order = json!({ "id": Things::of(service).await.work_order });
        let mut run = DrivenRun::of(service, &order).await;
        run.succeed().await;
        run.free_slot().await;
    }
}

#[tokio::test]
async fn lists_and_the_queue_cost_the_same_however_many_there_are() {
    let service = quiet_service().await;
    let requests = CountedRequests::of(&service).await;
    let client = requests.for_client(&service.client);
    let org: &OrgId = &service.org;
    let things = Things::of(&service).await;
    let waiting = &things.work_order;
    let paths = [
        "/v1/work-orders?limit=2".to_owned(),
        "/v1/work-orders?status=succeeded&limit=2".to_owned(),
        "/v1/work-orders?status=queued&limit=2".to_owned(),
        "/v1/runs?limit=2".to_owned(),
        "/v1/runs?status=succeeded&limit=2".to_owned(),
        "/api/v1/queue/health".to_owned(),
        format!("/api/v1/queue/position/{waiting}"),
    ];
    let mut before = Vec::new();
    for finished in [5, 40] {
        finish(&service, finished).await;
        let costs = loop {
            let window = begun_window(&service, &requests).await;
            let mut costs = Vec::new();
            for path in &paths {
                let answer = client.get(path).await;
                assert_eq!(answer.status, 200, "{}", answer.text);
                costs.push(requests.costs().rounds);
            }
            if window_of(&service) == window {
                break costs;
            }
        };
        if !before.is_empty() {
            assert_eq!(before, costs, "{org}");
        }
        before = costs;
    }
}

#[tokio::test]
async fn a_statement_and_budgets_cost_the_same_however_many_runs_there_were() {
    let service = quiet_service().await;
    let requests = CountedRequests::of(&service).await;
    let client = requests.for_client(&service.client);
    let clock = &service.service.cloud.clock;
    let store = service.service.cloud.store().unwrap();
    let limit = json!({ "name": "All", "period": "month", "limitCredits": 1_000_000,
                        "onLimit": "block" });
    let budget = service.client.post("/v1/budgets", &limit).await.body;
    let paths = [
        format!("/v1/statements/{}", Month::of(clock.now())),
        "/v1/statements".to_owned(),
        "/v1/budgets".to_owned(),
        format!("/v1/budgets/{}", budget["id"].as_str().unwrap()),
    ];
    for path in &paths {
        // The process knows the budgets from then on.
        client.get(path).await;
    }
    let mut before = Vec::new();
    for finished in [5, 40] {
        finish(&service, finished).await;
        while store.add_costs(&service.org, clock.now()).await.unwrap() {}
        // What was added a minute ago is read at once.
        clock.advance(61_000);
        let costs = loop {
            let window = begun_window(&service, &requests).await;
            let mut costs = Vec::new();
            for path in &paths {
                let answer = client.get(path).await;
                assert_eq!(answer.status, 200, "{}", answer.text);
                let one = requests.costs();
                assert_eq!(one.rounds.len(), 2, "{path}: {one}");
                costs.push((one.read_units.to_string(), one.to_string()));
            }
            if window_of(&service) == window {
                break costs;
            }
        };
        if !before.is_empty() {
            assert_eq!(before, costs);
        }
        before = costs;
    }
}
