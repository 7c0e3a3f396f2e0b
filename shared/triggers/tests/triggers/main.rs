//! Deliveries of each forge, what triggers make of them, and what of them gets into a prompt.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has to fail loudly"
)]

mod deliveries;
mod hostile;
mod judging;
mod prompts;

use std::collections::BTreeMap;

use awo_domain::forge::{ForgeKind, GitHostName};
use awo_triggers::{Event, Sender, event};
use serde_json::{Value, json};

/// The event of a delivery of a forge at `git.example`.
fn delivered<'a>(forge: ForgeKind, name: &str, body: &'a Value) -> Option<Event<'a>> {
    let host = GitHostName::parse("git.example").unwrap();
    let header = match forge {
        ForgeKind::Github => "x-github-event",
        ForgeKind::Gitea => "x-gitea-event",
        ForgeKind::Gitlab => "x-gitlab-event",
    };
    let headers = BTreeMap::from([(header.to_owned(), name.to_owned())]);
    let sender = Sender {
        forge: Some(forge),
        host: Some(&host),
    };
    event(sender, &headers, body)
}

const SHA: &str = "1234567890123456789012345678901234567890";

/// A GitHub issue with a label.
fn labeled_issue() -> Value {
    json!({
        "action": "labeled",
        "issue": {
            "number": 7, "html_url": "https://git.example/acme/app/issues/7", "title": "Wrong total",
            "body": "It says 3.\n/fix", "user": { "login": "ann" }, "labels": [{ "name": "agent" }, { "name": "bug" }],
        },
        "label": { "name": "agent" },
        "repository": { "clone_url": "https://git.example/acme/app.git" },
        "sender": { "login": "bob", "type": "User" },
    })
}

/// A pull request of GitHub or Gitea, with its action.
fn pull_request(action: &str) -> Value {
    json!({
        "action": action,
        "pull_request": {
            "number": 8, "html_url": "https://git.example/acme/app/pull/8", "title": "Total", "body": "Adds up.",
            "user": { "login": "ann" }, "labels": [{ "name": "agent" }], "draft": false, "merged": false,
            "head": { "ref": "total", "sha": SHA, "repo": { "id": 1 } },
            "base": { "ref": "main", "sha": SHA, "repo": { "id": 1 } },
        },
        "repository": { "clone_url": "https://git.example/acme/app.git" },
        "sender": { "login": "ann", "type": "User" },
    })
}

/// A merge request of GitLab, with its action.
fn merge_request(action: &str) -> Value {
    json!({
        "object_kind": "merge_request",
        "user": { "username": "ann" },
        "project": { "git_http_url": "https://git.example/acme/app.git" },
        "labels": [{ "title": "agent" }],
        "object_attributes": {
            "iid": 8, "url": "https://git.example/acme/app/-/merge_requests/8", "title": "Total",
            "description": "Adds up.", "action": action, "draft": false,
            "source_branch": "total", "target_branch": "main", "source_project_id": 1, "target_project_id": 1,
            "last_commit": { "id": SHA },
        },
    })
}

/// A check run of GitHub on the head of a pull request, with its action.
fn check_run(action: &str, conclusion: &str) -> Value {
    json!({
        "action": action,
        "check_run": {
            "name": "ci / test", "head_sha": SHA, "conclusion": conclusion, "external_id": "",
            "output": { "title": "2 failed", "summary": "test_total failed", "text": null },
            "check_suite": { "head_branch": "total" }, "app": { "id": 9 },
            "pull_requests": [{
                "number": 8, "head": { "ref": "total", "sha": SHA, "repo": { "id": 1 } },
                "base": { "ref": "main", "sha": SHA, "repo": { "id": 1 } },
            }],
        },
        "repository": { "clone_url": "https://git.example/acme/app.git" },
        "sender": { "login": "ann", "type": "User" },
    })
}

/// A pipeline of GitLab for a merge request.
fn pipeline(status: &str) -> Value {
    json!({
        "object_kind": "pipeline",
        "user": { "username": "ann" },
        "project": { "git_http_url": "https://git.example/acme/app.git" },
        "object_attributes": { "status": status, "ref": "total", "sha": SHA, "tag": false },
        "merge_request": {
            "iid": 8, "url": "https://git.example/acme/app/-/merge_requests/8", "title": "Total",
            "source_branch": "total", "target_branch": "main", "source_project_id": 1, "target_project_id": 1,
        },
        "builds": [{ "name": "test", "status": "failed" }, { "name": "lint", "status": "success" }],
    })
}
