//! The audit of runs: each run's configuration, as a chain that a client can verify by itself.

mod altered;
mod chain;

use std::time::Duration;

use awo_domain::Timestamp;
use awo_tests::client::{Answer, Client};
use awo_tests::driven::DrivenRun;
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use self::chain::{checked, read};
use crate::http_api::{order, quiet_service};
use crate::profiles::{make, put};

/// A profile that a runner got, without what only a runner of the last release reads.
fn effective(sent: &Value) -> Value {
    let mut profile = sent.clone();
    let verification = profile["verification"].as_object_mut().unwrap();
    if let Some(name) = verification.remove("baselineName") {
        verification.insert("baseline".to_owned(), name);
    }
    verification.entry("forgive").or_insert(json!(false));
    profile
}

/// A waiting work order with this profile.
async fn waiting(client: &Client, harness: &str) -> Value {
    let mut body = order();
    body["harness"] = json!(harness);
    let made = client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

async fn started(run: &DrivenRun, number: u64, iteration: u32) -> Answer {
    let event = json!({ "type": "iterationStarted", "iteration": iteration });
    let at = "2026-11-20T08:00:00.000Z";
    let events = json!([{ "number": number, "at": at, "event": event }]);
    let answer = run.control("report", &json!({ "events": events })).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

#[tokio::test]
async fn a_run_takes_a_changed_profile_over_at_its_next_iteration_and_is_audited_there() {
    let service = quiet_service().await;
    let client = &service.client;
    make(
        client,
        &json!({ "name": "parent", "executionLimits": { "maxDurationMs": 5_000 } }),
    )
    .await;
    make(
        client,
        &json!({ "name": "ours", "extends": "parent", "gitOps": { "labels": ["a"] } }),
    )
    .await;
    let order = waiting(client, "ours").await;
    let work_order = order["id"].as_str().unwrap();
    let run = DrivenRun::of(&service, &order).await;
    let id = run.run_id.as_str();
    let first = checked(client, id, work_order).await;
    assert_eq!((first.len(), &first[0]["iteration"]), (1, &json!(1)));
    let resolved = client.get("/api/v1/profiles/ours?resolve=true").await.body["data"].clone();
    assert_eq!(first[0]["configHash"], resolved["configHash"]);

    let begun = started(&run, 1, 1).await.body;
    assert_eq!(
        effective(&begun["configuration"]["profile"]),
        first[0]["config"]
    );
    assert_eq!(begun["configuration"]["maxDurationMs"], 5_000);
    assert_eq!(
        checked(client, id, work_order).await,
        first,
        "nothing has changed"
    );

    // The parent's change counts as well, and what is in no profile any more is null.
    put(
        client,
        "parent",
        &json!({ "loopStrategy": { "baseIterations": 7, "params": { "a": 0.5 } } }),
    )
    .await;
    let change = json!({ "extends": "parent", "gitOps": { "targetBranch": "main" } });
    put(client, "ours", &change).await;
    let (second, rival) = tokio::join!(started(&run, 2, 2), started(&run, 2, 2));
    assert_eq!(second.body["configuration"], rival.body["configuration"]);
    let audited = checked(client, id, work_order).await;
    assert_eq!((audited.len(), &audited[0]), (2, &first[0]));
    assert_eq!(
        effective(&second.body["configuration"]["profile"]),
        audited[1]["config"]
    );
    let changes = read(client, id, "/changes").await;
    let reported: Vec<Value> = (changes["items"].as_array().unwrap().iter())
        .map(|c| json!([c["iteration"], c["path"], c["previousValue"], c["newValue"]]))
        .collect();
    let wanted = [
        json!([2, "executionLimits.maxDurationMs", 5_000, 3_600_000]),
        json!([2, "gitOps.labels", ["a"], []]),
        json!([2, "gitOps.targetBranch", null, "main"]),
        json!([2, "loopStrategy.baseIterations", 3, 7]),
        json!([2, "loopStrategy.params", null, { "a": 0.5 }]),
    ];
    assert_eq!(reported, wanted);
    let at = changes["items"][0]["changedAt"].as_str().unwrap();
    assert_eq!(json!(at), audited[1]["createdAt"]);
    assert!(Timestamp::parse(at).is_ok());
    let shown = client.get(&format!("/v1/runs/{id}")).await.body;
    assert_eq!(shown["maxIterations"], 9, "7 and 2 bonus ones of default");
}

#[tokio::test]
async fn a_start_that_is_reported_again_is_answered_with_what_was_audited() {
    let service = quiet_service().await;
    let client = &service.client;
    make(client, &json!({ "name": "ours" })).await;
    let order = waiting(client, "ours").await;
    let work_order = order["id"].as_str().unwrap();
    let run = DrivenRun::of(&service, &order).await;
    let id = run.run_id.as_str();
    let first = started(&run, 1, 1).await.body;
    let audited = checked(client, id, work_order).await;
    put(client, "ours", &json!({ "gitOps": { "draft": true } })).await;
    assert_eq!(started(&run, 1, 1).await.body, first);
    assert_eq!(checked(client, id, work_order).await, audited);
    let next = started(&run, 2, 2).await.body;
    assert_eq!(next["configuration"]["profile"]["gitOps"]["draft"], true);
    assert_eq!(checked(client, id, work_order).await.len(), 2);
}

#[tokio::test]
async fn a_run_keeps_its_profile_when_that_is_deleted_or_no_run_can_have_it() {
    let service = quiet_service().await;
    let client = &service.client;
    make(
        client,
        &json!({ "name": "ours", "loopStrategy": { "baseIterations": 9 } }),
    )
    .await;
    let (going, late) = (waiting(client, "ours").await, waiting(client, "ours").await);
    let mut run = DrivenRun::of(&service, &going).await;
    run.iterate(1).await;
    let custom = json!({ "loopStrategy": { "type": "custom", "name": "x" } });
    assert_eq!(put(client, "ours", &custom).await.status, 200);
    run.iterate(2).await;
    let gone = client
        .send("DELETE", "/api/v1/profiles/ours", &[], Vec::new())
        .await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    run.iterate(3).await;
    let late_run = DrivenRun::of(&service, &late).await;
    for (run, order) in [(&run, &going), (&late_run, &late)] {
        let audited = checked(client, run.run_id.as_str(), order["id"].as_str().unwrap()).await;
        assert_eq!(audited.len(), 1);
        assert_eq!(audited[0]["config"]["loopStrategy"]["baseIterations"], 9);
    }
}

#[tokio::test]
async fn a_claim_that_is_repeated_gives_what_was_audited_the_first_time() {
    let service = quiet_service().await;
    let client = &service.client;
    make(client, &json!({ "name": "ours" })).await;
    let order = waiting(client, "ours").await;
    let run = DrivenRun::of(&service, &order).await;
    put(client, "ours", &json!({ "gitOps": { "mode": "local" } })).await;
    let again = run.claim_again().await;
    assert_eq!(again.status, 200, "{}", again.text);
    assert_eq!(again.body["profile"]["gitOps"]["mode"], "push");
    let audited = checked(client, run.run_id.as_str(), order["id"].as_str().unwrap()).await;
    assert_eq!(audited.len(), 1);
    assert_eq!(audited[0]["config"], effective(&again.body["profile"]));
}

#[tokio::test]
async fn an_unclaimed_run_has_no_configuration_and_a_stop_is_shown() {
    let service = quiet_service().await;
    let client = &service.client;
    let order = waiting(client, "default").await;
    let (id, run) = (
        order["id"].as_str().unwrap(),
        order["runId"].as_str().unwrap(),
    );
    let mut wanted = json!({
        "runId": run, "workOrderId": id, "iterations": 0, "changes": [], "snapshotsCount": 0,
    });
    assert_eq!(read(client, run, "").await, wanted);
    assert_eq!(
        read(client, run, "/snapshots").await,
        json!({ "items": [], "total": 0 })
    );
    let nothing = json!({ "totalChanges": 0, "changedPaths": [] });
    let changes = read(client, run, "/changes").await;
    assert_eq!(
        changes,
        json!({ "items": [], "total": 0, "summary": nothing })
    );
    let summary = read(client, run, "/summary").await;
    let short =
        json!({ "runId": run, "totalIterations": 0, "totalChanges": 0, "changedPaths": [] });
    assert_eq!(summary, short);
    let audit = client.get(&format!("/api/v1/work-orders/{id}/audit")).await;
    let runs = json!([{ "runId": run, "iteration": 0, "changesCount": 0 }]);
    assert_eq!(
        audit.body["data"],
        json!({ "workOrderId": id, "runs": runs })
    );

    let reason = json!({ "reason": "not needed" });
    let path = format!("/v1/runs/{run}/cancel");
    assert_eq!(client.post(&path, &reason).await.status, 200);
    let stopped = read(client, run, "").await;
    wanted["completedAt"] = stopped["completedAt"].clone();
    wanted["stop"] = json!({
        "kind": "cancel", "reason": "not needed",
        "requestedAt": stopped["stop"]["requestedAt"], "stoppedAt": stopped["completedAt"],
    });
    assert!(stopped["completedAt"].is_string());
    assert_eq!(stopped, wanted);
}

#[tokio::test]
async fn an_audit_is_for_those_who_may_read_runs_of_the_organization() {
    let service = quiet_service().await;
    let (_, other) = service.another_org(1_000).await;
    let order = waiting(&service.client, "default").await;
    let (id, run) = (
        order["id"].as_str().unwrap(),
        order["runId"].as_str().unwrap(),
    );
    let paths = [
        format!("/api/v1/audit/runs/{run}"),
        format!("/api/v1/audit/runs/{run}/changes"),
        format!("/api/v1/audit/runs/{run}/snapshots"),
        format!("/api/v1/audit/runs/{run}/summary"),
        format!("/api/v1/work-orders/{id}/audit"),
    ];
    for path in paths {
        let foreign = other.get(&path).await;
        assert_eq!(foreign.status, 404, "{}", foreign.text);
        assert_eq!(foreign.body["error"]["code"], "NOT_FOUND");
        assert_eq!(service.client.get(&format!("{path}?x=1")).await.status, 400);
    }
}

/// Waits in its first iteration until the test has changed the profile; then it is right.
const AGENT: &str = "if [ $AWO_ITERATION = 1 ]; then echo > ready; while ! [ -e go ]; do sleep 0.02; done; \
                     fi; date +%N > tried; [ $AWO_ITERATION -lt 3 ] || echo right > answer.txt";

/// Lets the agent go on, and returns its run as it is.
async fn go_on(client: &Client, run: &str) -> Value {
    let run = client.get(&format!("/v1/runs/{run}")).await.body;
    let dir = std::path::Path::new(run["workDir"].as_str().unwrap());
    std::fs::write(dir.join("go"), "").unwrap();
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_run_goes_by_its_profile_as_it_changes_and_its_chain_can_be_checked() {
    let service = TestService::start(1_000_000, &[]).await;
    let client = &service.client;
    let repository = Repository::with(&[
        ("Makefile", "test:\n\t@grep -q right answer.txt\n"),
        ("answer.txt", "none\n"),
    ]);
    let one = json!({ "name": "ours", "loopStrategy": { "type": "fixed", "baseIterations": 1 } });
    make(client, &one).await;
    let mut order = awo_tests::agents::order(&repository.url(), AGENT);
    order["harness"] = json!("ours");
    let order = awo_tests::agents::submit(client, &order).await;
    assert_eq!(order["maxIterations"], 1);
    let run = awo_tests::agents::until_ready(client, &order).await;
    // The first iteration is under way: it has the profile of its beginning.
    let more = json!({
        "loopStrategy": { "type": "fixed", "baseIterations": 2 },
        "gitOps": { "branchPrefix": "changed/" },
    });
    let is_over = |run: &Value| run["status"] == "failed";
    put(client, "ours", &more).await;
    go_on(client, &run).await;
    let limit = Duration::from_secs(60);
    let ended = client
        .until(&format!("/v1/runs/{run}"), limit, is_over)
        .await;
    assert_eq!(
        (&ended["iteration"], &ended["maxIterations"]),
        (&json!(1), &json!(1))
    );

    // The next run of the same work order begins with the new profile.
    let id = order["id"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}/runs");
    let restarted = client.post(&path, &json!({})).await;
    assert_eq!(restarted.status, 201, "{}", restarted.text);
    let order = json!({ "runId": restarted.body["data"]["runId"] });
    let run = awo_tests::agents::until_ready(client, &order).await;
    let mut most = more.clone();
    most["loopStrategy"]["baseIterations"] = json!(3);
    most["gitOps"]["commitMessagePrefix"] = json!("later: ");
    put(client, "ours", &most).await;
    assert_eq!(go_on(client, &run).await["maxIterations"], 2);
    let ended = client.finished_run(&order).await;
    assert_eq!(ended["status"], "succeeded", "{ended:#}");
    assert_eq!(
        (&ended["iteration"], &ended["maxIterations"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(ended["branch"], json!(format!("changed/{run}")));
    let audited = checked(client, &run, id).await;
    let iterations: Vec<&Value> = audited.iter().map(|item| &item["iteration"]).collect();
    assert_eq!(iterations, [1, 2]);
    altered::every_single_alteration_is_found(client, &run).await;
    let summary = read(client, &run, "/summary").await;
    let paths = json!(["gitOps.commitMessagePrefix", "loopStrategy.baseIterations"]);
    assert_eq!(summary["changedPaths"], paths);
    let runs = client
        .get(&format!("/api/v1/work-orders/{id}/audit"))
        .await
        .body["data"]
        .clone();
    let changes: Vec<&Value> = (runs["runs"].as_array().unwrap().iter())
        .map(|run| &run["changesCount"])
        .collect();
    assert_eq!(changes, [2, 0], "newest first");
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    assert!(
        dump.broken_rules(5).is_empty(),
        "{:#?}",
        dump.broken_rules(5)
    );
}

#[tokio::test]
async fn a_run_has_no_more_snapshots_than_it_may_and_keeps_the_last() {
    let service = quiet_service().await;
    let client = &service.client;
    make(client, &json!({ "name": "ours" })).await;
    let order = waiting(client, "ours").await;
    let run = DrivenRun::of(&service, &order).await;
    let mut last = Value::Null;
    for iteration in 1..=102 {
        let tokens = json!({ "executionLimits": { "maxTotalTokens": iteration } });
        assert_eq!(put(client, "ours", &tokens).await.status, 200);
        last = started(&run, u64::from(iteration), iteration).await.body;
    }
    let stored = &last["configuration"]["profile"];
    assert_eq!(stored["executionLimits"]["maxTotalTokens"], 100);
    let work_order = order["id"].as_str().unwrap();
    let audited = checked(client, run.run_id.as_str(), work_order).await;
    assert_eq!(
        (audited.len(), &audited[100]["config"]),
        (101, &effective(stored))
    );
}
