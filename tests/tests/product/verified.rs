//! Verified results in every view; and the cost of a run without client code.

use awo_tests::agents::{order, submit};
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

/// A repository whose tests pass once the answer is right, or that has none.
fn repository(has_tests: bool) -> Repository {
    let makefile = "test:\n\t@grep -q right answer.txt && echo 1 passed in 0.01s\n";
    let name = if has_tests { "Makefile" } else { "notes.txt" };
    Repository::with(&[(name, makefile), ("answer.txt", "wrong\n")])
}

fn of_type<'a>(events: &'a Value, kind: &str) -> &'a Value {
    let mut all = events["events"].as_array().unwrap().iter();
    let found = all.find(|event| event["type"] == kind);
    &found.unwrap_or_else(|| panic!("no {kind}: {events:#}"))["data"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_work_order_event_and_lists_say_whether_a_result_is_verified() {
    let service = TestService::start(1_000_000, &[]).await;
    let client = &service.client;
    for verified in [true, false] {
        let repository = repository(verified);
        let order = order(&repository.url(), "echo right > answer.txt");
        let order = submit(client, &order).await;
        assert_eq!(order["verified"], false, "{order:#}");
        let run = client.finished_run(&order).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
        assert_eq!(run["verified"], verified, "{run:#}");
        let (id, run_id) = (
            order["id"].as_str().unwrap(),
            run["runId"].as_str().unwrap(),
        );
        let shown = client.get(&format!("/v1/work-orders/{id}")).await;
        assert_eq!(shown.body["verified"], verified, "{}", shown.text);
        let events = client.get(&format!("/v1/runs/{run_id}/events")).await;
        assert_eq!(of_type(&events.body, "run.completed")["verified"], verified);
        for (path, list) in [
            ("/v1/work-orders?limit=1", "workOrders"),
            ("/v1/runs?limit=1", "runs"),
        ] {
            let page = client.get(path).await;
            assert_eq!(page.body[list][0]["verified"], verified, "{}", page.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_names_files_of_the_gate_that_its_agent_changed() {
    let service = TestService::start(1_000_000, &[]).await;
    let client = &service.client;
    for (more, changed) in [
        (
            "printf '\\nother:\\n\\ttrue\\n' >> Makefile",
            json!(["Makefile"]),
        ),
        ("echo script-shell=/bin/true > .npmrc", json!([".npmrc"])),
        ("echo x > notes.txt", Value::Null),
    ] {
        let repository = repository(true);
        let agent = format!("echo right > answer.txt; {more}");
        let order = submit(client, &order(&repository.url(), &agent)).await;
        let run = client.finished_run(&order).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
        assert_eq!(run["gateChanged"], changed, "{run:#}");
        assert!(run.get("behind").is_none(), "{run:#}");
        let run_id = run["runId"].as_str().unwrap();
        let events = client.get(&format!("/v1/runs/{run_id}/events")).await;
        let passed = of_type(&events.body, "verification.passed");
        assert_eq!(passed["gate"]["gateChanged"], changed, "{passed:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_to_be_verified_and_is_not_fails_before_its_delivery() {
    let service = TestService::start(1_000_000, &[]).await;
    let client = &service.client;
    let profile = json!({"name": "strict", "description": "", "verification": {"required": true}});
    let made = client.post("/api/v1/profiles", &profile).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let repository = repository(false);
    let mut wanted = order(&repository.url(), "echo right > answer.txt");
    wanted["harness"] = json!("strict");
    let order = submit(client, &wanted).await;
    let run = client.finished_run(&order).await;
    assert_eq!(run["status"], "failed", "{run:#}");
    assert_eq!(run["error"]["code"], "NOT_VERIFIED");
    assert!(run.get("branch").is_none(), "{run:#}");
    assert!(
        run["cost"]["credits"].as_f64().unwrap() > 0.0,
        "its agent worked"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_fails_before_anything_is_executed_costs_nothing() {
    let service = TestService::start(1_000_000, &[]).await;
    let client = &service.client;
    let plan = "tests: [{name: unit, run: 'no-such-tool-here -q'}]\n";
    let repository = Repository::with(&[("verify.yaml", plan)]);
    for branch in [None, Some("nowhere")] {
        let mut wanted = order(&repository.url(), "true");
        if let Some(branch) = branch {
            wanted["workspaceSource"]["branch"] = json!(branch);
        }
        let order = submit(client, &wanted).await;
        let run = client.finished_run(&order).await;
        assert_eq!(run["error"]["code"], "WORKSPACE_FAILED", "{run:#}");
        assert_eq!(run["cost"]["credits"].as_f64(), Some(0.0), "{run:#}");
        assert_eq!(run["iteration"], 0);
    }
    let credits = client.get("/v1/credits").await;
    assert_eq!(
        credits.body["balance"], credits.body["available"],
        "{}",
        credits.text
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_missing_after_a_setup_costs_compute_and_no_iteration() {
    let service = TestService::start(1_000_000, &[]).await;
    let client = &service.client;
    let environment = json!({"name": "e", "setup": [{"name": "deps", "run": "true"}]});
    let made = client.post("/v1/environments", &environment).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let plan = "tests: [{name: unit, run: 'no-such-tool-here -q'}]\n";
    let repository = Repository::with(&[("verify.yaml", plan)]);
    let mut body = order(&repository.url(), "true");
    body["environment"] = json!("e");
    let order = submit(client, &body).await;
    let run = client.finished_run(&order).await;
    assert_eq!(run["error"]["code"], "WORKSPACE_FAILED", "{run:#}");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(message.contains("no-such-tool-here"), "{message}");
    assert_eq!(run["iteration"], 0, "{run:#}");
    let credits = run["cost"]["credits"].as_f64().unwrap();
    assert!(0.0 < credits && credits < 5.0, "{run:#}");
}
