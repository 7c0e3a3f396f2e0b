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

/// The id of a new trigger. The oldest one makes room for it where there are ninety.
pub async fn a_trigger(service: &TestService, inbox: &InboxId) -> String {
    let listed = service.client.get("/v1/triggers?limit=100").await.body;
    let listed = listed["triggers"].as_array().unwrap().clone();
    if listed.len() > 90 {
        let oldest = listed.last().unwrap()["id"].as_str().unwrap().to_owned();
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
