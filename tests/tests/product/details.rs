//! Timelines, logs and diffs of runs expire; the runs themselves stay.
use awo_tests::driven::DrivenRun;
use awo_tests::rules::client;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service_with};
use crate::logs::gzip;

const DAY_MS: i64 = 24 * 3_600_000;

/// A run that has ended, with an event, a log and a diff at least.
async fn ended(service: &TestService) -> DrivenRun {
    use base64::Engine;
    let packed = base64::engine::general_purpose::STANDARD.encode(gzip(b"+one\n"));
    let made = service.client.post("/v1/work-orders", &order()).await;
    let mut run = DrivenRun::of(service, &made.body).await;
    run.iterate(1).await;
    let log = json!({"iteration": 1, "output": packed, "bytes": 5});
    assert_eq!(run.control("logs", &log).await.status, 200);
    let commit = "89abcdef0123456789abcdef0123456789abcdef";
    let diff =
        json!({"iteration": 1, "baseCommit": commit, "commit": commit, "diff": packed, "bytes": 5});
    assert_eq!(run.control("diff", &diff).await.status, 200);
    run.succeed().await;
    run.free_slot().await;
    run
}

/// How many events and logs are shown of a run, and its diff.
async fn shown(service: &TestService, run: &DrivenRun) -> (usize, usize, Value) {
    let of = |what: &str| format!("/v1/runs/{}/{what}", run.run_id);
    let length = |list: &Value| list.as_array().unwrap().len();
    let events = service.client.get(&of("events?limit=1")).await.body;
    let logs = service.client.get(&of("logs")).await.body;
    let diff = service.client.get(&of("diff")).await.body;
    (
        length(&events["events"]),
        length(&logs["logs"]),
        diff["diff"].clone(),
    )
}

/// The time of each kind of item of the organization's runs at which it expires.
async fn expiries(service: &TestService, run: &DrivenRun) -> Vec<(String, Option<i64>)> {
    let client = client(&service.service.cloud);
    let table = service
        .service
        .cloud
        .environment
        .required("AWO_WORK_TABLE")
        .unwrap();
    let found = client.scan().table_name(table).send().await.unwrap();
    let of_run = |pk: &str| pk.contains(run.run_id.as_str());
    let items = found.items().iter();
    let of = items.filter_map(|item| {
        let pk = item["pk"].as_s().ok().filter(|pk| of_run(pk))?;
        let ttl = item
            .get("ttl")
            .and_then(|ttl| ttl.as_n().ok()?.parse().ok());
        Some((pk.rsplit('#').next().unwrap_or_default().to_owned(), ttl))
    });
    of.collect()
}

#[tokio::test]
async fn details_of_a_run_expire_and_the_run_with_its_audit_stays() {
    let service = quiet_service_with(&[("AWO_KEEP_DETAILS_DAYS", "7")]).await;
    let run = ended(&service).await;
    let now = service.service.cloud.clock.now().epoch_seconds();
    for (kind, ttl) in expiries(&service, &run).await {
        let expires = ["event", "log", "diff"].contains(&kind.as_str());
        assert_eq!(ttl.is_some(), expires, "{kind}");
        assert!(
            ttl.is_none_or(|ttl| (ttl - now - 7 * 86_400).abs() < 3_600),
            "{kind}"
        );
    }
    assert_eq!(shown(&service, &run).await, (1, 1, json!("+one\n")));
    // DynamoDB removes nothing yet: what has expired is there, and not shown.
    service.service.cloud.clock.advance(8 * DAY_MS);
    assert_eq!(shown(&service, &run).await, (0, 0, json!("")));
    let path = format!("/v1/runs/{}", run.run_id);
    assert_eq!(service.client.get(&path).await.body["status"], "succeeded");
    let audit = format!("/api/v1/audit/runs/{}", run.run_id);
    assert_eq!(service.client.get(&audit).await.status, 200);
    // A live stream of it has nothing to send any more: 204 ends a client that connects again.
    let live = [("accept", "text/event-stream")];
    let stream = service.client.watch(&format!("{path}/events"), &live).await;
    assert_eq!(stream.expect_err("no stream").status, 204);
}

#[tokio::test]
async fn a_deployment_may_keep_details_for_ever() {
    let service = quiet_service_with(&[("AWO_KEEP_DETAILS_DAYS", "0")]).await;
    let run = ended(&service).await;
    for (kind, ttl) in expiries(&service, &run).await {
        assert_eq!(ttl, None, "{kind}");
    }
    service.service.cloud.clock.advance(1_000 * DAY_MS);
    assert_eq!(shown(&service, &run).await, (1, 1, json!("+one\n")));
}
