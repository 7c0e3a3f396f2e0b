//! Children that agents or clients create, and the parents that wait for them.

use awo_tests::client::Answer;
use awo_tests::driven::DrivenRun;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

pub async fn root(service: &TestService) -> Value {
    let made = service.client.post("/v1/work-orders", &order()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

pub async fn child_of(service: &TestService, parent: &Value) -> Value {
    let mut body = order();
    body["parentId"] = parent["id"].clone();
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

/// The work order as it is.
pub async fn now(service: &TestService, order: &Value) -> Value {
    let path = format!("/v1/work-orders/{}", order["id"].as_str().unwrap());
    service.client.get(&path).await.body
}

/// Its newest run as it is.
pub async fn run_of(service: &TestService, order: &Value) -> Value {
    let order = now(service, order).await;
    let path = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    service.client.get(&path).await.body
}

pub async fn is(service: &TestService, order: &Value, status: &str) {
    let order = now(service, order).await;
    assert_eq!(order["status"], status, "{order}");
}

pub async fn place(service: &TestService, order: &Value) -> Answer {
    let id = order["id"].as_str().unwrap();
    let path = format!("/api/v1/queue/position/{id}");
    service.client.get(&path).await
}

pub async fn holds(service: &TestService) -> Dump {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(1_000);
    assert!(broken.is_empty(), "{broken:#?}\n{dump:#?}");
    dump
}

pub async fn start_again(service: &TestService, order: &Value) {
    let path = format!("/api/v1/work-orders/{}/runs", order["id"].as_str().unwrap());
    let started = service.client.post(&path, &json!({})).await;
    assert_eq!(started.status, 201, "{}", started.text);
}

/// A parent that waits, and its children; the slot of the parent is free again.
pub async fn waiting(service: &TestService, children: usize) -> (Value, Vec<Value>) {
    let parent = root(service).await;
    let mut run = DrivenRun::of(service, &parent).await;
    run.iterate(1).await;
    let asked: Vec<Value> = (0..children)
        .map(|n| json!({ "taskPrompt": format!("part {n}") }))
        .collect();
    let answer = run.ask(&json!(asked)).await;
    let opened = answer.body["opened"].as_array().unwrap().clone();
    assert_eq!(opened.len(), children, "{}", answer.text);
    run.wait().await;
    run.free_slot().await;
    is(service, &parent, "waiting_for_children").await;
    let opened = opened.into_iter().map(|id| json!({ "id": id })).collect();
    (parent, opened)
}

pub async fn do_well(service: &TestService, child: &Value) {
    let mut run = DrivenRun::of(service, child).await;
    run.succeed().await;
    run.free_slot().await;
}

#[tokio::test]
async fn children_that_an_agent_asks_for_are_done_and_brought_together_by_the_same_run() {
    let service = quiet_service().await;
    let mut body = order();
    body["tenantContext"] = json!({ "tenantId": "acme" });
    body["agent"] = json!({ "type": "command", "command": ["make", "fix"] });
    let parent = service.client.post("/v1/work-orders", &body).await.body;
    let mut run = DrivenRun::of(&service, &parent).await;
    run.iterate(1).await;
    let asked = json!([
        { "taskPrompt": "one part" },
        { "taskPrompt": "another", "agent": { "type": "patch" }, "metadata": { "part": "2" } },
    ]);
    let answer = run.ask(&asked).await;
    assert_eq!(answer.body["errors"], json!([]), "{}", answer.text);
    assert_eq!(run.ask(&asked).await.body, answer.body, "asked again");
    let other = run.ask(&json!([{ "taskPrompt": "something else" }])).await;
    assert_eq!(other.status, 409, "{}", other.text);
    let children: Vec<Value> = answer.body["opened"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| json!({ "id": id }))
        .collect();
    let first = now(&service, &children[0]).await;
    let branch = format!("awo/{}", run.run_id);
    assert_eq!(first["workspaceSource"]["branch"], json!(branch), "{first}");
    for field in ["agent", "tenantContext", "harness"] {
        assert_eq!(first[field], parent[field], "{field}");
    }
    assert_eq!(first["parentId"], parent["id"]);
    let second = now(&service, &children[1]).await;
    assert_eq!(second["agent"], json!({ "type": "patch" }), "{second}");

    run.wait().await;
    run.wait().await;
    is(&service, &parent, "waiting_for_children").await;
    let shown = run_of(&service, &parent).await;
    assert_eq!(
        (&shown["status"], shown.get("phase")),
        (&json!("running"), None)
    );
    holds(&service).await;
    for child in &children {
        assert_eq!(place(&service, &parent).await.status, 404);
        let mut part = DrivenRun::of(&service, child).await;
        assert_eq!(part.spec["startCommit"], "c1", "{}", part.spec);
        part.succeed().await;
        part.free_slot().await;
        holds(&service).await;
    }
    is(&service, &parent, "waiting_for_children").await;
    run.free_slot().await;
    let position = place(&service, &parent).await;
    assert_eq!(position.body["data"]["position"], 1, "{}", position.text);
    comes_together(&service, &parent, &children).await;
}

/// The parent integrates what its children have done, and succeeds.
async fn comes_together(service: &TestService, parent: &Value, children: &[Value]) {
    let mut body = order();
    body["parentId"] = parent["id"].clone();
    let mut again = DrivenRun::of(service, parent).await;
    let resumption = again.spec["resumption"].clone();
    assert_eq!(
        (
            &resumption["base"],
            &resumption["commit"],
            &resumption["sessionId"]
        ),
        (&json!("b0"), &json!("c1"), &json!("s1"))
    );
    let done = resumption["children"].as_array().unwrap();
    assert_eq!(done.len(), children.len(), "{resumption}");
    assert_eq!(done[0]["workOrderId"], children[0]["id"]);
    assert_eq!(again.claim_again().await.body, again.spec);
    is(service, parent, "integrating").await;
    assert_eq!(run_of(service, parent).await["phase"], "integrating");
    let late = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(late.status, 400, "{}", late.text);
    let more = again.ask(&json!([{ "taskPrompt": "late" }])).await;
    assert_eq!(more.status, 409, "{}", more.text);
    let again_waiting = json!({ "type": "waiting", "base": "b0", "commit": "c1", "branch": "x" });
    assert_eq!(again.send_last(again_waiting).await.status, 409);
    holds(service).await;
    again.succeed().await;
    again.free_slot().await;
    is(service, parent, "succeeded").await;
    assert!(holds(service).await.is_at_rest());
}

#[tokio::test]
async fn faulty_children_are_reported_with_every_fault_and_none_is_opened() {
    let service = quiet_service().await;
    let parent = root(&service).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    run.iterate(1).await;
    let asked = json!([
        { "taskPrompt": "good" },
        { "taskPrompt": "", "maxIterations": 0, "unknown": 1 },
        { "taskPrompt": "x", "tenantContext": { "tenantId": "other" }, "parentId": "wo_x" },
        7,
    ]);
    let answer = run.ask(&asked).await;
    assert_eq!((answer.status, &answer.body["opened"]), (200, &json!([])));
    let errors = answer.body["errors"].to_string();
    for place in [
        "/children/1/taskPrompt",
        "/children/1/maxIterations",
        "/children/1/unknown",
        "/children/2/tenantContext",
        "/children/2/parentId",
        "/children/3 must be",
    ] {
        assert!(errors.contains(place), "{place} in {errors}");
    }
    run.succeed().await;
    is(&service, &parent, "succeeded").await;
    assert_eq!(holds(&service).await.work_orders().len(), 1);
}

#[tokio::test]
async fn children_that_there_is_no_capacity_for_are_not_opened_and_count_for_nothing() {
    let settings = [("AWO_MAX_CONCURRENT", "0"), ("AWO_MAX_QUEUE_SIZE", "2")];
    let service = TestService::start(1_000_000, &settings).await;
    let parent = root(&service).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    run.iterate(1).await;
    let part = json!({ "taskPrompt": "a part" });
    let asked = json!([part, part, part]);
    let answer = run.ask(&asked).await;
    assert_eq!(answer.body["opened"], json!([]), "{}", answer.text);
    let errors = answer.body["errors"].to_string();
    assert!(
        errors.contains("/children/2") && errors.contains("queue"),
        "{errors}"
    );
    assert_eq!(run.ask(&asked).await.body, answer.body, "asked again");
    let many = json!({
        "iteration": 2, "commit": "c1", "branch": "x", "usage": [], "children": vec![part; 21],
    });
    let answer = run.control("children", &many).await;
    assert_eq!(answer.body["opened"], json!([]), "{}", answer.text);
    let dump = holds(&service).await;
    let canceled = |order: &&&Value| order["status"] == "canceled";
    assert_eq!(dump.work_orders().iter().filter(canceled).count(), 2);
    run.succeed().await;
    is(&service, &parent, "succeeded").await;
}

#[tokio::test]
async fn a_parent_of_a_clients_children_waits_for_them_and_fails_if_one_does() {
    let service = quiet_service().await;
    let parent = root(&service).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    let (good, bad) = (
        child_of(&service, &parent).await,
        child_of(&service, &parent).await,
    );
    run.succeed().await;
    is(&service, &parent, "waiting_for_children").await;
    let late = child_of(&service, &parent).await;
    run.free_slot().await;
    do_well(&service, &good).await;
    let failing = DrivenRun::of(&service, &bad).await;
    failing.fail().await;
    is(&service, &parent, "waiting_for_children").await;
    do_well(&service, &late).await;
    is(&service, &parent, "failed").await;
    let failed = run_of(&service, &parent).await;
    assert_eq!(failed["error"]["code"], "CHILDREN_FAILED", "{failed}");
    let bad_id = bad["id"].as_str().unwrap();
    assert!(
        failed["error"]["message"]
            .as_str()
            .unwrap()
            .contains(bad_id),
        "{failed}"
    );
    assert!(failed["settledAt"].is_string(), "{failed}");
    failing.free_slot().await;
    assert!(holds(&service).await.is_at_rest());

    // What failed before the new run counts no more; what was done is brought in.
    start_again(&service, &parent).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    run.succeed().await;
    run.free_slot().await;
    let mut again = DrivenRun::of(&service, &parent).await;
    let done = again.spec["resumption"]["children"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(done, 2, "{}", again.spec);
    again.succeed().await;
    again.free_slot().await;
    is(&service, &parent, "succeeded").await;
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn a_runs_time_and_charge_are_those_of_its_compute_alone() {
    let service = quiet_service().await;
    let (parent, children) = waiting(&service, 1).await;
    service.service.cloud.clock.advance(3_600_000);
    do_well(&service, &children[0]).await;
    let mut again = DrivenRun::of(&service, &parent).await;
    again.succeed().await;
    again.free_slot().await;
    let run = parent["runId"].as_str().unwrap();
    let path = format!("/api/v1/usage/summary?runId={run}");
    let summary = service.client.get(&path).await;
    let took = summary.body["data"]["totalDurationMs"].as_i64();
    assert!(took.is_some_and(|ms| ms < 600_000), "{}", summary.text);
    let run = run_of(&service, &parent).await;
    assert!(run["cost"]["credits"].as_f64().unwrap() < 10.0, "{run}");
    holds(&service).await;
}
