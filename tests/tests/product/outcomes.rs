//! Outcomes: pull requests of threads, kept current, and what they cost.

mod crashes;
mod pull_requests;
mod reports;

use std::sync::Arc;

use awo_domain::Timestamp;
use awo_domain::forge::{ApiUrl, ForgeKind, ForgeSetting, GitHostName};
use awo_domain::pull_request::{PullRequestState, PullRequestStatus, PullRequestUrl};
use awo_origins::forge_double::{Answers, ForgeDouble, Turn};
use awo_tests::client::Client;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use awo_workers::sweep::{self, Tick};
use serde_json::{Value, json};

use crate::http_api::order;

pub const HOST: &str = "git.example.com";
pub const REPOSITORY: &str = "https://git.example.com/acme/app.git";
pub const PULL_REQUEST: &str = "https://git.example.com/acme/app/pull/1";
pub const TOKEN: &str = "t0ken";
const HOUR_MS: i64 = 3_600_000;

/// A forge at the host, for the organization.
pub async fn set_forge(service: &TestService, kind: ForgeKind, api_url: &str) {
    let cloud = &service.service.cloud;
    let forge = ForgeSetting {
        host: GitHostName::parse(HOST).unwrap(),
        kind,
        api_url: Some(ApiUrl::parse(api_url).unwrap()),
    };
    let store = cloud.store().unwrap();
    store.set_forge(&service.org, &forge).await.unwrap();
    let secrets = cloud.secrets().unwrap();
    let name = format!("git:{HOST}");
    secrets.set(&service.org, &name, TOKEN).await.unwrap();
}

/// A work order on the repository of the forge.
pub fn task() -> Value {
    let mut body = order();
    body["workspaceSource"] = json!({ "type": "git", "repository": REPOSITORY });
    body
}

pub async fn create(service: &TestService, body: &Value) -> Value {
    let made = service.client.post("/v1/work-orders", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

/// Runs a work order to a delivery of this commit to a pull request, verified or not.
async fn deliver(service: &TestService, order: &Value, url: &str, commit: &str, verified: bool) {
    let mut run = DrivenRun::of(service, order).await;
    run.iterate(1).await;
    run.report(json!({
        "type": "verificationFinished", "iteration": 1, "levels": ["L1"], "verified": verified,
        "overallStatus": "passed", "summary": "1 of 1", "results": [],
    }))
    .await;
    let branch = format!("awo/{}", run.run_id);
    let outcome = json!({ "type": "succeeded", "commit": commit, "branch": branch, "prUrl": url });
    finish(&run, &outcome).await;
    run.free_slot().await;
}

/// Ends a run that used some tokens.
async fn finish(run: &DrivenRun, outcome: &Value) {
    let usage = json!([{
        "usage": { "model": "gpt-4o", "inputTokens": 1_000, "outputTokens": 100 },
        "costUsdNano": 3_500_001,
    }]);
    let body = json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": usage });
    let finished = run.control("finish", &body).await;
    assert_eq!(finished.status, 200, "{}", finished.text);
}

/// A work order whose run has delivered a verified commit.
async fn delivered(service: &TestService) -> Value {
    let order = create(service, &task()).await;
    deliver(service, &order, PULL_REQUEST, "c1", true).await;
    order
}

/// The part of a sweep that asks forges.
async fn sweep(service: &TestService) {
    let state = sweep::state(&service.service.cloud.of_function("sweep")).unwrap();
    let tick: Tick = serde_json::from_value(json!({ "part": "outcomes" })).unwrap();
    let swept = sweep::handle(Arc::new(state), tick).await.unwrap();
    assert_eq!(swept.failed, 0);
}

/// Lets hours pass, and sweeps.
async fn sweep_after(service: &TestService, hours: i64) {
    service.service.cloud.clock.advance(hours * HOUR_MS + 1);
    sweep(service).await;
}

async fn read(client: &Client, path: &str) -> Value {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.body
}

/// The pull request as the work order shows it; its list and its thread show the same.
async fn shown(service: &TestService, order: &Value) -> Value {
    let id = order["id"].as_str().unwrap();
    let shown = read(&service.client, &format!("/v1/work-orders/{id}")).await;
    let listed = read(&service.client, "/v1/work-orders?limit=100").await;
    let listed = listed["workOrders"].as_array().unwrap().iter();
    let listed: Vec<&Value> = listed.filter(|listed| listed["id"] == id).collect();
    assert_eq!(listed[0]["pullRequest"], shown["pullRequest"]);
    let thread = order["threadId"].as_str().unwrap();
    let thread = read(&service.client, &format!("/v1/threads/{thread}")).await;
    assert_eq!(thread["pullRequest"], shown["pullRequest"]);
    shown["pullRequest"].clone()
}

/// Events of a type in the outbox.
async fn events(service: &TestService, kind: &str) -> Vec<Value> {
    let store = service.service.cloud.store().unwrap();
    let outbox = store.outbox(&service.org, 100).await.unwrap();
    let of_kind = outbox.items.iter();
    let of_kind = of_kind.filter(|event| event.event_type.as_str() == kind);
    let body = |text: &str| serde_json::from_str::<Value>(text).unwrap()["data"].clone();
    of_kind.map(|event| body(&event.body)).collect()
}

/// A receiver that is never reached, so that events are noted.
async fn add_webhook(service: &TestService) {
    let events = ["pull_request.merged", "pull_request.closed"];
    let webhook = json!({ "url": "https://hooks.example.com", "events": events });
    let webhook = service.client.post("/v1/webhooks", &webhook).await;
    assert_eq!(webhook.status, 201, "{}", webhook.text);
}

/// The next answers of a forge, with a mark each.
fn answers<A: Answers>(forge: &ForgeDouble<A>, path: &'static str, bodies: &[(u16, Value)]) {
    for (nth, (status, body)) in bodies.iter().enumerate() {
        let mark = ("etag", format!("W/\"mark-{nth}\""));
        let body = if *status == 304 {
            String::new()
        } else {
            body.to_string()
        };
        forge.next("GET", path, Turn::Answer(*status, Some(mark), body));
    }
}

/// A pull request as GitHub and Gitea write it.
fn pull(state: &str, head: &str, updated_at: &str) -> Value {
    let is_merged = state == "merged";
    json!({
        "number": 1, "html_url": PULL_REQUEST, "state": if state == "open" { "open" } else { "closed" },
        "merged": is_merged, "merged_at": is_merged.then_some(updated_at),
        "closed_at": (state != "open").then_some(updated_at), "updated_at": updated_at,
        "merge_commit_sha": is_merged.then_some("m1"), "head": { "sha": head },
    })
}

/// A state as a delivery to an inbox reports it.
fn reported(status: PullRequestStatus, head: &str, updated_at: Timestamp) -> PullRequestState {
    let time_if = |other| (status == other).then_some(updated_at);
    PullRequestState {
        status,
        merged_at: time_if(PullRequestStatus::Merged),
        closed_at: time_if(PullRequestStatus::Closed),
        merged_commit: time_if(PullRequestStatus::Merged).map(|_| "m1".to_owned()),
        head: Some(head.to_owned()),
        updated_at: Some(updated_at),
    }
}

/// Applies a report, as the processor of deliveries does.
async fn apply(service: &TestService, url: &str, state: &PullRequestState) {
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let url = PullRequestUrl::parse(url).unwrap();
    let applied = awo_execution::outcomes::apply_reported(&store, &service.org, &url, state, now);
    applied.await.unwrap();
}
