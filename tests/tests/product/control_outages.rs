//! What stands between runners and the service fails for a minute, as an account's limits, its
//! functions or its network do: no run is lost.

use std::path::PathBuf;
use std::time::Duration;

use awo_local::gateway::EdgeRefusal;
use awo_tests::agents::{order, submit, until_ready};
use awo_tests::driven::DrivenRun;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order as order_body, quiet_service};

const OUTAGES: [EdgeRefusal; 3] = [
    EdgeRefusal::Throttled,
    EdgeRefusal::Unreachable,
    EdgeRefusal::Silence,
];
/// It ends in the outage.
const AGENT: &str = "echo > ready; while ! test -e go; do sleep 0.05; done; echo done > done";
/// As many calls of each runner fail: reports that are tried again, and heartbeats, which are ten seconds
/// apart and give up after four.
const FAILED_CALLS: u32 = 3;
/// More than a runner waits for the answer to a call.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of the service's clock, which the sweep uses.
const MINUTE_MS: i64 = 61_000;

/// A run whose agent works, and the part of the API that is its own.
struct Working {
    order: Value,
    path: String,
    calls: String,
}

async fn working(service: &TestService, repository: &Repository) -> Working {
    let order = submit(&service.client, &order(&repository.url(), AGENT)).await;
    let run = until_ready(&service.client, &order).await;
    Working {
        order,
        path: format!("/v1/runs/{run}"),
        calls: format!("/control/{}/runs/{run}/", service.org),
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minute_of_429_500_or_no_network_loses_no_run() {
    let service = TestService::start(1_000_000, &[]).await;
    let edge = &service.service.edge;
    // Claims meet it first.
    edge.refuse("/control/claim", 2, EdgeRefusal::Throttled);
    edge.refuse("/control/claim", 2, EdgeRefusal::Unreachable);
    let repository = Repository::with(&[("Makefile", "test:\n\t@test -e done\n")]);
    let mut runs = Vec::new();
    for outage in OUTAGES {
        runs.push((working(&service, &repository).await, outage));
    }
    assert_eq!(edge.refused("/control/claim"), 4);

    for (run, outage) in &runs {
        edge.refuse(&run.calls, u32::MAX, *outage);
        let dir = service.client.get(&run.path).await.body["workDir"].clone();
        let go = PathBuf::from(dir.as_str().unwrap()).join("go");
        std::fs::write(go, "").unwrap();
    }
    for (run, outage) in &runs {
        let met = || edge.refused(&run.calls) >= FAILED_CALLS;
        until(&format!("calls meet {outage:?}"), met).await;
    }
    // The sweep suspects their runners, and a minute later still does.
    for _ in 0..2 {
        service.service.cloud.clock.advance(MINUTE_MS);
        service.service.sweep().await.unwrap();
        for (run, outage) in &runs {
            let seen = service.client.get(&run.path).await.body;
            assert_eq!(seen["status"], "running", "{outage:?}: {seen:#}");
        }
    }
    edge.relent();
    for (run, outage) in &runs {
        let ended = service.client.finished_run(&run.order).await;
        assert_eq!(
            (&ended["status"], &ended["iteration"]),
            (&json!("succeeded"), &json!(1)),
            "{outage:?}: {ended:#}"
        );
        let events = service.client.get(&format!("{}/events", run.path)).await;
        let events = events.body["events"].as_array().unwrap().clone();
        let sequence: Vec<u64> = events
            .iter()
            .map(|event| event["sequence"].as_u64().unwrap())
            .collect();
        let wanted: Vec<u64> = (1..=sequence.len() as u64).collect();
        assert_eq!(sequence, wanted, "{outage:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_streams_starve_the_calls_of_runners_of_an_account_without_reservations_and_of_no_other()
 {
    let service = quiet_service().await;
    let made = service.client.post("/v1/work-orders", &order_body()).await;
    let run = DrivenRun::of(&service, &made.body).await;
    let path = format!("/v1/runs/{}/events", run.run_id);
    let heartbeat = async || run.control("report", &json!({ "events": [] })).await.status;

    service.service.limit_concurrency(2, &[]);
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = service.client.watch(&path, &[]).await.expect("a stream");
        stream.next().await.expect("an event");
        streams.push(stream);
    }
    assert_eq!(heartbeat().await, 500, "the streams have all executions");
    drop(streams);

    // As the template reserves: the runners' function its own, and streams no more than theirs.
    let reserved = [("control", 1), ("list-run-events", 1)];
    service.service.limit_concurrency(3, &reserved);
    let mut stream = service.client.watch(&path, &[]).await.expect("a stream");
    stream.next().await.expect("an event");
    let refused = service.client.watch(&path, &[]).await;
    assert_eq!(refused.err().map(|answer| answer.status), Some(500));
    assert_eq!(heartbeat().await, 200);
    assert_eq!(service.client.get("/v1/runs").await.status, 200);
    run.fail().await;
}
