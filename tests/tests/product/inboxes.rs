//! Inboxes: deliveries that are stored before they are acknowledged, and processed by the sweep.

mod hooks;
mod senders;
mod settings;

use std::sync::Arc;

use crate::signing::hex_hmac_sha256;
use awo_tests::client::Answer;
use awo_tests::service::TestService;
use awo_workers::sweep::{self, Tick};
use serde_json::{Value, json};

/// The body of a delivery.
const BODY: &[u8] = br#"{"zen":"Approachable is better than simple."}"#;

/// An inbox with the secret that its create has shown.
pub struct MadeInbox {
    pub id: String,
    secret: String,
    url: String,
}

impl MadeInbox {
    fn of(made: &Answer) -> MadeInbox {
        assert_eq!(made.status, 201, "{}", made.text);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        MadeInbox {
            id: text(&made.body["inbox"]["id"]),
            secret: text(&made.body["secret"]),
            url: text(&made.body["url"]),
        }
    }

    fn path(&self) -> String {
        format!("/v1/inboxes/{}", self.id)
    }

    fn hook(&self) -> String {
        format!("/v1/hooks/{}", self.id)
    }
}

pub async fn made(service: &TestService, body: &Value) -> MadeInbox {
    MadeInbox::of(&service.client.post("/v1/inboxes", body).await)
}

async fn github(service: &TestService) -> MadeInbox {
    made(service, &json!({ "name": "Ours", "kind": "github" })).await
}

/// The signature of a body in hexadecimal digits.
pub fn digits(secret: &str, body: &[u8]) -> String {
    hex_hmac_sha256(secret.as_bytes(), body)
}

/// Posts a body as GitHub does.
async fn post(service: &TestService, inbox: &MadeInbox, body: &[u8]) -> Answer {
    send_github(service, inbox, "ping", body).await
}

/// Posts an event as GitHub does.
pub async fn send_github(
    service: &TestService,
    inbox: &MadeInbox,
    event: &str,
    body: &[u8],
) -> Answer {
    let signature = format!("sha256={}", digits(&inbox.secret, body));
    let headers = [
        ("x-github-event", event),
        ("x-hub-signature-256", &signature),
    ];
    send(service, inbox, &headers, body).await
}

/// Posts JSON with these headers.
async fn send(
    service: &TestService,
    inbox: &MadeInbox,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let json = [("content-type", "application/json")];
    let headers = [&json[..], headers].concat();
    let sender = service.client.with_key(None);
    sender
        .send("POST", &inbox.hook(), &headers, body.to_vec())
        .await
}

/// Changes an inbox.
async fn patch(service: &TestService, inbox: &MadeInbox, change: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    let body = change.to_string().into_bytes();
    service
        .client
        .send("PATCH", &inbox.path(), &json, body)
        .await
}

/// A service whose deliveries are processed when a test says so.
async fn service() -> TestService {
    TestService::unswept(1_000, &[]).await
}

/// The log of an inbox, newest first.
async fn log(service: &TestService, inbox: &MadeInbox) -> Vec<Value> {
    let path = format!("{}/deliveries", inbox.path());
    let listed = service.client.get(&path).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.body["deliveries"].as_array().unwrap().clone()
}

/// The part of a sweep that processes deliveries.
pub async fn sweep(service: &TestService) {
    let state = sweep::state(&service.service.cloud.of_function("sweep")).unwrap();
    let tick: Tick = serde_json::from_value(json!({ "part": "inboxes" })).unwrap();
    let swept = sweep::handle(Arc::new(state), tick).await.unwrap();
    assert_eq!(swept.failed, 0);
}
