//! Stopping a parent stops its children likewise, in every state of the parent.

use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::children::{
    child_of, do_well, holds, is, now, place, root, run_of, start_again, waiting,
};
use crate::http_api::quiet_service;

async fn cancel(service: &TestService, order: &Value) -> Value {
    let path = format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap());
    let canceled = service.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    canceled.body["data"].clone()
}

async fn kill(service: &TestService, order: &Value) -> Value {
    let path = format!("/api/v1/work-orders/{}/kill", order["id"].as_str().unwrap());
    let body = json!({ "gracePeriodMs": 100, "reason": "enough" });
    let killed = service.client.post(&path, &body).await;
    assert_eq!(killed.status, 200, "{}", killed.text);
    killed.body["data"].clone()
}

/// What the runner of a run hears that says nothing new.
async fn stop_request(run: &DrivenRun) -> Value {
    run.control("report", &json!({ "events": [] })).await.body["stopRequest"].clone()
}

#[tokio::test]
async fn canceling_a_parent_that_waits_cancels_all_below_it_and_settles_it_at_once() {
    let service = quiet_service().await;
    let (parent, children) = waiting(&service, 2).await;
    let grandchild = child_of(&service, &now(&service, &children[0]).await).await;
    let running = DrivenRun::of(&service, &children[1]).await;
    assert_eq!(cancel(&service, &parent).await["wasRunning"], false);
    for order in [&parent, &children[0], &children[1], &grandchild] {
        is(&service, order, "canceled").await;
    }
    let run = run_of(&service, &parent).await;
    assert!(
        run["settledAt"].is_string() && run["computeStoppedAt"].is_string(),
        "{run}"
    );
    assert_eq!(stop_request(&running).await["kind"], "cancel");
    holds(&service).await;
    running.free_slot().await;
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn canceling_the_run_of_a_parent_that_waits_cancels_all_below_it() {
    let service = quiet_service().await;
    let (parent, children) = waiting(&service, 2).await;
    let running = DrivenRun::of(&service, &children[0]).await;
    let run = run_of(&service, &parent).await;
    let path = format!("/v1/runs/{}/cancel", run["runId"].as_str().unwrap());
    let canceled = service.client.send("POST", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    for order in [&parent, &children[0], &children[1]] {
        is(&service, order, "canceled").await;
    }
    assert_eq!(stop_request(&running).await["kind"], "cancel");
    holds(&service).await;
    running.free_slot().await;
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn a_parent_whose_old_task_still_stops_is_canceled_at_once_and_settled_when_that_is_gone() {
    let service = quiet_service().await;
    let parent = root(&service).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    let child = child_of(&service, &parent).await;
    run.succeed().await;
    is(&service, &parent, "waiting_for_children").await;
    let killed = kill(&service, &parent).await;
    assert_eq!(
        (
            &killed["success"],
            &killed["forcedKill"],
            &killed["durationMs"],
            &killed["status"]
        ),
        (&json!(true), &json!(false), &json!(0), &json!("canceled"))
    );
    is(&service, &child, "canceled").await;
    let shown = run_of(&service, &parent).await;
    assert!(shown.get("settledAt").is_none(), "{shown}");
    holds(&service).await;
    run.free_slot().await;
    assert!(run_of(&service, &parent).await["settledAt"].is_string());
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn a_parent_that_is_in_the_queue_again_leaves_it_when_it_is_canceled() {
    let service = quiet_service().await;
    let (parent, children) = waiting(&service, 1).await;
    do_well(&service, &children[0]).await;
    assert_eq!(place(&service, &parent).await.status, 200);
    assert_eq!(cancel(&service, &parent).await["wasRunning"], false);
    assert_eq!(place(&service, &parent).await.status, 404);
    is(&service, &children[0], "succeeded").await;
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn a_parent_that_integrates_is_stopped_as_one_that_runs() {
    let service = quiet_service().await;
    let (parent, children) = waiting(&service, 1).await;
    do_well(&service, &children[0]).await;
    let again = DrivenRun::of(&service, &parent).await;
    assert_eq!(cancel(&service, &parent).await["wasRunning"], true);
    assert_eq!(stop_request(&again).await["kind"], "cancel");
    holds(&service).await;
    again.free_slot().await;
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn killing_a_parent_kills_its_children_with_the_same_grace_and_reason() {
    let service = quiet_service().await;
    let (parent, children) = waiting(&service, 2).await;
    let running = DrivenRun::of(&service, &children[0]).await;
    assert_eq!(kill(&service, &parent).await["status"], "canceled");
    is(&service, &children[1], "canceled").await;
    is(&service, &children[0], "running").await;
    let requested = stop_request(&running).await;
    assert_eq!(
        (&requested["kind"], &requested["gracePeriodMs"]),
        (&json!("kill"), &json!(100))
    );
    holds(&service).await;
    running.free_slot().await;
    let run = run_of(&service, &children[0]).await;
    assert_eq!(run["error"]["code"], "KILLED", "{run}");
    assert!(
        run["error"]["message"].to_string().contains("enough"),
        "{run}"
    );
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn a_running_parent_takes_its_children_along_and_gets_no_more() {
    let service = quiet_service().await;
    let parent = root(&service).await;
    let run = DrivenRun::of(&service, &parent).await;
    let child = child_of(&service, &parent).await;
    let (dead, ()) = tokio::join!(kill(&service, &parent), async {
        while stop_request(&run).await.is_null() {
            tokio::task::yield_now().await;
        }
        let mut body = crate::http_api::order();
        body["parentId"] = parent["id"].clone();
        let late = service.client.post("/v1/work-orders", &body).await;
        assert_eq!(late.status, 400, "{}", late.text);
        let stopped = json!({ "type": "stopped", "forced": false });
        assert_eq!(run.send_last(stopped).await.status, 200);
        run.free_slot().await;
    });
    assert_eq!(dead["success"], true, "{dead}");
    is(&service, &parent, "canceled").await;
    is(&service, &child, "canceled").await;
    assert!(holds(&service).await.is_at_rest());
}

#[tokio::test]
async fn a_parent_that_fails_leaves_its_children_alone_and_can_be_started_again() {
    let service = quiet_service().await;
    let parent = root(&service).await;
    let run = DrivenRun::of(&service, &parent).await;
    let child = child_of(&service, &parent).await;
    run.fail().await;
    run.free_slot().await;
    is(&service, &child, "queued").await;
    start_again(&service, &parent).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    run.succeed().await;
    run.free_slot().await;
    is(&service, &parent, "waiting_for_children").await;
    // A child that is canceled while its parent waits fails it.
    cancel(&service, &child).await;
    is(&service, &parent, "failed").await;
    let failed = run_of(&service, &parent).await;
    assert_eq!(failed["error"]["code"], "CHILDREN_FAILED", "{failed}");
    assert!(holds(&service).await.is_at_rest());
}
