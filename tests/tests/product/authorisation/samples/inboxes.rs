//! Inboxes that samples name, and deliveries to them.

use crate::signing::hex_hmac_sha256;
use awo_domain::InboxId;
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use serde_json::{Value, json};

/// The secret of an inbox that samples name.
const SECRET: &str = "a-secret-of-senders";
/// The header of its signatures.
pub const HEADER: &str = "x-sample-signature";

/// An inbox whose equal deliveries are no duplicates.
pub fn inbox() -> Value {
    json!({
        "name": "Samples", "kind": "hmac", "duplicates": "none", "secret": SECRET,
        "signature": { "header": HEADER, "encoding": "hex" },
    })
}

/// The body of a delivery.
pub fn delivery() -> Value {
    json!({ "zen": "Approachable is better than simple." })
}

/// The value of the header that signs a body.
pub fn signature(body: &[u8]) -> String {
    hex_hmac_sha256(SECRET.as_bytes(), body)
}

/// A new one, since a sample may have changed it; the oldest one leaves its place, of ten.
pub async fn an_inbox(service: &TestService) -> InboxId {
    let listed = service.client.get("/v1/inboxes").await.body;
    let listed = listed["inboxes"].as_array().unwrap().clone();
    if listed.len() > 8 {
        let oldest = listed.last().unwrap()["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/inboxes/{oldest}");
        let deleted = service.client.send("DELETE", &path, &[], Vec::new()).await;
        assert_eq!(deleted.status, 204, "{}", deleted.text);
    }
    let made = service.client.post("/v1/inboxes", &inbox()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    InboxId::parse(made.body["inbox"]["id"].as_str().unwrap()).unwrap()
}

/// A delivery to it that was processed.
pub async fn a_processed_delivery(service: &TestService, inbox: &InboxId) -> String {
    let seed = Seed::of(&service.service.cloud, &service.org);
    seed.inbox_delivery(inbox).await.id.to_string()
}
