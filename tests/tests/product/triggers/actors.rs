//! Actors that may trigger: the forge is asked at that moment, and an unknown permission is refused.

use awo_origins::github::{OWN_LOGIN, Turn};
use serde_json::{Value, json};

use super::{COMMIT, Stage, with};

fn refused(reason: &str) -> (String, Option<String>) {
    ("refused".to_owned(), Some(reason.to_owned()))
}

fn ignored(reason: &str) -> (String, Option<String>) {
    ("ignored".to_owned(), Some(reason.to_owned()))
}

fn by(body: Value, login: &str, kind: &str) -> Value {
    with(
        body,
        &[("/sender", json!({ "login": login, "type": kind }))],
    )
}

#[tokio::test]
async fn who_may_not_push_starts_nothing_and_a_bot_only_if_it_is_named() {
    let stage = Stage::new().await;
    let who = json!({ "who": { "bots": ["renovate[bot]"], "excludeUsers": ["eve"] } });
    let trigger = stage.trigger(&stage.label(&who)).await;
    stage.host.github.give("triager", "triage");
    stage.host.github.give("eve", "admin");
    for (number, login, kind, outcome) in [
        (1, "stranger", "User", refused("who:permission")),
        (2, "triager", "User", refused("who:permission")),
        (3, "eve", "User", refused("who:excludeUsers")),
        (4, "other[bot]", "Bot", refused("bot")),
        (5, "renovate[bot]", "Bot", ("created".to_owned(), None)),
        (6, "ann", "User", ("created".to_owned(), None)),
    ] {
        let body = by(stage.labeled(number), login, kind);
        assert_eq!(stage.judged("issues", &body).await, outcome, "{login}");
    }
    assert_eq!(stage.orders(&trigger).await.len(), 2);
}

#[tokio::test]
async fn the_services_own_acts_and_forks_start_nothing_even_if_named_in_who() {
    let stage = Stage::new().await;
    stage.host.github.give(OWN_LOGIN, "admin");
    let changes = json!({
        "events": ["comment.created", "pull_request.opened", "push"], "filter": {}, "settleSeconds": 0,
        "who": { "users": [OWN_LOGIN, "ann"] },
    });
    let trigger = stage.trigger(&stage.label(&changes)).await;
    let comment = |number: u64, text: &str| {
        let comment = json!({ "body": text, "user": { "login": OWN_LOGIN } });
        let changes = [("/action", json!("created")), ("/comment", comment)];
        by(with(stage.labeled(number), &changes), OWN_LOGIN, "User")
    };
    let opened = stage.pull_request("opened", "total");
    let own = by(opened.clone(), OWN_LOGIN, "User");
    let fork = with(
        opened.clone(),
        &[("/pull_request/head/repo", json!({ "id": 2 }))],
    );
    let gone = with(
        opened,
        &[("/pull_request/head/repo", Value::Null), ("/x", json!(1))],
    );
    for (event, body, outcome) in [
        (
            "issue_comment",
            comment(1, "<!-- awo:thread --> done"),
            ignored("self"),
        ),
        ("pull_request", own, ignored("self")),
        ("pull_request", fork, refused("fork")),
        ("pull_request", gone, refused("fork")),
        // A person may use the account of the token.
        (
            "issue_comment",
            comment(2, "please"),
            ("created".to_owned(), None),
        ),
    ] {
        assert_eq!(stage.judged(event, &body).await, outcome, "{event} {body}");
    }
    assert_eq!(stage.orders(&trigger).await.len(), 1);
}

#[tokio::test]
async fn a_permission_that_nobody_knows_is_refused_at_once_without_a_token_and_after_ten_minutes_otherwise()
 {
    let stage = Stage::without_token(&[("a.txt", "a\n")]).await;
    stage.trigger(&stage.label(&json!({}))).await;
    let outcome = stage.judged("issues", &stage.labeled(1)).await;
    assert_eq!(outcome, refused("permission_unknown"));
    stage.set_token().await;
    let lose_five_answers = || {
        for _ in 0..5 {
            let lost = Turn::Answer(502, None, "<html>".to_owned());
            stage.host.github.next("GET", "/permission", lost);
        }
    };
    lose_five_answers();
    let id = stage.deliver("issues", &stage.labeled(2)).await;
    stage.sweep().await;
    assert_eq!(stage.logged(&id).await["outcome"], "pending");
    for _ in 0..10 {
        lose_five_answers();
        stage.advance(60);
        stage.sweep().await;
    }
    let delivery = stage.logged(&id).await;
    assert_eq!(delivery["outcome"], "refused", "{delivery:#}");
    assert_eq!(delivery["triggers"][0]["reason"], "permission_unknown");
}

#[tokio::test]
async fn a_forge_that_answers_again_within_ten_minutes_loses_nothing() {
    let stage = Stage::new().await;
    let trigger = stage.trigger(&stage.label(&json!({}))).await;
    stage.host.github.next("GET", "/user", Turn::Lost);
    let id = stage.deliver("issues", &stage.labeled(1)).await;
    stage.sweep().await;
    assert_eq!(stage.logged(&id).await["outcome"], "pending");
    stage.advance(61);
    stage.sweep().await;
    assert_eq!(stage.logged(&id).await["outcome"], "created");
    assert_eq!(stage.orders(&trigger).await.len(), 1);
}

#[tokio::test]
async fn a_comment_on_a_pull_request_is_judged_by_the_branches_that_the_forge_names() {
    let stage = Stage::new().await;
    stage.host.github.add("acme/app", "total", "main", "Total");
    stage.host.github.push(1, COMMIT);
    let changes = json!({
        "events": ["comment.created"], "filter": { "command": "fix", "branches": ["release/*"] },
        "settleSeconds": 0,
    });
    stage.trigger(&stage.label(&changes)).await;
    let comment = json!({ "body": "/fix it", "user": { "login": "ann" } });
    let changes = [
        ("/action", json!("created")),
        ("/comment", comment),
        (
            "/issue/pull_request",
            json!({ "url": "https://git.example" }),
        ),
        ("/issue/number", json!(1)),
    ];
    let body = with(stage.labeled(1), &changes);
    let outcome = stage.judged("issue_comment", &body).await;
    assert_eq!(outcome, ignored("filter:branches"));
}
