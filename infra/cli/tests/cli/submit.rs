//! The request of a submission.

use std::path::Path;

use serde_json::{Value, json};

use crate::call::{CallOutput, KEY, command};
use crate::double::{Double, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";

async fn service() -> Double {
    Double::start(|_, _| {
        let order = json!({"id": WO, "runId": RUN, "status": "queued", "taskPrompt": "p",
            "workspaceSource": {}, "createdAt": "2026-11-20T08:00:00.000Z"});
        Reply::of(201, order.to_string())
    })
    .await
}

async fn submit(double: &Double, dir: &Path, args: &[&str]) -> CallOutput {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut call = command(["submit", "--prompt", "p"].iter().chain(args));
    call.env("AWO_URL", &double.url).env("AWO_API_KEY", KEY);
    call.env("PATH", path).current_dir(dir);
    CallOutput::of(call.output().await.unwrap())
}

fn sent(double: &Double) -> Value {
    double.seen().pop().unwrap().body
}

fn git(dir: &Path, args: &[&str]) {
    let author = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    let done = std::process::Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(author)
        .args(args)
        .output();
    assert!(done.unwrap().status.success(), "{args:?}");
}

#[tokio::test]
async fn the_repository_is_the_folder_one_is_in() {
    let (double, dir) = (service().await, tempfile::tempdir().unwrap());
    let dir = dir.path().canonicalize().unwrap();
    let refused = submit(&double, &dir, &[]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.err.contains("is not a git repository"),
        "{refused:?}"
    );

    git(&dir, &["init", "-q"]);
    git(&dir, &["commit", "-q", "--allow-empty", "-m", "x"]);
    std::fs::create_dir(dir.join("src")).unwrap();
    let url = format!("file://{}", dir.display());
    for (place, args) in [
        (dir.join("src"), vec![]),
        (dir.clone(), vec!["--repo", "."]),
    ] {
        let called = submit(&double, &place, &args).await;
        assert_eq!(called.code, 0, "{called:?}");
        assert_eq!(
            sent(&double)["workspaceSource"],
            json!({"type": "git", "repository": url})
        );
    }
}

#[tokio::test]
async fn what_follows_two_dashes_is_the_agents_command() {
    let (double, dir) = (service().await, tempfile::tempdir().unwrap());
    let args = [
        "--repo",
        "https://example.com/a",
        "--json",
        "--",
        "sh",
        "-c",
        "--follow",
    ];
    let called = submit(&double, dir.path(), &args).await;
    assert_eq!(called.code, 0, "{called:?}");
    let agent = json!({"type": "command", "command": ["sh", "-c", "--follow"]});
    assert_eq!(sent(&double)["agent"], agent);

    let args = [
        "--repo",
        "https://example.com/a",
        "--command",
        "sh",
        "--follow",
    ];
    let called = submit(&double, dir.path(), &args).await;
    assert!(
        called.err.contains("write the agent's command after --"),
        "{called:?}"
    );
}

#[tokio::test]
async fn a_template_its_variables_and_a_parent_are_sent() {
    let (double, dir) = (service().await, tempfile::tempdir().unwrap());
    let args = [
        "--template",
        "nightly",
        "--var",
        "team=core",
        "--parent",
        WO,
    ];
    let called = submit(&double, dir.path(), &args).await;
    assert_eq!(called.code, 0, "{called:?}");
    let body = sent(&double);
    let source =
        json!({"type": "template", "templateId": "nightly", "variables": {"team": "core"}});
    assert_eq!(
        (&body["workspaceSource"], &body["parentId"]),
        (&source, &json!(WO))
    );
    let both = submit(&double, dir.path(), &["--template", "t", "--repo", "."]).await;
    assert_eq!(both.code, 2, "{both:?}");
}
