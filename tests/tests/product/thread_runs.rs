//! Turns of a thread as whole runs: real git, real runners, one branch.

use awo_domain::money::MicroCredits;
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const MAKEFILE: &str =
    "test:\n\t@grep -q right answer.txt || { echo 'the answer is not right'; exit 1; }\n";
/// Does what its task says, by its first word.
const AGENT: &str = r#"#!/bin/sh
set -eu
case "$(head -n 1 "$AWO_PROMPT")" in
*guess*) echo wrong > answer.txt; echo n > notes.txt ;;
*correct*) grep -q n notes.txt; grep -q 'not right' "$AWO_PROMPT"; echo right > answer.txt ;;
*finish*) grep -q r review.txt; echo done > done.txt ;;
esac
printf '{"summary":"tried","usage":[{"model":"gpt-4o","inputTokens":1000,"outputTokens":100}]}' > "$AWO_RESULT"
"#;

async fn next_turn(service: &TestService, order: &Value, body: Value) -> (Value, Value) {
    let id = order["id"].as_str().unwrap();
    let path = format!("/v1/work-orders/{id}/follow-ups");
    let made = service.client.post(&path, &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let run = service.client.finished_run(&made.body).await;
    (made.body, run)
}

async fn start_of(service: &TestService, run: &Value) -> Value {
    let path = format!("/v1/runs/{}/events", run["runId"].as_str().unwrap());
    let events = service.client.get(&path).await.body;
    let events = events["events"].as_array().unwrap().clone();
    let ready = events
        .iter()
        .find(|event| event["type"] == "followup.ready");
    ready.unwrap()["data"]["from"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_goes_from_red_to_green_to_a_reviewers_push_on_one_branch() {
    let service = TestService::start(1_000_000, &[]).await;
    let repository = Repository::with(&[
        ("Makefile", MAKEFILE),
        ("answer.txt", "none\n"),
        (".awo/agent.sh", AGENT),
    ]);
    // So long that it is stored beside its work order.
    let prompt = format!("guess the answer\n{}", "in detail ".repeat(4_000));
    let body = json!({
        "taskPrompt": prompt, "maxIterations": 1,
        "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
    });
    let first = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let first = first.body;
    let red = service.client.finished_run(&first).await;
    assert_eq!(red["status"], "failed", "{red:#}");

    let correct = json!({ "taskPrompt": "correct it", "maxIterations": 1 });
    let (second, green) = next_turn(&service, &first, correct).await;
    assert_eq!(green["status"], "succeeded", "{green:#}");
    assert_eq!(start_of(&service, &green).await, "workspace");
    let branch = green["branch"].as_str().unwrap().to_owned();
    assert_eq!(repository.show(&branch, "notes.txt"), "n");

    repository.push_to(&branch, "review.txt", "r\n");
    repository.commit(&[("Makefile", &format!("{MAKEFILE}\t@test -f review.txt\n"))]);
    let finish = json!({ "taskPrompt": "finish it", "maxIterations": 1, "mergeTarget": true });
    let (third, merged) = next_turn(&service, &second, finish).await;
    assert_eq!(merged["status"], "succeeded", "{merged:#}");
    assert_eq!(start_of(&service, &merged).await, "branch");
    assert_eq!(merged["branch"], json!(branch));
    assert_eq!(merged["commit"], json!(repository.head(&branch)));
    assert!(repository.show(&branch, "Makefile").contains("review.txt"));
    assert_eq!(repository.show(&branch, "done.txt"), "done");

    // Each turn is charged once, and the thread's cost is the sum.
    let path = format!("/v1/threads/{}", first["id"].as_str().unwrap());
    let thread = service.client.get(&path).await.body;
    let mut charged = MicroCredits::ZERO;
    for run in [&red, &green, &merged] {
        let cost = run["cost"]["credits"].as_f64().unwrap();
        assert!(cost > 0.0, "{run:#}");
        charged = charged.plus(MicroCredits::from_decimal(cost).unwrap());
    }
    let cost = thread["cost"]["credits"].as_f64().unwrap();
    assert_eq!(MicroCredits::from_decimal(cost).unwrap(), charged);
    assert_eq!(thread["branch"], json!(branch));
    assert_eq!(thread["headCommit"], merged["commit"]);
    assert_eq!(thread["turns"][2]["workOrderId"], third["id"]);
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(5);
    assert!(broken.is_empty(), "{broken:#?}");
}
