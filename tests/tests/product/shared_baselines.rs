//! Results of a base commit are shared by the runs of an organization, for the same repository, commit, plan
//! and environment, for thirty days.

use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

const DAY_MS: i64 = 24 * 3_600_000;

fn results(names: &[&str]) -> Value {
    let checks = names.iter().map(|name| {
        json!({ "name": name, "status": "failed", "message": "",
            "tests": { "passed": 1, "failed": 1, "skipped": 0, "source": "report" } })
    });
    json!([{
        "pluginId": "built-in:tests", "status": "failed", "level": "L1", "summary": "",
        "checks": checks.collect::<Vec<_>>(), "durationMs": 1,
    }])
}

/// A run that is under way, of a work order for this repository.
async fn run(service: &TestService, repository: &str) -> DrivenRun {
    let mut body = order();
    body["workspaceSource"]["repository"] = json!(repository);
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    DrivenRun::of(service, &made.body).await
}

/// The names of checks that are stored.
async fn stored(run: &DrivenRun, commit: &str, plan: &str) -> Vec<String> {
    let body = json!({ "commit": commit, "planHash": plan });
    let answer = run.control("baseline", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let results = answer.body["results"].as_array().unwrap().iter();
    let checks = results.flat_map(|result| result["checks"].as_array().unwrap().clone());
    let names = checks.map(|check| check["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test]
async fn results_of_a_base_are_those_of_its_repository_commit_and_plan() {
    let service = quiet_service().await;
    let (plan, other_plan) = ("a".repeat(64), "b".repeat(64));
    let first = run(&service, "https://git.example/a.git").await;
    assert!(stored(&first, "c0", &plan).await.is_empty());
    for (names, all) in [(["unit"], vec!["unit"]), (["slow"], vec!["unit", "slow"])] {
        let body = json!({ "commit": "c0", "planHash": plan, "results": results(&names) });
        let answer = first.control("baseline", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(stored(&first, "c0", &plan).await, all);
    }
    let second = run(&service, "https://git.example/a.git").await;
    assert_eq!(stored(&second, "c0", &plan).await, ["unit", "slow"]);
    assert!(stored(&second, "c1", &plan).await.is_empty());
    assert!(stored(&second, "c0", &other_plan).await.is_empty());
    let elsewhere = run(&service, "https://git.example/b.git").await;
    assert!(stored(&elsewhere, "c0", &plan).await.is_empty());
    service.service.cloud.clock.advance(30 * DAY_MS + 1);
    let late = run(&service, "https://git.example/a.git").await;
    assert!(stored(&late, "c0", &plan).await.is_empty());
}

#[tokio::test]
async fn a_baseline_that_does_not_fit_is_refused() {
    let service = quiet_service().await;
    let run = run(&service, "https://git.example/a.git").await;
    let plan = "a".repeat(64);
    let long = "x".repeat(201_000);
    for (body, path) in [
        (json!({ "commit": "no", "planHash": plan }), "/commit"),
        (json!({ "commit": "c0", "planHash": "A" }), "/planHash"),
        (
            json!({ "commit": "c0", "planHash": plan, "results": results(&[&long]) }),
            "/results",
        ),
    ] {
        let answer = run.control("baseline", &body).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(path), "{}", answer.text);
    }
}
