//! A forge that refuses a report, or does not answer, changes no run.

use awo_origins::forge_double::Turn;
use serde_json::{Value, json};

use super::Stage;

fn failing(stage: &Stage, times: usize, status: u16, after: Option<&str>) {
    for _ in 0..times {
        let pause = after.map(|seconds| ("retry-after", seconds.to_owned()));
        let turn = Turn::Answer(status, pause, "{\"message\": \"not now\"}".to_owned());
        stage.forge.next("GET", "/statuses", turn);
    }
}

async fn run_of(stage: &Stage, order: &Value) -> Value {
    let path = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    let mut run = stage.service.client.get(&path).await.body;
    run.as_object_mut().unwrap().remove("reports");
    run
}

/// Long enough for the next attempt; the test service's delays are ten hours.
const DELAY_S: i64 = 12 * 3_600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forge_that_does_not_answer_is_asked_five_times_and_no_run_changes() {
    let stage = Stage::new(&json!({ "checks": "status" })).await;
    let order = stage.delivers("c1", true).await;
    let before = run_of(&stage, &order).await;
    failing(&stage, 5, 503, None);
    for attempt in 1..=5 {
        stage.sweep().await;
        let reports = stage.reports(&order).await;
        let state = if attempt < 5 { "pending" } else { "failed" };
        assert_eq!(reports[0]["state"], state, "{attempt}: {reports}");
        assert!(reports[0]["reason"].is_string(), "{reports}");
        stage.sweep().await;
        stage.advance(DELAY_S);
    }
    let questions = stage
        .forge
        .calls()
        .iter()
        .filter(|call| call.path.ends_with("/statuses"))
        .count();
    assert_eq!(questions, 5);
    stage.sweep().await;
    assert!(stage.statuses().is_empty());
    assert_eq!(run_of(&stage, &order).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_that_the_forge_asks_for_is_kept() {
    let stage = Stage::new(&json!({ "checks": "status" })).await;
    let order = stage.delivers("c1", true).await;
    failing(&stage, 1, 429, Some("90000"));
    stage.sweep().await;
    stage.advance(DELAY_S);
    stage.sweep().await;
    assert_eq!(stage.reports(&order).await[0]["state"], "pending");
    stage.advance(DELAY_S + 3_600);
    stage.sweep().await;
    assert_eq!(stage.reports(&order).await[0]["state"], "posted");
    assert_eq!(stage.statuses().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_final_and_says_why() {
    let stage = Stage::new(&json!({ "checks": "status" })).await;
    let order = stage.delivers("c1", true).await;
    failing(&stage, 1, 422, None);
    stage.sweep().await;
    let reports = stage.reports(&order).await;
    assert_eq!(reports[0]["state"], "failed", "{reports}");
    let reason = reports[0]["reason"].as_str().unwrap();
    assert!(reason.contains("not now"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_was_lost_makes_no_second_check() {
    let stage = Stage::new(&json!({ "checks": "check" })).await;
    stage.connect_app().await;
    stage.delivers("c1", true).await;
    stage.forge.next("POST", "/check-runs", Turn::Lost);
    stage.sweep().await;
    stage.advance(DELAY_S);
    stage.forge.change(|github| {
        let hours = std::time::Duration::from_secs(DELAY_S.unsigned_abs());
        github.app.iter_mut().for_each(|app| app.ahead = hours);
    });
    stage.sweep().await;
    assert_eq!(stage.check_runs().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purged_run_is_not_reported() {
    let stage = Stage::new(&json!({ "checks": "status", "comment": "sticky" })).await;
    let order = stage.delivers("c1", true).await;
    let body = json!({ "statuses": ["succeeded"] });
    let purged = stage
        .service
        .client
        .post("/api/v1/work-orders/purge", &body)
        .await;
    assert_eq!(purged.body["data"]["deletedIds"], json!([order["id"]]));
    for _ in 0..2 {
        stage.sweep().await;
        stage.advance(DELAY_S);
    }
    assert!(stage.statuses().is_empty() && stage.comments().is_empty());
}
