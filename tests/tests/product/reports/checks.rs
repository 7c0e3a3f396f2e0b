//! Checks of delivered and of verified commits.

use awo_domain::forge::ForgeKind;
use awo_origins::gitea::Gitea;
use awo_origins::gitlab::Gitlab;
use awo_tests::driven::DrivenRun;
use serde_json::{Value, json};

use super::{RED, Stage, verification};
use crate::outcomes::set_forge;

/// A `verify` order of a commit.
fn of_commit() -> Value {
    json!({ "agent": { "type": "verify" }, "taskPrompt": "" })
}

/// Begins the only iteration of a `verify` order at this commit.
async fn begun(stage: &Stage, order: &Value, commit: &str) -> DrivenRun {
    let mut run = DrivenRun::of(&stage.service, order).await;
    run.report(json!({
        "type": "workspaceReady", "workDir": "/w", "commit": commit, "branch": "main",
    }))
    .await;
    run.iterate(1).await;
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivered_commit_gets_one_check_run_by_the_app() {
    let stage = Stage::new(&json!({ "checks": "check" })).await;
    stage.connect_app().await;
    let order = stage.delivers("c1", true).await;
    assert_eq!(
        stage.reports(&order).await,
        json!([{ "kind": "check", "state": "pending" }])
    );
    for _ in 0..3 {
        stage.sweep().await;
        stage.advance(300);
    }
    let runs = stage.check_runs();
    let [check] = &runs[..] else {
        panic!("{runs:#?}")
    };
    assert_eq!(
        (&check["name"], &check["head_sha"], &check["external_id"]),
        (&json!("awo/verified"), &json!("c1"), &order["runId"])
    );
    assert_eq!(
        (&check["status"], &check["conclusion"]),
        (&json!("completed"), &json!("success"))
    );
    assert_eq!(check["output"]["title"], "Verified: 2 tests passed");
    let summary = check["output"]["summary"].as_str().unwrap();
    for part in [
        "| L1 | `built-in:tests` | passed |",
        "configHash `",
        "chainHead `",
        "planHash `p1an`",
    ] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let posted = json!([{ "kind": "check", "state": "posted", "url": check["html_url"] }]);
    assert_eq!(stage.reports(&order).await, posted);
    let app = stage.forge.change(|github| github.app.clone()).unwrap();
    let token = app.issued.last().unwrap();
    assert_eq!(
        (&token.repositories, &token.permissions),
        (
            &vec!["acme/app".to_owned()],
            &json!({ "checks": "write", "metadata": "read" })
        )
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verified_commit_is_in_progress_and_then_has_its_verdict_in_the_same_check() {
    let stage = Stage::new(&json!({ "checks": "check", "checkName": "gate" })).await;
    stage.connect_app().await;
    let order = stage.order(&of_commit()).await;
    let mut run = begun(&stage, &order, "c1").await;
    stage.sweep().await;
    let begun = stage.check_runs();
    assert_eq!(begun.len(), 1);
    assert_eq!(
        (&begun[0]["name"], &begun[0]["status"]),
        (&json!("gate"), &json!("in_progress"))
    );
    run.report(verification("failed", false)).await;
    let failed = json!({ "type": "failed", "code": "VERIFICATION_FAILED", "message": "1 of 2" });
    assert_eq!(run.send_last(failed).await.status, 200);
    stage.sweep().await;
    let ended = stage.check_runs();
    assert_eq!(ended.len(), 1, "{ended:#?}");
    assert_eq!(ended[0]["conclusion"], "failure");
    assert_eq!(ended[0]["output"]["title"], "Not verified: 1 check fails");
    let annotation = &ended[0]["output"]["annotations"][0];
    assert_eq!(
        (&annotation["path"], &annotation["start_line"]),
        (&json!("src/sum.py"), &json!(7))
    );
    let summary = ended[0]["output"]["summary"].as_str().unwrap();
    let block = format!("````text\n{RED}\n````");
    assert!(summary.contains(&block), "{summary}");
    assert!(summary.contains("`unit: t 'adds' / @team`"), "{summary}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_verification_leaves_no_check_in_progress() {
    let stage = Stage::new(&json!({ "checks": "check" })).await;
    stage.connect_app().await;
    let order = stage.order(&of_commit()).await;
    let run = begun(&stage, &order, "c1").await;
    stage.sweep().await;
    let path = format!("/v1/runs/{}/cancel", order["runId"].as_str().unwrap());
    let canceled = stage.service.client.post(&path, &json!({})).await;
    assert!(canceled.status < 300, "{}", canceled.text);
    run.free_slot().await;
    stage.sweep().await;
    let runs = stage.check_runs();
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(runs[0]["conclusion"], "cancelled", "{runs:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_evidence_a_check_fails_unless_the_profile_says_otherwise() {
    for (unverified, conclusion) in [(None, "failure"), (Some("pass"), "neutral")] {
        let mut git_ops = json!({ "checks": "check" });
        if let Some(unverified) = unverified {
            git_ops["unverified"] = json!(unverified);
        }
        let stage = Stage::new(&git_ops).await;
        stage.connect_app().await;
        stage.delivers("c1", false).await;
        stage.sweep().await;
        let runs = stage.check_runs();
        assert_eq!(runs[0]["conclusion"], conclusion);
        assert_eq!(runs[0]["output"]["title"], "unverified");
        let summary = runs[0]["output"]["summary"].as_str().unwrap();
        assert!(
            summary.contains("No test is known to have run"),
            "{summary}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_app_and_on_request_a_check_is_a_commit_status() {
    for (mode, has_app) in [("check", false), ("status", true)] {
        let stage = Stage::new(&json!({ "checks": mode })).await;
        if has_app {
            stage.connect_app().await;
        }
        let order = stage.delivers("c1", true).await;
        for _ in 0..2 {
            stage.sweep().await;
            stage.advance(300);
        }
        let statuses = stage.statuses();
        let [status] = &statuses[..] else {
            panic!("{statuses:#?}")
        };
        let expected = json!({
            "state": "success", "context": "awo/verified", "sha": "c1",
            "description": "Verified: 2 tests passed",
        });
        assert_eq!(*status, expected, "{mode}");
        assert_eq!(
            stage.reports(&order).await,
            json!([{ "kind": mode, "state": "posted" }])
        );
        assert!(stage.check_runs().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_delivers_nothing_and_a_profile_without_checks_post_nothing() {
    let stage = Stage::new(&json!({ "checks": "check" })).await;
    let order = stage.order(&json!({})).await;
    let mut run = DrivenRun::of(&stage.service, &order).await;
    run.iterate(1).await;
    run.report(verification("failed", false)).await;
    run.fail().await;
    stage.sweep().await;
    assert_eq!(stage.reports(&order).await, Value::Null);
    let usual = stage.order(&json!({ "harness": "default" })).await;
    stage.delivers_of(&usual, "c1", true).await;
    stage.sweep().await;
    assert_eq!(stage.reports(&usual).await, Value::Null);
    assert!(stage.statuses().is_empty() && stage.forge.calls().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gitlab_and_gitea_get_a_status_in_their_own_words() {
    let (gitlab, gitea) = (
        Gitlab::new(crate::outcomes::TOKEN),
        Gitea::new(crate::outcomes::TOKEN),
    );
    let ((gitlab_url, _one), (gitea_url, _other)) = (gitlab.start(), gitea.start());
    for (kind, url, words) in [
        (ForgeKind::Gitlab, &gitlab_url, ["running", "failed"]),
        (ForgeKind::Gitea, &gitea_url, ["pending", "failure"]),
    ] {
        let stage = Stage::new(&json!({ "checks": "check" })).await;
        set_forge(&stage.service, kind, url).await;
        let newest = || match kind {
            ForgeKind::Gitlab => gitlab.change(|state| state.reports.statuses.last().cloned()),
            _ => gitea.change(|state| state.reports.statuses.last().cloned()),
        };
        let order = stage.order(&of_commit()).await;
        let mut run = begun(&stage, &order, "c1").await;
        stage.sweep().await;
        assert_eq!(newest().unwrap()["state"], words[0], "{kind:?}");
        run.report(verification("failed", false)).await;
        let failed = json!({ "type": "failed", "code": "VERIFICATION_FAILED", "message": "no" });
        assert_eq!(run.send_last(failed).await.status, 200);
        for _ in 0..2 {
            stage.sweep().await;
            stage.advance(300);
        }
        let status = newest().unwrap();
        assert_eq!(status["state"], words[1], "{kind:?}");
        assert_eq!(status["description"], "Not verified: 1 check fails");
        assert_eq!(
            stage.reports(&order).await,
            json!([{ "kind": "check", "state": "posted" }])
        );
    }
}
