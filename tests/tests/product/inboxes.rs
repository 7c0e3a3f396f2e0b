//! Inboxes: deliveries that are stored before they are acknowledged, and processed by the sweep.

mod hooks;

use std::sync::Arc;

use awo_tests::client::Answer;
use awo_tests::service::TestService;
use awo_workers::sweep::{self, Tick};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// The body of a delivery.
const BODY: &[u8] = br#"{"zen":"Approachable is better than simple."}"#;

/// An inbox with the secret that its create has shown.
struct MadeInbox {
    id: String,
    secret: String,
    url: String,
}

impl MadeInbox {
    fn path(&self) -> String {
        format!("/v1/inboxes/{}", self.id)
    }

    fn hook(&self) -> String {
        format!("/v1/hooks/{}", self.id)
    }
}

async fn made(service: &TestService, body: &Value) -> MadeInbox {
    let made = service.client.post("/v1/inboxes", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    MadeInbox {
        id: text(&made.body["inbox"]["id"]),
        secret: text(&made.body["secret"]),
        url: text(&made.body["url"]),
    }
}

async fn github(service: &TestService) -> MadeInbox {
    made(service, &json!({ "name": "Ours", "kind": "github" })).await
}

fn digits(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

/// Posts a body as GitHub does.
async fn post(service: &TestService, inbox: &MadeInbox, body: &[u8]) -> Answer {
    let signature = format!("sha256={}", digits(&inbox.secret, body));
    let headers = [
        ("content-type", "application/json"),
        ("x-github-event", "ping"),
        ("x-hub-signature-256", signature.as_str()),
    ];
    let sender = service.client.with_key(None);
    sender.send("POST", &inbox.hook(), &headers, body.to_vec()).await
}

/// The log of an inbox, newest first.
async fn log(service: &TestService, inbox: &MadeInbox) -> Vec<Value> {
    let path = format!("{}/deliveries", inbox.path());
    let listed = service.client.get(&path).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.body["deliveries"].as_array().unwrap().clone()
}

/// The part of a sweep that processes deliveries.
async fn sweep(service: &TestService) {
    let state = sweep::state(&service.service.cloud).unwrap();
    let tick: Tick = serde_json::from_value(json!({ "part": "inboxes" })).unwrap();
    let swept = sweep::handle(Arc::new(state), tick).await.unwrap();
    assert_eq!(swept.failed, 0);
}
