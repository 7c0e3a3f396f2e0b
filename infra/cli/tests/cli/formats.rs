//! Output formats for programs, and clap's completions and pages.

use serde_json::{Value, json};

use crate::call::{CallOutput, at, command};
use crate::double::{Double, ReceivedRequest, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";

fn order() -> Value {
    json!({"id": WO, "runId": RUN, "status": "canceled", "taskPrompt": "one\ttab\nand more",
        "workspaceSource": {}, "createdAt": "2026-11-20T08:00:00.123Z"})
}

fn service(_: &ReceivedRequest, _: usize) -> Reply {
    Reply::of(
        200,
        json!({"workOrders": [order()], "total": 1}).to_string(),
    )
}

#[tokio::test]
async fn lists_are_values_between_tabs_or_ids_alone() {
    let double = Double::start(service).await;
    let tsv = at(&double.url, &["list", "--format", "tsv"]).await;
    let lines: Vec<Vec<&str>> = tsv
        .out
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(
        lines[0],
        ["work order", "status", "verified", "created", "run", "task"]
    );
    let values = [
        WO,
        "canceled",
        "",
        "2026-11-20T08:00:00.123Z",
        RUN,
        "one tab",
    ];
    assert_eq!(lines[1], values, "{tsv:?}");
    let ids = at(&double.url, &["list", "--format", "ids"]).await;
    assert_eq!(ids.out, format!("{WO}\n"));
    let json = at(&double.url, &["list", "--format", "json"]).await.json();
    assert_eq!(json["total"], 1);
    let both = at(&double.url, &["list", "--format", "tsv", "--json"]).await;
    assert_eq!(both.code, 2, "{both:?}");
}

#[tokio::test]
async fn a_submission_can_answer_with_its_id() {
    let double = Double::start(|_, _| Reply::of(201, order().to_string())).await;
    let args = [
        "submit",
        "--repo",
        "https://e.x/a",
        "--prompt",
        "p",
        "--format",
        "ids",
    ];
    assert_eq!(at(&double.url, &args).await.out, format!("{WO}\n"));
}

#[tokio::test]
async fn shells_and_man_have_every_command() {
    let run = async |args: &[&str]| CallOutput::of(command(args).output().await.unwrap());
    for shell in ["bash", "zsh", "fish"] {
        let called = run(&["completions", shell]).await;
        assert_eq!(called.code, 0, "{called:?}");
        assert!(
            called.out.contains("submit") && called.out.contains("listen"),
            "{shell}"
        );
    }
    let page = run(&["man"]).await;
    assert!(page.out.contains(".TH awo 1"), "{page:?}");
    let dir = tempfile::tempdir().unwrap();
    let pages = run(&["man", "--dir", dir.path().to_str().unwrap()]).await;
    assert_eq!(pages.code, 0, "{pages:?}");
    for page in ["awo.1", "awo-submit.1", "awo-webhooks-create.1"] {
        assert!(dir.path().join(page).exists(), "{page}");
    }
}

#[tokio::test]
async fn a_fault_in_a_file_is_shown_with_the_file() {
    let refusal = r#"{"error":{"code":"BAD_REQUEST","message":"m","details":{"errors":[
        {"path":"/description","message":"is too long"}]}}}"#;
    let double = Double::start(move |_, _| Reply::of(400, refusal)).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.json");
    std::fs::write(&file, "{}").unwrap();
    let file = file.to_str().unwrap();
    let called = at(&double.url, &["templates", "create", "t", file]).await;
    assert!(
        called
            .err
            .contains(&format!("{file}: /description is too long")),
        "{called:?}"
    );
    std::fs::write(file, "{").unwrap();
    let called = at(&double.url, &["templates", "create", "t", file]).await;
    assert_eq!(called.code, 2, "{called:?}");
}
