//! Verification results: of a followed run, of a finished run, and of a working copy.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::call::{CallOutput, at, command};
use crate::double::{Double, Reply, sse};

const RUN: &str = "run_01k0000000000000000000000b";

fn run(verified: bool) -> String {
    json!({"runId": RUN, "workOrderId": "wo_01k0000000000000000000000a", "status": "succeeded",
        "iteration": 1, "maxIterations": 5, "createdAt": "2026-11-20T08:00:00.000Z",
        "verified": verified})
    .to_string()
}

fn events() -> String {
    let long: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let checks = json!([{"name": "unit", "status": "failed", "message": long}]);
    let results = json!([{"level": "L1", "status": "failed", "summary": "s", "checks": checks}]);
    let event = |sequence: u32, kind: &str, data: serde_json::Value| {
        json!({"sequence": sequence, "type": kind, "data": data,
            "timestamp": "2026-11-20T08:00:01.000Z"})
    };
    let events = [
        event(
            1,
            "verification.failed",
            json!({"iteration": 1, "summary": "unit", "results": results}),
        ),
        event(2, "run.completed", json!({})),
    ];
    json!({"events": events, "lastSequence": 2, "hasMore": false}).to_string()
}

#[tokio::test]
async fn a_run_that_must_be_verified_and_is_not_did_not_succeed() {
    for (verified, flag, code) in [(true, true, 0), (false, true, 1), (false, false, 0)] {
        let double = Double::start(move |seen, _| {
            if seen.route().contains("/events") {
                let last = json!({"sequence": 1, "type": "run.completed", "data": {},
                "timestamp": "2026-11-20T08:00:01.000Z"});
                Reply::stream([sse(&last)])
            } else {
                Reply::of(200, run(verified))
            }
        })
        .await;
        let mut args = vec!["follow", RUN];
        args.extend(flag.then_some("--require-verified"));
        let called = at(&double.url, &args).await;
        assert_eq!(called.code, code, "{called:?}");
        let word = if verified { "verified" } else { "unverified" };
        assert!(called.out.contains(word), "{called:?}");
    }
}

#[tokio::test]
async fn every_check_of_a_run_is_shown_whole() {
    let double = Double::start(|_, _| Reply::of(200, events())).await;
    let called = at(&double.url, &["checks", RUN]).await;
    assert_eq!(called.code, 0, "{called:?}");
    for line in ["iteration 1", "L1 failed   unit", "line 1\n", "line 60\n"] {
        assert!(called.out.contains(line), "{line}: {called:?}");
    }
    let other = at(&double.url, &["checks", RUN, "--iteration", "2"]).await;
    assert!(other.out.contains("no verification of"), "{other:?}");
}

async fn verify(dir: &Path, more: &[&str]) -> CallOutput {
    let args = ["verify", dir.to_str().unwrap()];
    let path = std::env::var_os("PATH").unwrap();
    let output = command(args.iter().chain(more)).env("PATH", path).output();
    CallOutput::of(output.await.unwrap())
}

#[tokio::test]
async fn a_working_copy_is_verified_as_a_run_would_without_any_service() {
    let dir = tempfile::tempdir().unwrap();
    let plan = "tests: [{name: unit, run: 'test -e answer && echo 3 passed in 0.01s'}]\n\
                contracts: {requiredFiles: [answer]}\n";
    fs::write(dir.path().join("verify.yaml"), plan).unwrap();
    let shown = verify(dir.path(), &["--plan"]).await;
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(
        shown.out.contains("plan: verify.yaml") && shown.out.contains("L1     unit"),
        "{shown:?}"
    );
    let failed = verify(dir.path(), &[]).await;
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.out.contains("required: answer"), "{failed:?}");
    fs::write(dir.path().join("answer"), "").unwrap();
    let passed = verify(dir.path(), &[]).await;
    assert_eq!(passed.code, 0, "{passed:?}");
    assert!(passed.out.contains("3 tests: 3 passed"), "{passed:?}");
    assert!(passed.out.contains("\nverified: "), "{passed:?}");
    let reported = verify(dir.path(), &["--json"]).await.json();
    assert_eq!(reported["verified"], true);
    assert_eq!(reported["plan"]["source"], "verify.yaml");
    assert_eq!(reported["result"]["overallStatus"], "passed");
    fs::write(dir.path().join("verify.yaml"), "tets: []\n").unwrap();
    let wrong = verify(dir.path(), &[]).await;
    assert!(wrong.code != 0 && wrong.err.contains("tets"), "{wrong:?}");
}

#[tokio::test]
async fn a_working_copy_without_a_plan_is_not_verified() {
    let dir = tempfile::tempdir().unwrap();
    let none = verify(dir.path(), &[]).await;
    assert_eq!(none.code, 0, "{none:?}");
    assert!(
        none.out.contains("unverified: nothing was verified"),
        "{none:?}"
    );
    fs::write(dir.path().join("Makefile"), "test:\n\t@echo ok\n").unwrap();
    let found = verify(dir.path(), &["--plan"]).await;
    assert!(
        found.out.contains("plan: detected") && found.out.contains("make test"),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_detected_plan_is_explained_and_written_as_a_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("Makefile"),
        "test:\n\t@echo 3 passed in 0.1s\n",
    )
    .unwrap();
    let explained = verify(dir.path(), &["--explain"]).await;
    for part in [
        "Makefile: C and C++, make",
        "make -f Makefile test",
        "as verify.yaml",
    ] {
        assert!(explained.out.contains(part), "{part}: {explained:?}");
    }
    let written = verify(dir.path(), &["--write"]).await;
    assert_eq!(written.code, 0, "{written:?}");
    let passed = verify(dir.path(), &[]).await;
    assert!(passed.out.contains("plan: verify.yaml"), "{passed:?}");
    assert!(passed.out.contains("\nverified: "), "{passed:?}");
    let again = verify(dir.path(), &["--write"]).await;
    assert!(again.code != 0 && again.err.contains("exists"), "{again:?}");
}

#[tokio::test]
async fn where_nothing_is_detected_the_message_names_what_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("composer.json"), "{}").unwrap();
    let none = verify(dir.path(), &[]).await;
    assert_eq!(none.code, 0, "{none:?}");
    for part in ["composer.json", "version: 1", "vendor/bin/phpunit"] {
        assert!(none.out.contains(part), "{part}: {none:?}");
    }
}
