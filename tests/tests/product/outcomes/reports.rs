//! Reports of outcomes: counted over threads, and equal to the ledger to the micro-credit.

use awo_domain::cost::labels::CostLabels;
use awo_domain::money::MicroCredits;
use awo_domain::pull_request::PullRequestStatus;
use awo_domain::{RunId, TransactionId};
use awo_store::ledger::credits::Booking;
use awo_store::ledger::refunds::ChargedWork;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::{
    HOUR_MS, PULL_REQUEST, apply, create, deliver, delivered, finish, read, reported, task,
};
use crate::cost_reports::of_ledger;
use crate::http_api::{order, quiet_service};

const ALWAYS: &str = "from=2026-01-01&to=2036-01-01";
const DAY_MS: i64 = 24 * HOUR_MS;

async fn outcomes(service: &TestService, query: &str) -> Value {
    read(&service.client, &format!("/v1/outcomes?{query}")).await
}

/// Micro-credits, exact: the text has at most six places.
fn micro(value: &Value) -> i64 {
    let micro = value.as_f64().unwrap() * 1e6;
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^53")]
    let whole = micro.round() as i64;
    whole
}

async fn fail(service: &TestService, order: &Value) -> RunId {
    let mut run = DrivenRun::of(service, order).await;
    run.iterate(1).await;
    let outcome = json!({ "type": "failed", "code": "AGENT_FAILED", "message": "no" });
    finish(&run, &outcome).await;
    run.free_slot().await;
    run.run_id
}

async fn refund(service: &TestService, run: &RunId, amount_micro: i64) {
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let id = TransactionId::new(now, cloud.mint.random(now));
    let amount = (MicroCredits::from_micro(amount_micro), &Booking::default());
    let work = ChargedWork::Run(run.clone());
    let refunded = store.refund(&service.org, &id, &work, amount, now).await;
    refunded.unwrap();
}

/// Threads of two teams: one merged, one closed, one open, one that failed, and one that only waits.
async fn story(service: &TestService) {
    let cloud = &service.service.cloud;
    let store = cloud.store().unwrap();
    let labels = CostLabels::declare(&["team".to_owned()], &[]).unwrap();
    store
        .declare_cost_labels(&service.org, &labels)
        .await
        .unwrap();
    let of_team = |team: &str, tenant: &str| {
        let mut body = task();
        body["metadata"] = json!({ "team": team });
        body["tenantContext"] = json!({ "tenantId": tenant });
        body
    };
    for (nth, state) in [(1, "merged"), (2, "closed"), (3, "open")] {
        let order = create(service, &of_team("red", "t1")).await;
        let url = format!("https://git.example.com/acme/app/pull/{nth}");
        deliver(service, &order, &url, "c1", true).await;
        cloud.clock.advance(2 * HOUR_MS);
        let status = PullRequestStatus::parse(state).unwrap();
        apply(service, &url, &reported(status, "c1", cloud.clock.now())).await;
    }
    let failed = create(service, &of_team("red", "t2")).await;
    let run = fail(service, &failed).await;
    refund(service, &run, 1_003).await;
    create(service, &order()).await;
}

#[tokio::test]
async fn every_grouping_adds_up_to_the_ledger_with_failed_attempts_in_the_cost() {
    let service = quiet_service().await;
    story(&service).await;
    let ledger = of_ledger(&service, "2026-01-01", "2036-01-01").await;
    assert!(ledger > 0);
    let groups = [
        "agent",
        "harness",
        "repository",
        "tenant",
        "trigger",
        "label:team",
    ];
    let whole = outcomes(&service, ALWAYS).await;
    assert_eq!(whole["groupBy"], "");
    assert_eq!(whole["rows"].as_array().unwrap().len(), 1);
    for group in groups {
        let report = outcomes(&service, &format!("{ALWAYS}&groupBy={group}")).await;
        assert_eq!(report["groupBy"], group);
        assert_eq!(report["totals"], whole["totals"], "{group}");
        let rows = report["rows"].as_array().unwrap();
        let credits = rows.iter().map(|row| micro(&row["credits"]));
        assert_eq!(credits.sum::<i64>(), ledger, "{group}: {report:#}");
    }
    let totals = &whole["totals"];
    let counted = |name: &str| totals[name].as_u64().unwrap();
    assert_eq!((counted("threads"), counted("withPullRequest")), (5, 3));
    let states = ["open", "merged", "closed", "mergedAsVerified"].map(counted);
    assert_eq!(states, [1, 1, 1, 1]);
    assert_eq!(totals["mergeRate"], 0.5, "the open one is in no rate");
    assert_eq!(totals["creditsPerMerged"], totals["credits"]);
    let hours = totals["medianHoursToMerge"].as_f64().unwrap();
    assert!((2.0..2.01).contains(&hours), "{hours}");
    let tenants = outcomes(&service, &format!("{ALWAYS}&groupBy=tenant")).await;
    let row = |name: &str| {
        let mut rows = tenants["rows"].as_array().unwrap().iter();
        rows.find(|row| row["group"]["tenant"] == name).unwrap()
    };
    assert_eq!(row("t2")["mergeRate"], Value::Null);
    assert_eq!(row("t2")["creditsPerMerged"], Value::Null);
    assert_eq!(row("t2")["medianHoursToMerge"], Value::Null);
    assert!(row("t2")["credits"].as_f64().unwrap() > 0.0);
    assert_eq!(row("(none)")["threads"], 1, "it only waits");
}

#[tokio::test]
async fn turns_further_runs_and_children_count_in_the_thread_of_the_first_work_order() {
    let service = quiet_service().await;
    let first = create(&service, &task()).await;
    fail(&service, &first).await;
    let path = format!("/api/v1/work-orders/{}/runs", first["id"].as_str().unwrap());
    let again = service.client.post(&path, &json!({})).await;
    assert_eq!(again.status, 201, "{}", again.text);
    deliver(&service, &first, PULL_REQUEST, "c1", true).await;
    let path = format!(
        "/v1/work-orders/{}/follow-ups",
        first["id"].as_str().unwrap()
    );
    let mut body = json!({ "taskPrompt": "with parts" });
    body["limits"] = json!({ "maxCredits": 100 });
    let second = service.client.post(&path, &body).await;
    assert_eq!(second.status, 201, "{}", second.text);
    let mut parent = DrivenRun::of(&service, &second.body).await;
    parent.iterate(1).await;
    let parts = parent
        .ask(&json!([{ "taskPrompt": "a part", "limits": { "maxCredits": 10 } }]))
        .await;
    assert_eq!(parts.status, 200, "{}", parts.text);
    let listed = read(&service.client, "/v1/work-orders?limit=100").await;
    let mut orders = listed["workOrders"].as_array().unwrap().iter();
    let child = orders.find(|order| order["parentId"].is_string()).unwrap();
    fail(&service, child).await;
    let outcome = json!({ "type": "failed", "code": "AGENT_FAILED", "message": "no" });
    finish(&parent, &outcome).await;
    let ledger = of_ledger(&service, "2026-01-01", "2036-01-01").await;
    let report = outcomes(&service, ALWAYS).await;
    assert_eq!(report["totals"]["threads"], 1, "{report:#}");
    assert_eq!(micro(&report["totals"]["credits"]), ledger, "{report:#}");
}

#[tokio::test]
async fn a_closed_month_shows_what_was_known_when_it_closed() {
    let service = quiet_service().await;
    let clock = &service.service.cloud.clock;
    let order = delivered(&service).await;
    let created = order["createdAt"].as_str().unwrap()[..7].to_owned();
    let from = format!("from={created}-01");
    let open = outcomes(&service, &from).await;
    assert_eq!(open["totals"]["open"], 1);
    // The month after, past the third day.
    clock.advance(34 * DAY_MS);
    let month = read(&service.client, "/v1/statements").await;
    assert!(month["statements"].is_array(), "{month:#}");
    let later = reported(PullRequestStatus::Merged, "c1", clock.now());
    apply(&service, PULL_REQUEST, &later).await;
    refund(&service, &run_of(&service, &order).await, 1_000).await;
    let closed = outcomes(&service, &from_to(&created)).await;
    assert_eq!(closed["totals"], open["totals"]);
    assert!(closed["asOf"].as_str().unwrap() < clock.now().to_string().as_str());
    assert!(closed["asOf"].as_str().unwrap().contains("-03T00:00:00"));
    // The work order shows what is known now.
    assert_eq!(super::shown(&service, &order).await["state"], "merged");
}

async fn run_of(service: &TestService, order: &Value) -> RunId {
    let path = format!("/v1/work-orders/{}", order["id"].as_str().unwrap());
    let order = read(&service.client, &path).await;
    RunId::parse(order["runId"].as_str().unwrap()).unwrap()
}

/// A whole month as a period.
fn from_to(month: &str) -> String {
    let first = awo_domain::statement::Month::parse(month).unwrap();
    format!("from={month}-01&to={}-01", first.next())
}

#[tokio::test]
async fn threads_count_by_their_first_creation() {
    let service = quiet_service().await;
    let clock = &service.service.cloud.clock;
    delivered(&service).await;
    clock.advance(2 * DAY_MS);
    let middle = clock.now();
    let second = create(&service, &task()).await;
    fail(&service, &second).await;
    let later = outcomes(&service, &format!("from={middle}&to=2036-01-01")).await;
    assert_eq!(later["totals"]["threads"], 1);
    assert_eq!(later["totals"]["withPullRequest"], 0);
    let before = outcomes(&service, &format!("from=2026-01-01&to={middle}")).await;
    assert_eq!(before["totals"]["withPullRequest"], 1);
    let none = outcomes(&service, "from=2030-01-01&to=2030-01-01").await;
    assert_eq!(none["rows"], json!([]));
    assert_eq!(none["totals"]["credits"], 0.0);
}

#[tokio::test]
async fn rows_come_in_pages_and_as_csv() {
    let service = quiet_service().await;
    story(&service).await;
    let query = format!("{ALWAYS}&groupBy=label:team&limit=1");
    let first = outcomes(&service, &query).await;
    assert_eq!(first["hasMore"], true);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = outcomes(&service, &format!("{query}&cursor={cursor}")).await;
    assert_eq!(second["hasMore"], false);
    assert_eq!(first["rows"][0]["group"]["label:team"], "(none)");
    assert_eq!(second["rows"][0]["group"]["label:team"], "red");
    let path = format!("/v1/outcomes?{ALWAYS}&groupBy=label:team");
    let headers = [("accept", "text/csv")];
    let csv = service.client.send("GET", &path, &headers, Vec::new());
    let csv = csv.await;
    assert_eq!(csv.status, 200, "{}", csv.text);
    let lines: Vec<&str> = csv.text.lines().collect();
    assert_eq!(
        lines[0],
        "label:team,threads,withPullRequest,open,merged,closed,mergeRate,credits,creditsPerMerged,\
         medianHoursToMerge,mergedAsVerified"
    );
    assert_eq!(lines[1], "(none),1,0,0,0,0,,0,,,0");
    assert!(lines[2].starts_with("red,4,3,1,1,1,0.5,"), "{}", csv.text);
    assert_eq!(lines.len(), 3);
}

#[tokio::test]
async fn a_query_that_is_none_names_its_parameter() {
    let service = quiet_service().await;
    for (query, name) in [
        ("groupBy=model", "groupBy"),
        ("groupBy=label:", "groupBy"),
        ("from=yesterday", "from"),
        ("from=2026-11-02&to=2026-11-01", "to"),
        ("month=2026-11", "month"),
    ] {
        let refused = service.client.get(&format!("/v1/outcomes?{query}")).await;
        assert_eq!(refused.status, 400, "{query}: {}", refused.text);
        assert!(refused.text.contains(name), "{query}: {}", refused.text);
    }
}
