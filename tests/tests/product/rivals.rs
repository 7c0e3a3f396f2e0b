//! Concurrent changes of the same item.

use std::collections::BTreeSet;

use awo_tests::client::Client;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

/// More than an update gives way to before it gives up.
const RIVALS: u32 = 48;
/// How often they meet before it counts as luck that nobody gave up.
const ROUNDS: u32 = 10;

async fn change(
    client: &Client,
    (method, path): (&str, &str),
    description: String,
) -> (u16, String) {
    let body = json!({ "description": description }).to_string();
    let headers = [("content-type", "application/json")];
    let answer = client.send(method, path, &headers, body.into_bytes()).await;
    (answer.status, description)
}

/// Lets rivals change a thing until one got 409. Every other change is in what there is
/// now, or was followed by another.
async fn rival(client: &Client, method: &str, path: &str, thing: fn(&Value) -> &Value) {
    for round in 0..ROUNDS {
        let rivals = (0..RIVALS)
            .map(|n| change(client, (method, path), format!("round {round}, rival {n}")));
        let answers = join_all(rivals).await;
        let statuses: BTreeSet<u16> = answers.iter().map(|(status, _)| *status).collect();
        assert!(statuses.is_subset(&[200, 409].into()), "{statuses:?}");
        let read = client.get(path).await.body;
        let last = thing(&read)["description"].clone();
        let heard = answers.iter().find(|(_, description)| last == *description);
        assert_eq!(heard.map(|(status, _)| *status), Some(200), "{last}");
        if statuses.contains(&409) {
            return;
        }
    }
    panic!("{RIVALS} rivals of {path} never made one give up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_loses_against_all_rivals_gets_409() {
    let service = quiet_service().await;
    let client = &service.client;
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    let template = json!({ "id": "ours", "name": "Ours", "source": source });
    assert_eq!(client.post("/v1/templates", &template).await.status, 201);
    let profile = json!({ "name": "ours" });
    assert_eq!(client.post("/api/v1/profiles", &profile).await.status, 201);
    let webhook = json!({ "url": "https://hooks.example.com", "events": ["run.failed"] });
    let webhook = client.post("/v1/webhooks", &webhook).await.body;
    let webhook = format!(
        "/v1/webhooks/{}",
        webhook["webhook"]["id"].as_str().unwrap()
    );
    rival(client, "PATCH", &webhook, |body| body).await;
    rival(client, "PUT", "/v1/templates/ours", |body| body).await;
    let environment = json!({ "name": "ours" });
    let made = client.post("/v1/environments", &environment).await;
    assert_eq!(made.status, 201, "{}", made.text);
    rival(client, "PUT", "/v1/environments/ours", |body| body).await;
    rival(client, "PUT", "/api/v1/profiles/ours", |body| &body["data"]).await;
}

/// Lets rivals send two requests at one thing until one of each kind got 409.
async fn rival_of_two(client: &Client, path: &str, requests: [(&str, &str, &Value); 2]) {
    let mut refused = BTreeSet::new();
    for _ in 0..ROUNDS {
        let rivals = (0..RIVALS).map(async |number| {
            let kind = usize::from(number % 2 == 0);
            let (method, path, body) = requests[kind];
            let headers = [("content-type", "application/json")];
            let body = body.to_string().into_bytes();
            (kind, client.send(method, path, &headers, body).await)
        });
        for (kind, answer) in join_all(rivals).await {
            assert!([200, 409].contains(&answer.status), "{}", answer.text);
            if answer.status == 409 {
                refused.insert(kind);
            }
        }
        let read = client.get(path).await;
        assert_eq!(read.status, 200, "{}", read.text);
        if refused.len() == 2 {
            return;
        }
    }
    panic!("{RIVALS} rivals of {path} never made one of each give up: {refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rivals_at_one_schedule_leave_a_whole_one_and_get_409() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = json!({ "name": "first", "cron": "0 3 * * *", "workOrder": order() });
    let made = client.post("/v1/schedules", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/v1/schedules/{}", made.body["id"].as_str().unwrap());
    let resume = format!("{path}/resume");
    let requests = [("PUT", &*path, &body), ("POST", &*resume, &json!({}))];
    rival_of_two(client, &path, requests).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rivals_at_one_inbox_leave_a_whole_one_and_get_409() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = json!({ "name": "first", "kind": "github" });
    let made = client.post("/v1/inboxes", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.body["inbox"]["id"].as_str().unwrap();
    let path = format!("/v1/inboxes/{id}");
    let rotate = format!("{path}/rotate-secret");
    let change = json!({ "name": "second" });
    let requests = [("PATCH", &*path, &change), ("POST", &*rotate, &json!({}))];
    rival_of_two(client, &path, requests).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rivals_at_one_trigger_leave_a_whole_one_and_get_409() {
    let service = quiet_service().await;
    let client = &service.client;
    let inbox = json!({ "name": "first", "kind": "github" });
    let inbox = client.post("/v1/inboxes", &inbox).await.body;
    let body = |name: &str| {
        json!({
            "name": name, "inboxId": inbox["inbox"]["id"], "events": ["push"], "action": "create",
            "repositories": ["github.com/acme/*"], "workOrder": { "taskPrompt": "go on" },
        })
    };
    let made = client.post("/v1/triggers", &body("first")).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/v1/triggers/{}", made.body["id"].as_str().unwrap());
    let (one, other) = (body("one"), body("other"));
    let requests = [("PUT", &*path, &one), ("PUT", &*path, &other)];
    rival_of_two(client, &path, requests).await;
}
