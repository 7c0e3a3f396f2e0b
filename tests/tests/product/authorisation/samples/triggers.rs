//! Triggers that samples name.

use awo_domain::InboxId;
use awo_tests::service::TestService;
use serde_json::{Value, json};

/// A trigger of an inbox of samples, or of the inbox that the things name.
pub fn trigger(inbox: &str) -> Value {
    json!({
        "name": "Ticks", "inboxId": inbox, "events": ["received"], "action": "create",
        "workOrder": {
            "taskPrompt": "go on",
            "workspaceSource": { "type": "git", "repository": "https://git.invalid/a.git" },
        },
    })
}

/// A new one; the oldest one leaves its place, of a hundred.
pub async fn a_trigger(service: &TestService, inbox: &InboxId) -> String {
    let known = service.client.get("/v1/triggers?limit=100").await.body;
    let known = known["triggers"].as_array().unwrap().clone();
    if known.len() > 90 {
        let oldest = known.last().unwrap()["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/triggers/{oldest}");
        let deleted = service.client.send("DELETE", &path, &[], Vec::new()).await;
        assert_eq!(deleted.status, 204, "{}", deleted.text);
    }
    let made = service
        .client
        .post("/v1/triggers", &trigger(inbox.as_str()))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["id"].as_str().unwrap().to_owned()
}
