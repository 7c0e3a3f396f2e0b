//! Manual verification: on the workspace of a run, inside its organization's own folder and nowhere
//! else.

mod crashes;
mod ends;
mod paid;
mod shared;
mod starts;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use awo_domain::OrgId;
use awo_tests::client::{Answer, Client};
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::quiet_service;
use crate::plugins::{register, switch};

const RUN: &str = "/api/v1/verification/run";

/// A run that the client's organization has.
async fn run_of(client: &Client) -> String {
    let mut order = awo_tests::agents::order("https://git.example/a.git", "true");
    order["limits"] = json!({ "maxCredits": 1 });
    let made = client.post("/v1/work-orders", &order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["runId"].as_str().unwrap().to_owned()
}

/// A workspace as a run of this organization would have left it.
async fn workspace_of(
    service: &TestService,
    (org, client): (&OrgId, &Client),
    files: &[(&str, &str)],
) -> PathBuf {
    let root = service.dir.path().join("workspaces").join(org.as_str());
    let dir = root.join(run_of(client).await).join("workspace");
    std::fs::create_dir_all(&dir).unwrap();
    for (name, content) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    dir
}

/// Makes a workspace of the service's own organization.
async fn workspace(service: &TestService, files: &[(&str, &str)]) -> PathBuf {
    workspace_of(service, (&service.org, &service.client), files).await
}

async fn verify(service: &TestService, dir: &Path, more: &Value) -> Answer {
    let mut body = json!({ "workDir": dir });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    service.client.post(RUN, &body).await
}

/// The result of a verification that was done.
async fn verified(service: &TestService, dir: &Path, more: &Value) -> Value {
    let answer = verify(service, dir, more).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["success"], true, "{}", answer.text);
    answer.body["data"].clone()
}

/// Plugins and their statuses, in order.
fn statuses(result: &Value) -> Vec<(&str, &str)> {
    let results = result["results"].as_array().unwrap().iter();
    results
        .map(|one| {
            let id = one["pluginId"].as_str().unwrap();
            let name = id.split_once(':').unwrap().1;
            (name, one["status"].as_str().unwrap())
        })
        .collect()
}

fn refused(answer: &Answer, path: &str) {
    let got = (answer.status, answer.body["error"]["code"].as_str());
    assert_eq!(got, (400, Some("BAD_REQUEST")), "{}", answer.text);
    assert!(answer.text.contains(path), "{path}: {}", answer.text);
    assert!(
        !answer.text.starts_with(char::is_whitespace),
        "an answer had begun"
    );
}

const PLAN: &str = "contracts: {forbiddenFiles: ['**/*.pem'], requiredFiles: [README.md]}\n\
                    tests: [{name: unit, run: 'test -e README.md'}]\n\
                    sanity: {forbidDebugLeftovers: true}\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_workspace_of_a_finished_run_is_verified_in_place() {
    let service = TestService::start(1_000_000, &[]).await;
    let repository = Repository::with(&[(
        "Makefile",
        "test:\n\t@test -e done && echo '1 passed in 0.1s'\n",
    )]);
    let order = json!({
        "taskPrompt": "do it",
        "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
        "agent": { "type": "command", "command": ["sh", "-c", "echo x > done"] },
    });
    let made = service.client.post("/v1/work-orders", &order).await;
    let run = service.client.finished_run(&made.body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let dir = PathBuf::from(run["workDir"].as_str().unwrap());
    let plugin = json!({ "id": "custom:prompt", "command": ["sh", "-c", "grep -q why $AWO_PROMPT && test -e done"] });
    register(&service.client, &plugin).await;
    let listing = |dir: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        names.sort_unstable();
        names
    };
    let (in_org, in_workspace) = (dir.ancestors().nth(2).unwrap(), dir.as_path());
    let files = [listing(in_org), listing(in_workspace)];
    let result = verified(&service, &dir, &json!({ "taskPrompt": "why" })).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
    let wanted = [
        ("contracts", "skipped"),
        ("tests", "passed"),
        ("blackbox", "skipped"),
        ("sanity", "skipped"),
        ("prompt", "passed"),
    ];
    assert_eq!(statuses(&result), wanted);
    assert!(result["durationMs"].is_u64() && result["summary"].is_string());
    let test = &result["results"][1];
    assert_eq!(
        (&test["level"], &test["checks"][0]["name"]),
        (&json!("L1"), &json!("make test"))
    );
    assert_eq!(
        [listing(in_org), listing(in_workspace)],
        files,
        "something stayed behind"
    );
    std::fs::remove_file(dir.join("done")).unwrap();
    let result = verified(&service, &dir, &json!({})).await;
    assert_eq!(result["overallStatus"], "failed", "{result:#}");
    assert_eq!(statuses(&result)[4], ("prompt", "skipped"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_outside_the_organizations_own_folder_is_refused_before_any_answer() {
    let service = quiet_service().await;
    let (other, stranger) = service.another_org(10).await;
    let dir = workspace(&service, &[("README.md", ""), ("src/a", "")]).await;
    let theirs = workspace_of(&service, (&other, &stranger), &[("README.md", "")]).await;
    let org_dir = dir.ancestors().nth(2).unwrap();
    symlink(&theirs, dir.join("to-theirs")).unwrap();
    symlink("/etc", dir.join("to-etc")).unwrap();
    symlink("src", dir.join("to-ours")).unwrap();
    let their_run = theirs
        .strip_prefix(service.dir.path().join("workspaces"))
        .unwrap();
    let other_way = dir.join("../../..").join(their_run);
    for bad in [
        &theirs,
        &dir.join("to-theirs"),
        &dir.join("to-etc"),
        &other_way,
        org_dir,
        org_dir.parent().unwrap(),
        Path::new("/"),
        &dir.join("README.md"),
        &dir.join("missing"),
    ] {
        let answer = verify(&service, bad, &json!({})).await;
        refused(&answer, "/workDir");
        assert!(!answer.text.contains(other.as_str()), "{}", answer.text);
    }
    for good in [dir.join("to-ours"), dir.join("src/../src")] {
        verified(&service, &good, &json!({})).await;
    }
    for (bad, good) in [("to-theirs/README.md", "to-ours/a"), ("to-etc", "to-ours")] {
        let files = json!({ "modifiedFiles": [good, "gone", bad] });
        refused(&verify(&service, &dir, &files).await, "/modifiedFiles/2");
    }
    std::fs::write(dir.join("verify.yaml"), "nonsense: 1\n").unwrap();
    let answer = verify(&service, &dir, &json!({})).await;
    refused(&answer, "/workDir");
    assert!(answer.text.contains("nonsense"), "{}", answer.text);
}

#[tokio::test]
async fn every_fault_of_a_request_is_reported() {
    let service = quiet_service().await;
    let bad = json!({
        "workDir": "w", "modifiedFiles": ["a", "../b", "/c"], "harness": "nobodys",
        "levels": ["L9"], "timeoutMs": 999, "pluginIds": ["custom:nobody", "built-in:tests"],
        "taskPrompt": 1, "extra": 1,
    });
    let answer = service.client.post(RUN, &bad).await;
    for path in [
        "/workDir",
        "/modifiedFiles/1",
        "/modifiedFiles/2",
        "/harness",
        "/levels/0",
        "/timeoutMs",
        "/pluginIds/0",
        "/taskPrompt",
        "/extra",
    ] {
        refused(&answer, path);
    }
    assert!(!answer.text.contains("/pluginIds/1"), "{}", answer.text);
    let missing = service
        .client
        .post(RUN, &json!({ "timeoutMs": 600_001 }))
        .await;
    refused(&missing, "/workDir is required");
    refused(&missing, "/timeoutMs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modified_files_limit_the_files_that_are_checked_and_levels_harness_and_plugins_what_runs()
{
    let service = quiet_service().await;
    let files = [
        ("verify.yaml", PLAN),
        ("README.md", ""),
        ("key.pem", ""),
        ("a.rs", "dbg!(1);\n"),
        ("b.rs", "\n"),
    ];
    let dir = workspace(&service, &files).await;
    register(
        &service.client,
        &json!({ "id": "custom:ok", "command": ["true"] }),
    )
    .await;
    let all = verified(&service, &dir, &json!({})).await;
    assert_eq!(all["overallStatus"], "failed");
    // Tests run whatever the contracts are; what comes after them does not.
    let gated = ["blackbox", "sanity", "ok"].map(|name| (name, "skipped"));
    assert_eq!(statuses(&all)[0], ("contracts", "failed"));
    assert_eq!(statuses(&all)[1], ("tests", "passed"));
    assert_eq!(statuses(&all)[2..], gated);
    let clean = json!({ "modifiedFiles": ["./b.rs", "gone.rs"] });
    let result = verified(&service, &dir, &clean).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
    let leftover = json!({ "modifiedFiles": ["a.rs"], "levels": ["L3"] });
    let result = verified(&service, &dir, &leftover).await;
    assert_eq!(statuses(&result), [("sanity", "failed")]);
    let by_level = json!({ "levels": ["custom", "L1"], "harness": "default" });
    let result = verified(&service, &dir, &by_level).await;
    assert_eq!(statuses(&result), [("tests", "passed"), ("ok", "passed")]);
    let by_id = json!({ "pluginIds": ["custom:ok", "built-in:contracts"], "levels": ["custom"] });
    let result = verified(&service, &dir, &by_id).await;
    assert_eq!(statuses(&result), [("ok", "passed")]);
    switch(&service.client, "built-in:contracts", "disable").await;
    let result = verified(&service, &dir, &json!({ "levels": ["L0", "L1"] })).await;
    assert_eq!(statuses(&result), [("tests", "passed")]);
    let named = json!({ "pluginIds": ["built-in:contracts"] });
    let result = verified(&service, &dir, &named).await;
    assert_eq!(
        (statuses(&result), &result["overallStatus"]),
        (vec![], &json!("warning"))
    );
}
