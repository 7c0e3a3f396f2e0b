//! Each event at each forge.

use awo_domain::forge::ForgeKind::{self, Gitea, Github, Gitlab};
use awo_domain::trigger::ReviewState;
use awo_domain::trigger::TriggerEvent as E;
use serde_json::{Value, json};

use crate::{SHA, check_run, delivered, labeled_issue, merge_request, pipeline, pull_request};

fn with(mut body: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[name] = value.clone();
    }
    body
}

fn comment(is_pull: bool) -> Value {
    let body = with(
        labeled_issue(),
        &[
            ("/action", json!("created")),
            ("/is_pull", json!(is_pull)),
            (
                "/comment",
                json!({ "body": "/fix", "user": { "login": "bob" } }),
            ),
        ],
    );
    if is_pull {
        let pull = json!({ "url": "https://api" });
        with(body, &[("/issue/pull_request", pull)])
    } else {
        body
    }
}

fn push() -> Value {
    json!({
        "ref": "refs/heads/release/1", "after": SHA,
        "repository": { "clone_url": "https://git.example/acme/app.git" },
        "sender": { "login": "ann", "type": "User" },
    })
}

fn gitlab_issue(action: &str) -> Value {
    json!({
        "object_kind": "issue",
        "user": { "username": "bob" },
        "project": { "git_http_url": "https://git.example/acme/app.git" },
        "labels": [{ "title": "agent" }],
        "object_attributes": {
            "iid": 7, "url": "https://git.example/acme/app/-/issues/7", "title": "Wrong total",
            "description": "It says 3.", "action": action,
        },
        "changes": {},
    })
}

fn gitlab_note(kind: &str) -> Value {
    let mut body = json!({
        "object_kind": "note",
        "user": { "username": "bob" },
        "project": { "git_http_url": "https://git.example/acme/app.git" },
        "object_attributes": {
            "note": "/fix", "noteable_type": kind, "url": "https://git.example/acme/app/-/issues/7#note_1",
            "system": false,
        },
    });
    match kind {
        "Issue" => body["issue"] = gitlab_issue("open")["object_attributes"].clone(),
        _ => body["merge_request"] = merge_request("open")["object_attributes"].clone(),
    }
    body
}

fn gitlab_push() -> Value {
    json!({
        "object_kind": "push", "ref": "refs/heads/release/1", "after": SHA, "user_username": "ann",
        "project": { "git_http_url": "https://git.example/acme/app.git" },
    })
}

/// A forge, the header and the body of a delivery of it, and the event.
type EventRow = (ForgeKind, &'static str, Value, E);

/// Every event with a delivery of it, at each forge that sends it.
fn table() -> Vec<EventRow> {
    [of_github(), of_gitea(), of_gitlab()].concat()
}

/// Deliveries of GitHub.
#[rustfmt::skip]
fn of_github() -> Vec<EventRow> {
    let merged = |body: Value| with(body, &[("/pull_request/merged", json!(true))]);
    let action = |action: &str| with(labeled_issue(), &[("/action", json!(action))]);
    let review = json!({ "state": "changes_requested", "body": "No.", "user": { "login": "bob" } });
    let reviewed = with(pull_request("submitted"), &[("/review", review)]);
    vec![
        (Github, "issues", action("opened"), E::IssueOpened),
        (Github, "issues", labeled_issue(), E::IssueLabeled),
        (Github, "issues", action("assigned"), E::IssueAssigned),
        (Github, "issue_comment", comment(false), E::CommentCreated),
        (Github, "issue_comment", comment(true), E::CommentCreated),
        (Github, "pull_request_review", reviewed, E::ReviewSubmitted),
        (Github, "push", push(), E::Push),
        (Github, "pull_request", pull_request("opened"), E::PullRequestOpened),
        (Github, "pull_request", pull_request("synchronize"), E::PullRequestUpdated),
        (Github, "pull_request", pull_request("labeled"), E::PullRequestLabeled),
        (Github, "pull_request", merged(pull_request("closed")), E::PullRequestMerged),
        (Github, "check_run", check_run("completed", "failure"), E::CheckFailed),
        (Github, "check_run", check_run("rerequested", "success"), E::CheckRerequested),
    ]
}

/// Deliveries of Gitea.
#[rustfmt::skip]
fn of_gitea() -> Vec<EventRow> {
    let merged = |body: Value| with(body, &[("/pull_request/merged", json!(true))]);
    let action = |action: &str| with(labeled_issue(), &[("/action", json!(action))]);
    vec![
        (Gitea, "issues", action("opened"), E::IssueOpened),
        (Gitea, "issues", action("label_updated"), E::IssueLabeled),
        (Gitea, "issues", action("assigned"), E::IssueAssigned),
        (Gitea, "issue_comment", comment(false), E::CommentCreated),
        (Gitea, "pull_request_rejected", pull_request("reviewed"), E::ReviewSubmitted),
        (Gitea, "push", push(), E::Push),
        (Gitea, "pull_request", pull_request("opened"), E::PullRequestOpened),
        (Gitea, "pull_request", pull_request("synchronized"), E::PullRequestUpdated),
        (Gitea, "pull_request", pull_request("label_updated"), E::PullRequestLabeled),
        (Gitea, "pull_request", merged(pull_request("closed")), E::PullRequestMerged),
    ]
}

/// Deliveries of GitLab.
#[rustfmt::skip]
fn of_gitlab() -> Vec<EventRow> {
    let label = [(
        "/changes",
        json!({ "labels": { "previous": [], "current": [{ "title": "agent" }] } }),
    )];
    let assigned = [(
        "/changes",
        json!({ "assignees": { "previous": [], "current": [{}] } }),
    )];
    let moved = [("/object_attributes/oldrev", json!(SHA))];
    vec![
        (Gitlab, "Issue Hook", gitlab_issue("open"), E::IssueOpened),
        (Gitlab, "Issue Hook", with(gitlab_issue("update"), &label), E::IssueLabeled),
        (Gitlab, "Issue Hook", with(gitlab_issue("update"), &assigned), E::IssueAssigned),
        (Gitlab, "Note Hook", gitlab_note("Issue"), E::CommentCreated),
        (Gitlab, "Note Hook", gitlab_note("MergeRequest"), E::CommentCreated),
        (Gitlab, "Merge Request Hook", merge_request("approved"), E::ReviewSubmitted),
        (Gitlab, "Push Hook", gitlab_push(), E::Push),
        (Gitlab, "Merge Request Hook", merge_request("open"), E::PullRequestOpened),
        (Gitlab, "Merge Request Hook", with(merge_request("update"), &moved), E::PullRequestUpdated),
        (Gitlab, "Merge Request Hook", with(merge_request("update"), &label), E::PullRequestLabeled),
        (Gitlab, "Merge Request Hook", merge_request("merge"), E::PullRequestMerged),
        (Gitlab, "Pipeline Hook", pipeline("failed"), E::CheckFailed),
    ]
}

#[test]
fn every_event_is_read_from_the_delivery_of_each_forge() {
    for (forge, name, body, expected) in table() {
        let event =
            delivered(forge, name, &body).unwrap_or_else(|| panic!("{forge:?} {name} {body}"));
        assert_eq!(event.names, [expected], "{forge:?} {name}");
        let subject = match expected {
            E::Push => "acme/app@release/1",
            _ if event.subject.as_ref().unwrap().number == 8 => "acme/app#8",
            _ => "acme/app#7",
        };
        assert_eq!(
            event.subject_name().as_deref(),
            Some(subject),
            "{forge:?} {name}"
        );
        assert_eq!(
            event.repository_name().as_deref(),
            Some("git.example/acme/app")
        );
        // The account that a forge names for a failure is the one that pushed, which did not cause it.
        let actor = event.actor.filter(|_| expected != E::CheckFailed);
        let is_named = actor.is_some_and(|actor| ["ann", "bob"].contains(&&*actor.login));
        assert_eq!(is_named, expected != E::CheckFailed, "{forge:?} {name}");
    }
}

#[test]
fn each_forge_sends_every_event_of_forges() {
    for forge in ForgeKind::ALL {
        for event in E::ALL {
            let is_sent = table()
                .iter()
                .any(|(sender, _, _, sent)| (*sender, *sent) == (forge, event));
            assert_eq!(
                is_sent,
                event.is_sent_by(Some(forge)),
                "{forge:?} {event:?}"
            );
        }
    }
}

#[test]
fn a_check_that_did_not_fail_is_no_event() {
    for conclusion in [
        "success",
        "neutral",
        "cancelled",
        "skipped",
        "action_required",
    ] {
        let body = check_run("completed", conclusion);
        assert!(
            delivered(ForgeKind::Github, "check_run", &body).is_none(),
            "{conclusion}"
        );
    }
    for status in ["running", "success", "canceled"] {
        let body = pipeline(status);
        assert!(
            delivered(ForgeKind::Gitlab, "Pipeline Hook", &body).is_none(),
            "{status}"
        );
    }
}

#[test]
fn a_pull_request_names_its_head_its_target_and_whether_it_is_a_forks() {
    let fork = with(
        pull_request("opened"),
        &[("/pull_request/head/repo", json!({ "id": 2 }))],
    );
    let gone = with(
        pull_request("opened"),
        &[("/pull_request/head/repo", Value::Null)],
    );
    let other = with(
        merge_request("open"),
        &[("/object_attributes/source_project_id", json!(2))],
    );
    for (forge, name, body, is_fork) in [
        (Github, "pull_request", pull_request("opened"), false),
        (Github, "pull_request", fork.clone(), true),
        (Github, "pull_request", gone, true),
        (Gitea, "pull_request", fork, true),
        (Gitlab, "Merge Request Hook", merge_request("open"), false),
        (Gitlab, "Merge Request Hook", other, true),
    ] {
        let branches = delivered(forge, name, &body).unwrap().branches.unwrap();
        assert_eq!(branches.head.as_str(), "total");
        assert_eq!(branches.target.unwrap().as_str(), "main");
        assert_eq!(branches.commit.unwrap().as_str(), SHA);
        assert_eq!(branches.is_fork, is_fork, "{forge:?}");
    }
}

#[test]
fn a_comment_on_a_pull_request_of_github_leaves_its_branches_to_be_asked() {
    let (on_pull, on_issue) = (comment(true), comment(false));
    let event = delivered(Github, "issue_comment", &on_pull).unwrap();
    assert!(event.lacks_branches());
    let event = delivered(Github, "issue_comment", &on_issue).unwrap();
    assert!(!event.lacks_branches());
}

#[test]
fn programs_are_bots_at_each_forge() {
    let github = with(
        labeled_issue(),
        &[("/sender", json!({ "login": "x[bot]", "type": "Bot" }))],
    );
    let gitea = with(
        pull_request("opened"),
        &[("/sender/login", json!("gitea-actions"))],
    );
    let gitlab = with(
        merge_request("open"),
        &[("/user/username", json!("project_3_bot_9f"))],
    );
    for (forge, name, body) in [
        (Github, "issues", github),
        (Gitea, "pull_request", gitea),
        (Gitlab, "Merge Request Hook", gitlab),
    ] {
        assert!(
            delivered(forge, name, &body).unwrap().actor.unwrap().is_bot,
            "{forge:?}"
        );
    }
}

#[test]
fn reviews_have_the_states_that_forges_give_them() {
    let state = |state: &str| {
        let review = json!({ "state": state, "body": null, "user": { "login": "bob" } });
        with(pull_request("submitted"), &[("/review", review)])
    };
    for (forge, name, body, expected) in [
        (
            Github,
            "pull_request_review",
            state("APPROVED"),
            ReviewState::Approved,
        ),
        (
            Github,
            "pull_request_review",
            state("commented"),
            ReviewState::Commented,
        ),
        (
            Gitea,
            "pull_request_approved",
            pull_request("reviewed"),
            ReviewState::Approved,
        ),
        (
            Gitea,
            "pull_request_rejected",
            pull_request("reviewed"),
            ReviewState::ChangesRequested,
        ),
        (
            Gitea,
            "pull_request_comment",
            pull_request("reviewed"),
            ReviewState::Commented,
        ),
    ] {
        assert_eq!(
            delivered(forge, name, &body).unwrap().review.unwrap().state,
            expected
        );
    }
    let dismissed = state("dismissed");
    assert_eq!(delivered(Github, "pull_request_review", &dismissed), None);
}

#[test]
fn what_is_no_news_is_no_event() {
    let zero = "0".repeat(40);
    let other_host = [(
        "/repository/clone_url",
        json!("https://git.other/acme/app.git"),
    )];
    let removed = json!({ "added_labels": [], "removed_labels": [{ "name": "agent" }] });
    let unlabeled = with(
        labeled_issue(),
        &[("/action", json!("label_updated")), ("/changes", removed)],
    );
    let note = |name: &str, value: Value| {
        with(
            gitlab_note("Issue"),
            &[(&*format!("/object_attributes/{name}"), value)],
        )
    };
    for (forge, name, body) in [
        (
            Github,
            "issues",
            with(labeled_issue(), &[("/action", json!("unlabeled"))]),
        ),
        (Github, "issues", with(labeled_issue(), &other_host)),
        (Github, "star", labeled_issue()),
        (Github, "pull_request", pull_request("closed")),
        (Github, "push", with(push(), &[("/after", json!(zero))])),
        (
            Github,
            "push",
            with(push(), &[("/ref", json!("refs/tags/v1"))]),
        ),
        (Gitea, "issues", unlabeled),
        (Gitlab, "Issue Hook", gitlab_issue("update")),
        (
            Gitlab,
            "Issue Hook",
            with(
                gitlab_issue("open"),
                &[("/object_attributes/confidential", json!(true))],
            ),
        ),
        (Gitlab, "Note Hook", note("system", json!(true))),
        (Gitlab, "Note Hook", note("action", json!("update"))),
        (Gitlab, "Note Hook", note("internal", json!(true))),
        (
            Gitlab,
            "Pipeline Hook",
            json!({ "object_kind": "pipeline", "user": { "username": "ann" } }),
        ),
    ] {
        assert_eq!(
            delivered(forge, name, &body),
            None,
            "{forge:?} {name} {body}"
        );
    }
}
