//! The state of pull requests: by conditional requests of the sweep, and by reports of inboxes.

use std::time::Duration;

use awo_domain::forge::{AppSetting, ForgeKind, GitHostName, app_secret};
use awo_domain::pull_request::PullRequestStatus;
use awo_origins::forge_double::Turn;
use awo_origins::gitea::Gitea;
use awo_origins::github::Github;
use awo_origins::github_app::App;
use awo_origins::gitlab::Gitlab;
use serde_json::{Value, json};

use super::{
    HOST, PULL_REQUEST, TOKEN, add_webhook, answers, apply, create, deliver, delivered, events,
    pull, reported, set_forge, shown, sweep, sweep_after, task,
};
use crate::http_api::quiet_service;
use crate::inboxes::{made, send_github};

/// The mark that each request to a forge was conditional on.
fn marks(calls: &[awo_origins::github::Call]) -> Vec<String> {
    let mark = |call: &awo_origins::github::Call| {
        let mark = call.headers.get("if-none-match");
        mark.map_or_else(String::new, |mark| mark.to_str().unwrap().to_owned())
    };
    calls.iter().map(mark).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sweep_asks_every_six_hours_by_conditional_requests_until_the_merge() {
    let service = quiet_service().await;
    let forge = Github::new(TOKEN);
    let (url, _server) = forge.start();
    set_forge(&service, ForgeKind::Github, &url).await;
    add_webhook(&service).await;
    let order = delivered(&service).await;
    let first = json!({
        "url": PULL_REQUEST, "number": 1, "state": "open", "mergedAsVerified": false,
    });
    assert_eq!(shown(&service, &order).await, first);
    sweep_after(&service, 5).await;
    assert_eq!(forge.calls().len(), 0, "before its time");
    let merged_at = "2026-11-20T07:00:00.000Z";
    let bodies = [
        (200, pull("open", "c1", "2026-11-20T06:00:00.000Z")),
        (304, Value::Null),
        (200, pull("merged", "c1", merged_at)),
    ];
    answers(&forge, "/repos/acme/app/pulls/1", &bodies);
    sweep_after(&service, 1).await;
    sweep(&service).await;
    assert_eq!(forge.calls().len(), 1, "once each six hours");
    sweep_after(&service, 6).await;
    assert_eq!(shown(&service, &order).await, first);
    sweep_after(&service, 6).await;
    // No mark, that of the first answer, and that again: a 304 has no other.
    let first_mark = "W/\"mark-0\"";
    assert_eq!(marks(&forge.calls()), ["", first_mark, first_mark]);
    let merged = json!({
        "url": PULL_REQUEST, "number": 1, "state": "merged", "mergedAt": merged_at,
        "mergedCommit": "m1", "mergedAsVerified": true,
    });
    assert_eq!(shown(&service, &order).await, merged);
    let changes = events(&service, "pull_request.merged").await;
    assert_eq!(changes.len(), 1, "{changes:?}");
    let id = &order["id"];
    assert_eq!(changes[0]["threadId"], *id);
    assert_eq!(changes[0]["workOrderId"], *id);
    assert_eq!(changes[0]["prUrl"], PULL_REQUEST);
    assert!(changes[0]["cost"]["credits"].as_f64().unwrap() > 0.0);
    sweep_after(&service, 24).await;
    assert_eq!(forge.calls().len(), 3, "a merge is final");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gitlab_and_gitea_are_asked_for_theirs() {
    let gitlab = Gitlab::new(TOKEN);
    let gitea = Gitea::new(TOKEN);
    let (gitlab_url, _one) = gitlab.start();
    let (gitea_url, _other) = gitea.start();
    let merged_at = "2026-11-20T07:00:00.000Z";
    let merge_request = json!({
        "iid": 1, "web_url": "https://git.example.com/acme/app/-/merge_requests/1", "state": "merged",
        "merged_at": merged_at, "merge_commit_sha": "m1", "sha": "c2", "updated_at": merged_at,
    });
    answers(&gitlab, "/merge_requests/1", &[(200, merge_request)]);
    answers(
        &gitea,
        "/pulls/1",
        &[(200, pull("merged", "c2", merged_at))],
    );
    for (kind, api, page) in [
        (ForgeKind::Gitlab, &gitlab_url, "-/merge_requests"),
        (ForgeKind::Gitea, &gitea_url, "pulls"),
    ] {
        let service = quiet_service().await;
        set_forge(&service, kind, api).await;
        let order = create(&service, &task()).await;
        let url = format!("https://git.example.com/acme/app/{page}/1");
        deliver(&service, &order, &url, "c1", true).await;
        sweep_after(&service, 6).await;
        let pull = shown(&service, &order).await;
        assert_eq!(pull["state"], "merged", "{kind:?}: {pull}");
        assert_eq!(pull["mergedCommit"], "m1");
        assert_eq!(pull["mergedAsVerified"], false, "others pushed c2");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forge_that_fails_is_asked_at_the_next_time_and_for_thirty_days() {
    let service = quiet_service().await;
    let forge = Github::new(TOKEN);
    let (url, _server) = forge.start();
    set_forge(&service, ForgeKind::Github, &url).await;
    let order = delivered(&service).await;
    forge.next("GET", "/pulls/1", Turn::Foreign(503));
    let limit = Some(("retry-after", "60".to_owned()));
    forge.next("GET", "/pulls/1", Turn::Answer(429, limit, "{}".to_owned()));
    for _ in 0..2 {
        sweep_after(&service, 6).await;
        sweep(&service).await;
    }
    assert_eq!(forge.calls().len(), 2);
    assert_eq!(shown(&service, &order).await["state"], "open");
    let closed = pull("closed", "c1", "2026-11-21T07:00:00.000Z");
    answers(&forge, "/pulls/1", &[(200, closed)]);
    sweep_after(&service, 6).await;
    assert_eq!(shown(&service, &order).await["state"], "closed");
    // A closed one may be reopened, so it is asked for until its time is over.
    sweep_after(&service, 24 * 28).await;
    assert_eq!(forge.calls().len(), 4);
    sweep_after(&service, 24 * 2).await;
    sweep_after(&service, 24).await;
    assert_eq!(
        forge.calls().len(),
        4,
        "thirty days after its last delivery"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_asks_with_a_token_that_may_read_pull_requests_alone() {
    let service = quiet_service().await;
    let forge = Github::new("of nobody");
    let (app, key) = App::made(7, &["acme/app"]);
    forge.change(|github| github.app = Some(app));
    let (url, _server) = forge.start();
    set_forge(&service, ForgeKind::Github, &url).await;
    let cloud = &service.service.cloud;
    let (store, secrets) = (cloud.store().unwrap(), cloud.secrets().unwrap());
    let host = GitHostName::parse(HOST).unwrap();
    let setting = AppSetting {
        app_id: 7,
        installation_id: None,
    };
    let set = store.set_app(&service.org, &host, Some(setting)).await;
    set.unwrap();
    let name = app_secret(&host);
    secrets.set(&service.org, &name, &key).await.unwrap();
    let order = delivered(&service).await;
    let merged = pull("merged", "c1", "2026-11-20T07:00:00.000Z");
    answers(&forge, "/repos/acme/app/pulls/1", &[(200, merged)]);
    let hours = Duration::from_hours(6);
    forge.change(|github| github.app.iter_mut().for_each(|app| app.ahead = hours));
    sweep_after(&service, 6).await;
    assert_eq!(shown(&service, &order).await["state"], "merged");
    let app = forge.change(|github| github.app.clone()).unwrap();
    // The claim of the run had one, too.
    let token = app.issued.last().unwrap();
    assert_eq!(token.repositories, ["acme/app"]);
    let rights = json!({ "pull_requests": "read", "metadata": "read" });
    assert_eq!(token.permissions, rights);
}

#[tokio::test]
async fn without_a_credential_nobody_is_asked_and_nothing_fails() {
    let service = quiet_service().await;
    let order = delivered(&service).await;
    sweep_after(&service, 6).await;
    assert_eq!(shown(&service, &order).await["state"], "open");
}

#[tokio::test]
async fn a_report_of_an_inbox_counts_at_once_and_an_older_one_not_at_all() {
    let service = quiet_service().await;
    add_webhook(&service).await;
    let order = delivered(&service).await;
    let now = service.service.cloud.clock.now();
    let closed = reported(PullRequestStatus::Closed, "c1", now);
    for _ in 0..2 {
        apply(&service, PULL_REQUEST, &closed).await;
    }
    let pull = shown(&service, &order).await;
    assert_eq!(pull["state"], "closed");
    assert_eq!(pull["closedAt"], now.to_string());
    // A delivery that was replayed.
    let before = reported(PullRequestStatus::Open, "c1", now.plus_ms(-1_000));
    apply(&service, PULL_REQUEST, &before).await;
    assert_eq!(shown(&service, &order).await["state"], "closed");
    let reopened = reported(PullRequestStatus::Open, "c1", now.plus_ms(1_000));
    apply(&service, PULL_REQUEST, &reopened).await;
    let pull = shown(&service, &order).await;
    assert_eq!(pull["state"], "open");
    assert_eq!(pull.get("closedAt"), None);
    let merged = reported(PullRequestStatus::Merged, "c1", now.plus_ms(2_000));
    apply(&service, PULL_REQUEST, &merged).await;
    assert_eq!(shown(&service, &order).await["mergedAsVerified"], true);
    let late = reported(PullRequestStatus::Open, "c1", now.plus_ms(3_000));
    apply(&service, PULL_REQUEST, &late).await;
    assert_eq!(shown(&service, &order).await["state"], "merged");
    assert_eq!(events(&service, "pull_request.closed").await.len(), 1);
    assert_eq!(events(&service, "pull_request.merged").await.len(), 1);
    // Nobody's, and another organization's.
    apply(&service, "https://git.example.com/acme/app/pull/2", &merged).await;
    assert_eq!(events(&service, "pull_request.merged").await.len(), 1);
}

#[tokio::test]
async fn a_later_turn_that_is_not_verified_is_not_merged_as_verified() {
    let service = quiet_service().await;
    let first = delivered(&service).await;
    let path = format!(
        "/v1/work-orders/{}/follow-ups",
        first["id"].as_str().unwrap()
    );
    let body = json!({ "taskPrompt": "and the other one" });
    let second = service.client.post(&path, &body).await;
    assert_eq!(second.status, 201, "{}", second.text);
    deliver(&service, &second.body, PULL_REQUEST, "c2", false).await;
    let now = service.service.cloud.clock.now();
    let merged = reported(PullRequestStatus::Merged, "c2", now);
    apply(&service, PULL_REQUEST, &merged).await;
    // Both turns show the pull request that they have delivered to.
    for turn in [&first, &second.body] {
        let pull = shown(&service, turn).await;
        assert_eq!(pull["state"], "merged");
        assert_eq!(pull["mergedAsVerified"], false);
    }
}

#[tokio::test]
async fn a_purged_work_order_is_not_asked_for() {
    let service = quiet_service().await;
    let forge = Github::new(TOKEN);
    let (url, _server) = forge.start();
    set_forge(&service, ForgeKind::Github, &url).await;
    let order = delivered(&service).await;
    let path = "/api/v1/work-orders/purge";
    let body = json!({ "statuses": ["succeeded"] });
    let purged = service.client.post(path, &body).await;
    assert_eq!(purged.status, 200, "{}", purged.text);
    let ids = &purged.body["data"]["deletedIds"];
    assert_eq!(*ids, json!([order["id"]]));
    sweep_after(&service, 6).await;
    sweep_after(&service, 6).await;
    assert_eq!(forge.calls().len(), 0);
}

#[tokio::test]
async fn a_delivery_to_an_inbox_reports_a_merge_at_once_and_only_of_its_own_host() {
    let service = quiet_service().await;
    let order = delivered(&service).await;
    for (host, state) in [("elsewhere.example.com", "open"), (HOST, "merged")] {
        let inbox = json!({ "name": "Forge", "kind": "github", "host": host });
        let inbox = made(&service, &inbox).await;
        let mut body = json!({
            "action": "closed", "sender": { "login": "ann", "type": "User" },
            "repository": { "clone_url": super::REPOSITORY },
            "pull_request": pull("merged", "c1", "2026-11-20T07:00:00.000Z"),
        });
        body["pull_request"]["html_url"] = json!(PULL_REQUEST);
        let bytes = body.to_string().into_bytes();
        let stored = send_github(&service, &inbox, "pull_request", &bytes).await;
        assert_eq!(stored.status, 202, "{}", stored.text);
        crate::inboxes::sweep(&service).await;
        assert_eq!(shown(&service, &order).await["state"], state, "{host}");
    }
}
