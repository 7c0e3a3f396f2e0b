//! Permanent deletion of work orders: they, and all of their items, and nothing else.

mod crashes;
mod families;
mod rest;
mod rivals;

use awo_domain::OrgId;
use awo_tests::agents::submit;
use awo_tests::client::{Answer, Client};
use awo_tests::driven::DrivenRun;
use awo_tests::everything::everything_of;
use awo_tests::rules::{self, Dump};
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::order;

const PURGE: &str = "/api/v1/work-orders/purge";
const DAY_MS: i64 = 86_400_000;
/// Sweeps in which everything is erased that these tests leave.
const SWEEPS: u32 = 20;

/// A service whose slots only the test gives.
async fn still() -> TestService {
    let settings = [("AWO_MAX_CONCURRENT", "0"), ("AWO_MAX_QUEUE_SIZE", "1000")];
    TestService::start(1_000_000, &settings).await
}

async fn purge(client: &Client, body: &Value) -> Value {
    let answer = client.post(PURGE, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["success"], true, "{}", answer.text);
    let mut fields: Vec<&str> = answer
        .body
        .as_object()
        .unwrap()
        .keys()
        .map(|k| &**k)
        .collect();
    fields.sort_unstable();
    assert_eq!(fields, ["data", "requestId", "success"]);
    answer.body["data"].clone()
}

fn ids(purged: &Value) -> Vec<String> {
    let ids = purged["deletedIds"].as_array().unwrap();
    assert_eq!(purged["deletedCount"], ids.len(), "{purged}");
    assert!(purged.get("wouldDelete").is_none(), "{purged}");
    ids.iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

async fn would_delete(client: &Client, mut body: Value) -> u64 {
    body["dryRun"] = json!(true);
    let data = purge(client, &body).await;
    let count = data["wouldDelete"].as_u64().unwrap();
    let wanted = json!({ "deletedCount": 0, "deletedIds": [], "wouldDelete": count });
    assert_eq!(data, wanted);
    count
}

async fn rules_hold(service: &TestService) -> Dump {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(1_000);
    assert!(broken.is_empty(), "{broken:#?}");
    dump
}

/// Lets sweeps delete what purges have left.
async fn erased(service: &TestService) {
    let cloud = &service.service.cloud;
    let state = std::sync::Arc::new(awo_workers::sweep::state(cloud).unwrap());
    for _ in 0..SWEEPS {
        cloud.clock.advance(61_000);
        let swept = awo_workers::sweep::handle(state.clone(), Default::default()).await;
        assert_eq!(swept.unwrap().failed, 0);
        if rules_hold(service).await.partition("#purge").is_empty() {
            return;
        }
    }
    panic!("something is left after {SWEEPS} sweeps");
}

/// Items that name one of these, in tables of which nothing may: ledger, usage and costs stay.
async fn traces(service: &TestService, org: &OrgId, of: &[String]) -> Vec<String> {
    let cloud = &service.service.cloud;
    let ledger = cloud.environment.required("AWO_LEDGER_TABLE").unwrap();
    let mut items = everything_of(&rules::client(cloud), org).await;
    items.retain(|item| {
        let stays = ["#usage", "#again", "#cost", "#outcome"]
            .iter()
            .any(|p| item.contains(&format!("{org}{p}")));
        !item.starts_with(&ledger) && !stays && of.iter().any(|id| item.contains(id.as_str()))
    });
    items
}

async fn submitted(service: &TestService) -> Value {
    submit(&service.client, &order()).await
}

/// One of each status, and the run of each that has one.
async fn one_of_each(service: &TestService) -> [Value; 5] {
    let orders = [
        submitted(service).await,
        submitted(service).await,
        submitted(service).await,
        submitted(service).await,
        submitted(service).await,
    ];
    let [_, running, succeeded, failed, canceled] = &orders;
    DrivenRun::of(service, running).await.iterate(1).await;
    let mut run = DrivenRun::of(service, succeeded).await;
    run.iterate(1).await;
    let log =
        json!({ "iteration": 1, "output": crate::authorisation::samples::EMPTY_GZIP, "bytes": 0 });
    assert_eq!(run.control("logs", &log).await.status, 200);
    let diff = json!({
        "iteration": 1, "baseCommit": "c0", "commit": "c1", "diff": log["output"], "bytes": 0,
    });
    assert_eq!(run.control("diff", &diff).await.status, 200);
    run.succeed().await;
    run.free_slot().await;
    let run = DrivenRun::of(service, failed).await;
    run.fail().await;
    run.free_slot().await;
    let path = format!("/api/v1/work-orders/{}", canceled["id"].as_str().unwrap());
    let answer = service.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    orders
}

fn id(order: &Value) -> String {
    order["id"].as_str().unwrap().to_owned()
}

async fn total(service: &TestService, path: &str) -> u64 {
    let list = service.client.get(path).await;
    assert_eq!(
        list.body["total"].as_u64().map(usize::try_from),
        list.body[if path.contains("runs") {
            "runs"
        } else {
            "workOrders"
        }]
        .as_array()
        .map(|all| Ok(all.len())),
        "{}",
        list.text
    );
    list.body["total"].as_u64().unwrap()
}

#[tokio::test]
async fn a_purge_of_a_status_deletes_its_work_orders_with_all_that_is_theirs_and_no_other() {
    let service = still().await;
    let orders = one_of_each(&service).await;
    let client = &service.client;
    for status in ["queued", "running", "succeeded", "failed", "canceled"] {
        assert_eq!(
            would_delete(client, json!({ "statuses": [status] })).await,
            1
        );
    }
    for status in ["waiting_for_children", "integrating"] {
        let body = json!({ "statuses": [status] });
        assert_eq!(would_delete(client, body.clone()).await, 0);
        assert_eq!(ids(&purge(client, &body).await), Vec::<String>::new());
    }
    assert_eq!(would_delete(client, json!({})).await, 5);
    let credits = client.get("/v1/credits").await.body["balance"].clone();
    let usage = client.get("/v1/credits/usage").await.body;
    let summary = client.get("/api/v1/usage/summary").await.body["data"]["executionCount"].clone();
    let [_, _, succeeded, failed, canceled] = &orders;
    let gone = [succeeded, failed, canceled];
    let body = json!({ "statuses": ["canceled", "failed", "succeeded", "failed"] });
    assert_eq!(ids(&purge(client, &body).await), gone.map(id));
    for order in gone {
        let path = format!("/v1/work-orders/{}", id(order));
        let answer = client.get(&path).await;
        let code = answer.body["error"]["code"].as_str();
        assert_eq!((answer.status, code), (404, Some("WORK_ORDER_NOT_FOUND")));
        let run = order["runId"].as_str().unwrap();
        for rest in ["", "/events", "/logs"] {
            let answer = client.get(&format!("/v1/runs/{run}{rest}")).await;
            assert_eq!(answer.status, 404, "{}", answer.text);
        }
    }
    assert_eq!(total(&service, "/v1/work-orders").await, 2);
    assert_eq!(total(&service, "/v1/work-orders?status=failed").await, 0);
    assert_eq!(total(&service, "/v1/runs").await, 2);
    rules_hold(&service).await;
    assert_eq!(client.get("/v1/credits").await.body["balance"], credits);
    assert_eq!(client.get("/v1/credits/usage").await.body, usage);
    let after = client.get("/api/v1/usage/summary").await.body;
    assert_eq!(after["data"]["executionCount"], summary);
    erased(&service).await;
    let names: Vec<String> = gone
        .iter()
        .flat_map(|order| [id(order), order["runId"].as_str().unwrap().to_owned()])
        .collect();
    assert_eq!(
        traces(&service, &service.org, &names).await,
        Vec::<String>::new()
    );
    rules_hold(&service).await;
}

#[tokio::test]
async fn what_waits_is_canceled_before_it_goes_and_its_credits_come_back() {
    let service = still().await;
    let (stored, _) = service.another_org(10).await;
    let elsewhere = Seed::of(&service.service.cloud, &stored);
    elsewhere
        .waiting(service.service.cloud.clock.now(), None)
        .await;
    let before = service.client.get("/v1/credits").await.body;
    let mut wanted = Vec::new();
    for _ in 0..3 {
        wanted.push(id(&submitted(&service).await));
    }
    // No body is the same as an empty one: everything.
    let answer = service.client.send("POST", PURGE, &[], Vec::new()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(ids(&answer.body["data"]), wanted);
    let after = service.client.get("/v1/credits").await.body;
    for name in ["balance", "reserved", "available"] {
        assert_eq!(after[name], before[name]);
    }
    let health = service.client.get("/api/v1/queue/health").await;
    assert_eq!(health.body["data"]["stats"]["waiting"], 0);
    rules_hold(&service).await;
    let others = Dump::of(&service.service.cloud, &stored).await;
    assert_eq!(others.work_orders().len(), 1, "of another organization");
}

#[tokio::test]
async fn only_what_is_older_goes_to_the_millisecond() {
    let service = still().await;
    let cloud = &service.service.cloud;
    let (seed, now) = (Seed::of(cloud, &service.org), cloud.clock.now());
    let mut old = Vec::new();
    for days in [400, 30, 2] {
        let at = now.plus_ms(-days * DAY_MS);
        old.push(seed.canceled(at, None).await.id.to_string());
    }
    old.push(
        seed.waiting(now.plus_ms(-DAY_MS / 2), None)
            .await
            .id
            .to_string(),
    );
    let client = &service.client;
    for (days, count) in [
        (json!(36_500), 0),
        (json!(399), 1),
        (json!(400.5), 0),
        (json!(29.9), 2),
        (json!(1), 3),
        (json!(0.25), 4),
        (json!(0), 4),
    ] {
        let body = json!({ "olderThanDays": days });
        assert_eq!(would_delete(client, body).await, count, "{days}");
    }
    let body = json!({ "olderThanDays": 0.25, "statuses": ["queued"] });
    assert_eq!(would_delete(client, body.clone()).await, 1);
    assert_eq!(ids(&purge(client, &body).await), old[3..]);
    let body = json!({ "olderThanDays": 1.5 });
    assert_eq!(ids(&purge(client, &body).await), old[..3]);
    assert_eq!(total(&service, "/v1/work-orders").await, 0);
    rules_hold(&service).await;
}

#[tokio::test]
async fn a_body_that_is_not_understood_deletes_nothing() {
    let service = still().await;
    submitted(&service).await;
    let bad = [
        (json!({ "statuses": [] }), "/statuses"),
        (json!({ "statuses": "failed" }), "/statuses"),
        (json!({ "statuses": ["queued", "done"] }), "/statuses/1"),
        (json!({ "olderThanDays": -1 }), "/olderThanDays"),
        (json!({ "olderThanDays": 36_501 }), "/olderThanDays"),
        (json!({ "olderThanDays": "1" }), "/olderThanDays"),
        (json!({ "dryRun": "yes" }), "/dryRun"),
        (json!({ "all": true }), "/all"),
    ];
    for (body, path) in bad {
        let Answer {
            status, body, text, ..
        } = service.client.post(PURGE, &body).await;
        assert_eq!(
            (status, &body["error"]["code"]),
            (400, &json!("BAD_REQUEST")),
            "{text}"
        );
        assert!(
            body["error"]["message"].as_str().unwrap().contains(path),
            "{text}"
        );
    }
    let typo = service
        .client
        .post(&format!("{PURGE}?dryRun=true"), &json!({}))
        .await;
    assert_eq!(typo.status, 400, "{}", typo.text);
    let allowed = service.client.get(PURGE).await;
    assert_eq!(
        (allowed.status, allowed.header("allow")),
        (405, "POST, OPTIONS")
    );
    assert_eq!(total(&service, "/v1/work-orders").await, 1);
}
