//! A trigger × an event, with each reason.

use awo_domain::forge::{ForgeKind, ForgePermission};
use awo_domain::trigger::TriggerContent;
use awo_domain::{InboxId, Timestamp};
use awo_triggers::{OwnAccount, Verdict, event, judge, judge_actor};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::{delivered, labeled_issue, pipeline, pull_request};

/// A trigger for every event of `acme`, with changes.
fn trigger(changes: &Value) -> TriggerContent {
    let mut content = json!({
        "name": "Agent", "inboxId": InboxId::new(Timestamp::from_epoch_ms(0), 1),
        "events": ["issue.labeled", "issue.opened", "pull_request.opened", "comment.created", "received"],
        "repositories": ["git.example/acme/*"], "filter": {}, "who": { "permission": "write" },
        "action": "create", "workOrder": "{}", "limits": { "perSubject": 20, "perHour": 20 }, "enabled": true,
    });
    for (name, value) in changes.as_object().unwrap() {
        content[name] = value.clone();
    }
    serde_json::from_value(content).unwrap()
}

fn verdict(changes: &Value, name: &str, body: &Value) -> Verdict {
    judge(
        &trigger(changes),
        &delivered(ForgeKind::Github, name, body).unwrap(),
    )
}

#[test]
fn a_delivery_alone_decides_event_repository_filter_fork_and_bot() {
    let issue = labeled_issue();
    let mut by_bot = labeled_issue();
    by_bot["sender"] = json!({ "login": "ci[bot]", "type": "Bot" });
    let mut relabeled = labeled_issue();
    relabeled["label"]["name"] = json!("bug");
    for (changes, body, expected) in [
        (json!({}), &issue, Verdict::Acts),
        (
            json!({ "events": ["push"] }),
            &issue,
            Verdict::Ignored("event"),
        ),
        (
            json!({ "repositories": ["git.example/other/*"] }),
            &issue,
            Verdict::Ignored("repository"),
        ),
        (
            json!({ "repositories": ["git.other/acme/*"] }),
            &issue,
            Verdict::Ignored("repository"),
        ),
        (
            json!({ "filter": { "labels": ["agent", "bug"] } }),
            &issue,
            Verdict::Acts,
        ),
        (
            json!({ "filter": { "labels": ["agent"] } }),
            &relabeled,
            Verdict::Ignored("filter:labels"),
        ),
        (
            json!({ "filter": { "labels": ["urgent"] } }),
            &issue,
            Verdict::Ignored("filter:labels"),
        ),
        (
            json!({ "filter": { "excludeLabels": ["bug"] } }),
            &issue,
            Verdict::Ignored("filter:excludeLabels"),
        ),
        (
            json!({ "filter": { "mention": "awo" } }),
            &issue,
            Verdict::Ignored("filter:mention"),
        ),
        (
            json!({ "filter": { "command": "fix" } }),
            &issue,
            Verdict::Acts,
        ),
        (
            json!({ "filter": { "command": "stop" } }),
            &issue,
            Verdict::Ignored("filter:command"),
        ),
        (
            json!({ "filter": { "branches": ["main"] } }),
            &issue,
            Verdict::Ignored("filter:branches"),
        ),
        (
            json!({ "filter": { "draft": true } }),
            &issue,
            Verdict::Ignored("filter:draft"),
        ),
        (
            json!({ "who": { "permission": "write", "users": ["ann"] } }),
            &issue,
            Verdict::Refused("who:users"),
        ),
        (
            json!({ "who": { "permission": "write", "users": ["BOB"] } }),
            &issue,
            Verdict::Acts,
        ),
        (
            json!({ "who": { "permission": "write", "excludeUsers": ["bob"] } }),
            &issue,
            Verdict::Refused("who:excludeUsers"),
        ),
        (json!({}), &by_bot, Verdict::Refused("bot")),
        (
            json!({ "who": { "permission": "write", "bots": ["ci[bot]"] } }),
            &by_bot,
            Verdict::Acts,
        ),
    ] {
        assert_eq!(verdict(&changes, "issues", body), expected, "{changes}");
    }
}

#[test]
fn a_fork_is_refused_whatever_its_actor_may() {
    let mut body = pull_request("opened");
    let changes = json!({ "filter": { "branches": ["main"], "draft": false } });
    assert_eq!(verdict(&changes, "pull_request", &body), Verdict::Acts);
    body["pull_request"]["head"]["repo"]["id"] = json!(2);
    for action in ["create", "verify"] {
        let changes = json!({ "action": action });
        assert_eq!(
            verdict(&changes, "pull_request", &body),
            Verdict::Refused("fork")
        );
    }
}

#[test]
fn conditions_on_a_body_compare_texts_at_pointers() {
    let sender = awo_triggers::Sender {
        forge: None,
        host: None,
    };
    let body = json!({ "a": { "b": "issue 12" }, "n": 3, "null": null });
    let event = event(sender, &BTreeMap::new(), &body).unwrap();
    for (condition, holds) in [
        (json!({ "pointer": "/a/b", "equals": "issue 12" }), true),
        (json!({ "pointer": "/a/b", "equals": "issue" }), false),
        (json!({ "pointer": "/a/b", "contains": "12" }), true),
        (json!({ "pointer": "/n", "equals": "3" }), true),
        (json!({ "pointer": "/null", "exists": true }), true),
        (json!({ "pointer": "/x", "exists": false }), true),
        (json!({ "pointer": "/x", "equals": "" }), false),
        (json!({ "pointer": "/x", "contains": "" }), false),
    ] {
        let changes = json!({ "repositories": [], "filter": { "match": [condition] } });
        let expected = if holds {
            Verdict::Acts
        } else {
            Verdict::Ignored("filter:match")
        };
        assert_eq!(judge(&trigger(&changes), &event), expected, "{condition}");
    }
}

fn on_actor(name: &str, body: &Value, own: &OwnAccount, has: ForgePermission) -> Verdict {
    let event = delivered(ForgeKind::Github, name, body).unwrap();
    judge_actor(&trigger(&json!({})).who, &event, own, has)
}

#[test]
fn an_actor_without_the_permission_is_refused() {
    let own = OwnAccount::default();
    for (has, expected) in [
        (ForgePermission::None, Verdict::Refused("who:permission")),
        (ForgePermission::Read, Verdict::Refused("who:permission")),
        (ForgePermission::Triage, Verdict::Refused("who:permission")),
        (ForgePermission::Write, Verdict::Acts),
        (ForgePermission::Admin, Verdict::Acts),
    ] {
        assert_eq!(
            on_actor("issues", &labeled_issue(), &own, has),
            expected,
            "{has:?}"
        );
    }
}

#[test]
fn what_the_service_did_itself_never_counts() {
    let own = OwnAccount {
        login: Some("bob".to_owned()),
        app_id: Some(12),
    };
    let admin = ForgePermission::Admin;
    let own_word = Verdict::Ignored("self");
    // A person's act by the account of the token.
    assert_eq!(
        on_actor("issues", &labeled_issue(), &own, admin),
        Verdict::Acts
    );
    let mut opened = pull_request("opened");
    opened["sender"]["login"] = json!("bob");
    assert_eq!(on_actor("pull_request", &opened, &own, admin), own_word);
    let mut comment = labeled_issue();
    comment["action"] = json!("created");
    comment["comment"] = json!({ "body": "<!-- awo:report -->\n/fix", "user": { "login": "bob" } });
    assert_eq!(on_actor("issue_comment", &comment, &own, admin), own_word);
    comment["comment"]["body"] = json!("/fix");
    assert_eq!(
        on_actor("issue_comment", &comment, &own, admin),
        Verdict::Acts
    );
    comment["comment"]["performed_via_github_app"] = json!({ "id": 12 });
    assert_eq!(on_actor("issue_comment", &comment, &own, admin), own_word);
    let app = OwnAccount {
        login: Some("awo[bot]".to_owned()),
        app_id: Some(12),
    };
    let mut by_app = labeled_issue();
    by_app["sender"] = json!({ "login": "awo[bot]", "type": "Bot" });
    assert_eq!(on_actor("issues", &by_app, &app, admin), own_word);
}

#[test]
fn a_pipeline_that_only_the_services_own_status_fails_is_no_event() {
    let mut body = pipeline("failed");
    let name = "Pipeline Hook";
    assert!(delivered(ForgeKind::Gitlab, name, &body).is_some());
    body["builds"][0]["name"] = json!("awo/verified");
    assert_eq!(delivered(ForgeKind::Gitlab, name, &body), None);
}
