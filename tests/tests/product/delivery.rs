//! Delivery of results, on the whole service: to an origin that rejects, and to a private
//! repository with a pull request.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use awo_origins::git_host::{Access, GitHost};
use awo_tests::agents::{order, submit};
use awo_tests::driven::DrivenRun;
use awo_tests::local::Local;
use awo_tests::repository::Repository;
use awo_tests::service::{TestService, program};
use serde_json::{Value, json};

use crate::http_api::quiet_service;

const TOKEN: &str = "github_pat_canary5ecret";

fn repository() -> Repository {
    let makefile = "test:\n\t@grep -q right answer.txt && echo '1 passed in 0.1s'\n";
    Repository::with(&[("Makefile", makefile), ("answer.txt", "wrong\n")])
}

/// As the operator does it.
fn set_secret(dir: &Path, local: &Local, name: &str, value: &str) {
    let mut awo = Command::new(program("awo"))
        .args(["admin", "set-secret", "--org", local.org.as_str()])
        .args(["--name", name])
        .env("AWO_DATA_DIR", dir.join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(awo.stdin.take().unwrap(), "{value}").unwrap();
    assert!(awo.wait().unwrap().success());
}

/// The data of the run's event of that type.
fn data<'a>(events: &'a Value, kind: &str) -> &'a Value {
    let mut all = events["events"].as_array().unwrap().iter();
    let found = all.find(|event| event["type"] == kind);
    &found.unwrap_or_else(|| panic!("no {kind}: {events:#}"))["data"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_repository_is_worked_on_and_its_pull_request_is_in_the_run() {
    let host = GitHost::start(TOKEN, Access::All);
    let url = host.add("acme/app.git", &repository().url());
    let dir = tempfile::tempdir().unwrap();
    let ca = host.ca_file().display().to_string();
    let local = Local::start(dir.path(), &[("AWO_GIT_CA_FILE", &ca)]);
    set_secret(dir.path(), &local, &format!("git:{}", host.host()), TOKEN);
    let profile = json!({
        "name": "opens", "description": "", "gitOps": {
            "mode": "pull_request", "draft": true, "labels": ["agent"], "reviewers": ["acme/core"] },
    });
    let made = local.client.post("/api/v1/profiles", &profile).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut order = order(&url, "env > seen; echo right > answer.txt");
    order["harness"] = json!("opens");
    let order = submit(&local.client, &order).await;
    let run = local.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let opened = json!("https://github.example/acme/app/pull/1");
    assert_eq!(run["prUrl"], opened, "{run:#}");
    let path = format!("/v1/runs/{}/events", run["runId"].as_str().unwrap());
    let events = local.client.get(&path).await;
    for kind in ["delivery.finished", "run.completed"] {
        assert_eq!(data(&events.body, kind)["prUrl"], opened);
    }
    assert!(!events.text.contains("delivery.skipped"), "{}", events.text);
    let pulls = host.github.pulls();
    let [pull] = pulls.as_slice() else {
        panic!("{pulls:#?}");
    };
    assert_eq!(pull["head"]["ref"], run["branch"]);
    assert_eq!(pull["title"], "make the answer right");
    assert_eq!(pull["requested_teams"], json!([{ "slug": "core" }]));
    assert_eq!(host.seen().leaks, Vec::<String>::new());
    let diff = format!("/v1/runs/{}/diff", run["runId"].as_str().unwrap());
    let diff = local.client.get(&diff).await;
    for reported in [&events.text, &diff.text] {
        assert!(!reported.contains("canary5ecret"), "{reported}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_that_is_rejected_fails_the_run_and_its_diff_is_stored() {
    let service = TestService::start(1_000, &[]).await;
    let repository = repository();
    repository.refuse_pushes("branch names need a ticket");
    let order = order(&repository.url(), "echo right > answer.txt");
    let order = submit(&service.client, &order).await;
    let run = service.client.finished_run(&order).await;
    assert_eq!(run["status"], "failed", "{run:#}");
    assert_eq!(run["error"]["code"], "DELIVERY_FAILED");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(message.contains("branch names need a ticket"), "{message}");
    assert!(run["branch"].is_null() && run["commit"].is_string());
    let path = format!("/v1/runs/{}/diff", run["runId"].as_str().unwrap());
    let diff = service.client.get(&path).await.body;
    assert_eq!(diff["commit"], run["commit"]);
    let text = diff["diff"].as_str().unwrap();
    assert!(text.contains("-wrong\n+right\n"), "{text}");
    assert_eq!(repository.branches(), ["main"]);
}

#[tokio::test]
async fn a_pull_request_that_a_runner_claims_is_checked_like_other_input() {
    let service = quiet_service().await;
    let made = service
        .client
        .post("/v1/work-orders", &crate::http_api::order())
        .await;
    let mut run = DrivenRun::of(&service, &made.body).await;
    run.report(json!({ "type": "iterationStarted", "iteration": 1 }))
        .await;
    let ends = |url: &str| {
        let outcome = json!({ "type": "succeeded", "branch": "awo/x", "prUrl": url });
        json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": [] })
    };
    let long = format!("https://a.example/{}", "x".repeat(3_000));
    for bad in ["http://a.example/1", "javascript:alert(1)", &long] {
        let refused = run.control("finish", &ends(bad)).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
    }
    let good = "https://github.com/acme/app/pull/9";
    let stored = run.control("finish", &ends(good)).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let path = format!("/v1/runs/{}", run.run_id);
    assert_eq!(service.client.get(&path).await.body["prUrl"], good);
}
