//! No result is delivered for free: a hostile agent's usage report is bounded, and never prevents
//! the end of its run.

use awo_tests::client::Client;
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const MAKEFILE: &str = "test:\n\t@true\n";
/// A million tokens of a model that costs 2.5 US dollars for them.
const HONEST: &str = r#"{"model":"gpt-4o","inputTokens":100000,"outputTokens":10000}"#;

async fn run(client: &Client, repository: &Repository, agent: &str, more: Value) -> Value {
    let mut body = json!({
        "taskPrompt": "work",
        "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
        "agent": { "type": "command", "command": ["sh", "-c", agent] },
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let made = client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    client.finished_run(&made.body).await
}

/// An agent that changes something in each iteration, and writes this as its usage.
fn reports(usage: &str) -> String {
    format!("date +%N >> changed; echo '{{\"usage\":[{usage}]}}' > \"$AWO_RESULT\"")
}

/// Names of `count` models that nobody knows.
fn models(prefix: &str, count: usize) -> String {
    let one = |n| format!(r#"{{"model":"{prefix}{n}","inputTokens":1,"outputTokens":1}}"#);
    (0..count).map(one).collect::<Vec<_>>().join(",")
}

fn credits(run: &Value) -> f64 {
    run["cost"]["credits"].as_f64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn usage_that_cannot_be_true_is_bounded_and_its_run_is_paid() {
    let service = TestService::start(1_000_000, &[]).await;
    let (client, huge) = (&service.client, "1000000000000");
    let files = [("Makefile", MAKEFILE), ("a", "b\n")];
    let repository = Repository::with(&files);
    let honest = run(client, &repository, &reports(HONEST), json!({})).await;
    let fair = credits(&honest);
    assert!(fair > 35.0, "{honest:#}");

    let twice = format!(r#"{{"model":"gpt-4o","inputTokens":{huge},"outputTokens":{huge}}}"#);
    let twice = reports(&format!("{twice},{twice}"));
    let sum = run(
        client,
        &repository,
        &twice,
        json!({ "limits": { "maxCredits": 500 } }),
    )
    .await;
    assert_ne!(sum["error"]["code"], "COMPUTE_LOST", "{sum:#}");
    assert!(
        (credits(&sum) - 500.0).abs() < 1e-9,
        "the hold, whole: {sum:#}"
    );

    let cost = r#"{"model":"gpt-4o","inputTokens":100000,"outputTokens":10000,"costUsd":1e200}"#;
    let absurd = run(client, &repository, &reports(cost), json!({})).await;
    assert_eq!(absurd["status"], "succeeded", "{absurd:#}");
    assert!(credits(&absurd) >= 35.0, "{absurd:#}");

    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(5);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_beyond_fifty_count_as_other_and_those_that_cost_keep_their_names() {
    let service = TestService::start(1_000_000, &[]).await;
    // The first iteration fails its verification, so that there are two.
    let makefile = "test:\n\t@test $$(wc -l < changed) -gt 1\n";
    let repository = Repository::with(&[("Makefile", makefile), ("a", "b\n")]);
    let agent = format!(
        "if [ $AWO_ITERATION = 1 ]; then {}; else {}; fi",
        reports(&models("a", 40)),
        reports(&format!("{},{HONEST}", models("b", 30)))
    );
    let run = run(&service.client, &repository, &agent, json!({})).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(run["iteration"], 2, "{run:#}");
    assert!(credits(&run) >= 35.0, "{run:#}");
    let by_model = run["usage"]["byModel"].as_object().unwrap();
    assert_eq!(by_model.len(), 51);
    assert_eq!(by_model["gpt-4o"]["inputTokens"], 100_000);
    // 71 models, of which 50 are named.
    assert_eq!(by_model["other"]["inputTokens"], 21);
    assert_eq!(run["usage"]["totalInputTokens"], 100_070);
}
