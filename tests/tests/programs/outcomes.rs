//! Unsuccessful ends of runs of the real programs.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::models::Manners;
use crate::scene::{self, ALL, CANARY, CLAUDE_CODE, Scene};

/// How long a run may take in which nothing is to be waited for, three of them at once.
const QUICK: Duration = Duration::from_secs(45);

/// One iteration of each program, side by side.
async fn each(scene: &Scene, more: &Value) -> Vec<Value> {
    let repository = scene::repository(&[]);
    let mut more = more.clone();
    more["maxIterations"] = json!(1);
    let orders = ALL.map(|program| scene.submit(&repository, program, more.clone()));
    let orders = join_all(orders).await;
    join_all(orders.iter().map(|order| scene.ended(order))).await
}

fn failed<'a>(run: &'a Value, code: &str) -> &'a str {
    assert_eq!(run["error"]["code"], code, "{run:#}");
    run["error"]["message"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_refused_fails_a_run_quickly_with_that_reason() {
    let scene = Scene::start(Manners::RefusesKeys, "true").await;
    let began = Instant::now();
    for run in each(&scene, &json!({})).await {
        let message = failed(&run, "PROVIDER_REFUSED");
        assert!(
            message.contains("did not accept the organization's key"),
            "{message}"
        );
        assert!(!run.to_string().contains(CANARY), "{run:#}");
    }
    assert!(began.elapsed() < QUICK, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_never_answers_ends_with_the_iterations_time() {
    let scene = Scene::start(Manners::FallsSilent(0), "true").await;
    let profile = json!({ "name": "brief", "executionLimits": { "maxIterationMs": 25_000 } });
    let made = scene.local.client.post("/api/v1/profiles", &profile).await;
    assert_eq!(made.status, 201, "{}", made.text);
    for run in each(&scene, &json!({ "harness": "brief" })).await {
        failed(&run, "TIMEOUT");
        let finished = scene.events(&run, "agent.finished").await;
        let took = finished[0]["data"]["durationMs"].as_u64().unwrap();
        assert!((25_000..40_000).contains(&took), "{finished:#?}");
    }
    assert!(scene.models.calls().len() >= ALL.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_budget_does_not_cover_ends_the_run_and_what_was_used_is_counted() {
    let scene = Scene::start(Manners::Dear, "true").await;
    for run in each(&scene, &json!({ "limits": { "maxCredits": 100 } })).await {
        failed(&run, "BUDGET_EXCEEDED");
        assert_eq!(run["usage"]["totalInputTokens"], 6_000_000, "{run:#}");
        assert_eq!(run["cost"]["credits"], 100, "{run:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canceled_run_is_charged_what_its_program_had_used() {
    join_all(ALL.map(async |program| {
        let scene = Scene::start(Manners::FallsSilent(1), "true").await;
        let repository = scene::repository(&[]);
        let order = scene.submit(&repository, program, json!({})).await;
        // The first call is answered, and the second is under way.
        scene.until_calls(2).await;
        let cancel = format!("/v1/runs/{}/cancel", order["runId"].as_str().unwrap());
        let canceled = scene.local.client.post(&cancel, &json!({})).await;
        assert_eq!(canceled.status, 200, "{}", canceled.text);
        let run = scene.ended(&order).await;
        assert_eq!(run["status"], "canceled", "{run:#}");
        assert_eq!(run["usage"]["totalInputTokens"], 600, "{run:#}");
        assert_eq!(run["usage"]["totalOutputTokens"], 20, "{run:#}");
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_fails_an_iteration_in_which_it_was_denied_a_tool() {
    let scene = Scene::start(Manners::Good, "true").await;
    let denied = r#"{"permissions":{"deny":["Bash(true:*)","Bash(echo:*)"]}}"#;
    let repository = scene::repository(&[(".claude/settings.json", denied)]);
    let once = json!({ "maxIterations": 1 });
    let order = scene.submit(&repository, CLAUDE_CODE, once).await;
    let run = scene.ended(&order).await;
    let message = failed(&run, "AGENT_FAILED");
    assert!(message.contains("denied a tool 1 times: Bash"), "{message}");
}
