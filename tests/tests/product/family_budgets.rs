//! An agent's family has one budget: the holds of its children come out of the hold of the
//! requesting run, and their time limit is its remaining time.

use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::children::{holds, is, now, run_of};
use crate::http_api::{order, quiet_service};

const HOUR_MS: u64 = 3_600_000;

async fn parent(service: &TestService, limits: Value) -> (Value, DrivenRun) {
    let mut body = order();
    body["limits"] = limits;
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut run = DrivenRun::of(service, &made.body).await;
    run.iterate(1).await;
    (made.body, run)
}

async fn reserved(service: &TestService) -> Value {
    service.client.get("/v1/credits").await.body["reserved"].clone()
}

async fn limits_of(service: &TestService, children: &Value) -> Vec<Value> {
    let mut limits = Vec::new();
    for id in children["opened"].as_array().unwrap() {
        limits.push(now(service, &json!({ "id": id })).await["limits"].clone());
    }
    limits
}

#[tokio::test]
async fn children_of_an_agent_hold_no_more_than_their_parent_has_left() {
    let service = quiet_service().await;
    let limits = json!({ "maxCredits": 6, "maxDurationMs": 60_000 });
    let (_, run) = parent(&service, limits).await;
    let greedy = json!({
        "taskPrompt": "mine", "limits": { "maxCredits": 400_000, "maxDurationMs": 86_400_000 },
    });
    let answer = run.ask(&json!([greedy, greedy])).await;
    assert_eq!(answer.body["errors"], json!([]), "{}", answer.text);
    assert_eq!(reserved(&service).await, 6, "as before");
    let limits = limits_of(&service, &answer.body).await;
    assert_eq!(limits.len(), 2);
    for limits in limits {
        let credits = limits["maxCredits"].as_f64().unwrap();
        assert!(credits > 1.9 && credits <= 2.0, "{limits}");
        assert!(
            limits["maxDurationMs"].as_u64().unwrap() <= 60_000,
            "{limits}"
        );
    }
    holds(&service).await;
}

#[tokio::test]
async fn children_without_limits_share_what_is_left_and_small_requests_are_met() {
    let service = quiet_service().await;
    let (order, run) = parent(&service, json!({ "maxCredits": 90 })).await;
    let used = json!({
        "usage": { "model": "gpt-4o", "inputTokens": 1, "outputTokens": 0 },
        "costUsdNano": 100_000_000,
    });
    let asked = json!([
        { "taskPrompt": "open" },
        { "taskPrompt": "small", "limits": { "maxCredits": 5 } },
        { "taskPrompt": "open" },
    ]);
    let body = json!({
        "iteration": 1, "commit": "c1", "branch": "x", "usage": [used], "children": asked,
    });
    let answer = run.control("children", &body).await;
    let limits = limits_of(&service, &answer.body).await;
    // Ten credits are used, and some compute: two children and the run share a little below 75.
    assert_eq!(limits[1]["maxCredits"], 5);
    for at in [0, 2] {
        let credits = limits[at]["maxCredits"].as_f64().unwrap();
        assert!((20.0..=25.0).contains(&credits), "{limits:?}");
    }
    assert_eq!(reserved(&service).await, 90);
    holds(&service).await;
    // Each settles its own part: the family never costs more than the parent held.
    run.wait().await;
    run.free_slot().await;
    for id in answer.body["opened"].as_array().unwrap() {
        let child = json!({ "id": id });
        let mut run = DrivenRun::of(&service, &child).await;
        run.succeed().await;
        run.free_slot().await;
    }
    holds(&service).await;
    let mut back = DrivenRun::of(&service, &order).await;
    back.succeed().await;
    back.free_slot().await;
    is(&service, &order, "succeeded").await;
    assert_eq!(reserved(&service).await, 0);
    let dump = holds(&service).await;
    assert!(dump.is_at_rest(), "{dump:#?}");
}

#[tokio::test]
async fn a_run_that_has_nothing_left_gets_no_children() {
    let service = quiet_service().await;
    let limits = json!({ "maxCredits": 1, "maxDurationMs": HOUR_MS });
    let (order, run) = parent(&service, limits).await;
    let used = json!({
        "usage": { "model": "gpt-4o", "inputTokens": 1, "outputTokens": 0 },
        "costUsdNano": 9_990_000,
    });
    let body = json!({
        "iteration": 1, "commit": "c1", "branch": "x", "usage": [used],
        "children": [{ "taskPrompt": "more" }],
    });
    let answer = run.control("children", &body).await;
    assert_eq!(answer.body["opened"], json!([]), "{}", answer.text);
    let errors = answer.body["errors"].to_string();
    assert!(errors.contains("credits left"), "{errors}");
    assert_eq!(run_of(&service, &order).await["status"], "running");
    holds(&service).await;
}
