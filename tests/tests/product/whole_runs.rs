//! Whole runs: real git, a real runner, real processes, on the whole service.

use std::time::{Duration, Instant};

use awo_tests::processes::{runner_and_supervisor, signal};
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::run_errors;

const MAKEFILE: &str =
    "test:\n\t@grep -q right answer.txt || { echo 'the answer is not right'; exit 1; }\n";
/// Wrong at first; right once the feedback says so.
const SECOND_TRY: &str = "#!/bin/sh\nset -eu\nif grep -q 'the answer is not right' \"$AWO_PROMPT\"; then echo right > answer.txt; else echo wrong > answer.txt; fi\nprintf '{\"summary\":\"tried\",\"usage\":[{\"model\":\"gpt-4o\",\"inputTokens\":1000,\"outputTokens\":100}]}' > \"$AWO_RESULT\"\n";

async fn service() -> TestService {
    TestService::start(1_000_000, &[]).await
}

async fn submit(service: &TestService, repository: &str, more: Value) -> Value {
    let mut body = json!({
        "taskPrompt": "make the answer right",
        "workspaceSource": { "type": "git", "repository": repository, "branch": "main" },
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

async fn event_types(service: &TestService, run: &Value) -> Vec<String> {
    let path = format!("/v1/runs/{}/events", run["runId"].as_str().unwrap());
    let events = service.client.get(&path).await.body;
    events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["type"].as_str().unwrap().to_owned())
        .collect()
}

async fn rules_hold(service: &TestService) -> Dump {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(5);
    assert!(broken.is_empty(), "{broken:#?}");
    dump
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_learns_from_feedback_and_its_branch_is_pushed_and_paid_once() {
    let service = service().await;
    let repository = Repository::with(&[
        ("Makefile", MAKEFILE),
        ("answer.txt", "none\n"),
        (".awo/agent.sh", SECOND_TRY),
    ]);
    let order = submit(&service, &repository.url(), json!({})).await;
    let run = service.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(run["iteration"], 2);
    let branch = format!("awo/{}", run["runId"].as_str().unwrap());
    assert_eq!(run["branch"], json!(branch));
    assert_eq!(run["commit"], json!(repository.head(&branch)));
    assert_eq!(repository.show(&branch, "answer.txt"), "right");
    assert_eq!(repository.show("main", "answer.txt"), "none");
    assert_eq!(run["usage"]["totalInputTokens"], 2000);
    assert_eq!(run["usage"]["byModel"]["gpt-4o"]["outputTokens"], 200);
    let types = event_types(&service, &run).await;
    let wanted = [
        "run.created",
        "run.building",
        "workspace.ready",
        "run.started",
        "iteration.started",
        "agent.finished",
        "iteration.committed",
        "verification.started",
        "verification.failed",
        "iteration.started",
        "agent.finished",
        "iteration.committed",
        "verification.started",
        "verification.passed",
        "delivery.started",
        "delivery.finished",
        "run.completed",
    ];
    assert_eq!(types, wanted);
    let entries = service.client.get("/v1/credits/usage").await.body;
    assert_eq!(entries["total"], 2, "{entries:#}");
    assert_eq!(
        (
            &entries["transactions"][0]["type"],
            &entries["transactions"][0]["amount"]
        ),
        (&json!("deduction"), &run["cost"]["credits"])
    );
    let order = service
        .client
        .get(&format!(
            "/v1/work-orders/{}",
            order["id"].as_str().unwrap()
        ))
        .await
        .body;
    assert_eq!(order["status"], "succeeded");
    let dump = rules_hold(&service).await;
    assert!(dump.leases().is_empty() && dump.reserved() == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_work_fails_with_the_right_code_and_gives_its_slot_back() {
    let service = service().await;
    let command = |script: &str| json!({ "agent": { "type": "command", "command": ["sh", "-c", script] }, "maxIterations": 1 });
    let with_tests = Repository::with(&[("Makefile", MAKEFILE), ("answer.txt", "none\n")]);
    let bad_plan = Repository::with(&[("verify.yaml", "version: 1\nnonsense: 1\n"), ("a", "b")]);
    let url = with_tests.url();
    let missing = format!("{url}.missing");
    let cases = [
        (missing.as_str(), command("true"), "WORKSPACE_FAILED"),
        (
            bad_plan.url().leak() as &str,
            command("true"),
            "WORKSPACE_FAILED",
        ),
        (&url, json!({}), "AGENT_NOT_CONFIGURED"),
        (
            &url,
            json!({ "agent": { "type": "codex" } }),
            "AGENT_NOT_CONFIGURED",
        ),
        (&url, command("exit 3"), "AGENT_FAILED"),
        (
            &url,
            command("echo '{\"usage\":[{\"model\":1}]}' > $AWO_RESULT"),
            "AGENT_FAILED",
        ),
        (
            &url,
            command("echo wrong > answer.txt"),
            "MAX_ITERATIONS_REACHED",
        ),
        (
            &url,
            command("head -c 100000000 /dev/zero; echo wrong > answer.txt"),
            "MAX_ITERATIONS_REACHED",
        ),
    ];
    let mut orders = Vec::new();
    for (repository, more, code) in cases {
        orders.push((submit(&service, repository, more.clone()).await, more, code));
    }
    let mut hang = command("sleep 600");
    hang["limits"] = json!({ "maxDurationMs": 2000 });
    orders.push((submit(&service, &url, hang.clone()).await, hang, "TIMEOUT"));
    for (order, more, code) in orders {
        let run = service.client.finished_run(&order).await;
        assert_eq!(
            (run["status"].as_str(), run["error"]["code"].as_str()),
            (Some("failed"), Some(code)),
            "{more} {run:#}"
        );
        let message = run["error"]["message"].as_str().unwrap();
        assert!(message.len() > 10, "{message}");
        run_errors::is_explained(&run["error"]);
        println!("{code}: {message}");
    }
    let dump = rules_hold(&service).await;
    assert!(dump.leases().is_empty() && dump.reserved() == 0);
    assert_eq!(
        service.client.get("/v1/runs?status=failed").await.body["total"],
        9
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_ends_by_itself_is_charged_for_its_compute_and_frees_its_slot() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("answer.txt", "none\n")]);
    let agent = json!({ "agent": { "type": "command", "command": ["sh", "-c", "sleep 600"] } });
    let order = submit(&service, &repository.url(), agent).await;
    let run = order["runId"].as_str().unwrap();
    let path = format!("/v1/runs/{run}");
    service
        .client
        .until(&path, Duration::from_secs(20), |run| {
            run["phase"] == "agent"
        })
        .await;
    let began = Instant::now();
    let (runner, _) = runner_and_supervisor(run);
    signal(runner, "-9");
    let run = service.client.finished_run(&order).await;
    assert_eq!(
        (run["status"].as_str(), run["error"]["code"].as_str()),
        (Some("failed"), Some("RUNNER_FAILED")),
        "{run:#}"
    );
    assert!(run["cost"]["credits"].as_f64().unwrap() > 0.0, "{run:#}");
    println!("noticed after {:?}", began.elapsed());
    let dump = rules_hold(&service).await;
    assert!(dump.leases().is_empty() && dump.reserved() == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_share_the_slots_and_every_order_is_done() {
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "2")]).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@true\n"), ("a", "b\n")]);
    let mut orders = Vec::new();
    for i in 0..12 {
        let tenant = format!("tenant-{}", i % 3);
        let more = json!({
            "agent": { "type": "command", "command": ["sh", "-c", "echo done > done.txt"] },
            "tenantContext": { "tenantId": tenant },
        });
        orders.push(submit(&service, &repository.url(), more).await);
    }
    for order in &orders {
        let run = service.client.finished_run(order).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
    }
    let dump = rules_hold(&service).await;
    assert!(dump.leases().is_empty() && dump.reserved() == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_and_its_child_need_no_more_than_one_slot() {
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "1")]).await;
    let repository = Repository::with(&[("answer.txt", "none\n")]);
    let agent = |file: &str| {
        let script = format!("sleep 1; echo done > {file}");
        json!({ "agent": { "type": "command", "command": ["/bin/sh", "-c", script] } })
    };
    let parent = submit(&service, &repository.url(), agent("parent.txt")).await;
    let mut more = agent("child.txt");
    more["parentId"] = parent["id"].clone();
    let child = submit(&service, &repository.url(), more).await;
    let done = service.client.finished_run(&child).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let run = service.client.finished_run(&parent).await;
    let types = event_types(&service, &run).await;
    let at = |kind: &str| types.iter().position(|t| t == kind);
    assert!(
        at("run.waiting") < at("run.integrating") && at("run.waiting").is_some(),
        "{types:?}"
    );
    assert_eq!(run["status"], "succeeded", "{run}");
    let branch = run["branch"].as_str().unwrap();
    for file in ["parent.txt", "child.txt"] {
        assert_eq!(repository.show(branch, file), "done", "{file}");
    }
    rules_hold(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_asks_others_for_is_done_and_brought_together_on_one_branch() {
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "1")]).await;
    // The parent asks for two parts; each part, and the parent afterwards, does its own.
    let agent = r#"#!/bin/sh
set -eu
prompt=$(sed -n 's/.*"taskPrompt": "\([^"]*\)".*/\1/p' "$AWO_REQUEST")
case "$prompt" in
part*) echo "$prompt" > "${prompt#part }.txt" ;;
*) echo whole > whole.txt
   echo '{"children":[{"taskPrompt":"part one"},{"taskPrompt":"part two"}]}' > "$AWO_RESULT" ;;
esac
"#;
    let repository = Repository::with(&[(".awo/agent.sh", agent)]);
    let parent = submit(&service, &repository.url(), json!({})).await;
    let run = service.client.finished_run(&parent).await;
    assert_eq!(run["status"], "succeeded", "{run}");
    let branch = run["branch"].as_str().unwrap();
    for (file, content) in [
        ("whole.txt", "whole"),
        ("one.txt", "part one"),
        ("two.txt", "part two"),
    ] {
        assert_eq!(repository.show(branch, file), content, "{file}");
    }
    let path = format!("/v1/work-orders/{}", parent["id"].as_str().unwrap());
    let order = service.client.get(&path).await.body;
    assert_eq!(order["status"], "succeeded", "{order}");
    rules_hold(&service).await;
}
