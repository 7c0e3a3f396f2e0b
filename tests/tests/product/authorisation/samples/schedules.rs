//! Schedules that samples name.

use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::order;

pub fn schedule() -> Value {
    json!({ "name": "Daily", "cron": "0 3 * * *", "workOrder": order() })
}

/// A new one, since a sample may have fired it; the oldest one leaves its place, of a hundred.
pub async fn a_schedule(service: &TestService) -> String {
    let known = service.client.get("/v1/schedules?limit=100").await.body;
    let known = known["schedules"].as_array().unwrap().clone();
    if known.len() > 90 {
        let oldest = known.last().unwrap()["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/schedules/{oldest}");
        let deleted = service.client.send("DELETE", &path, &[], Vec::new()).await;
        assert_eq!(deleted.status, 204, "{}", deleted.text);
    }
    let made = service.client.post("/v1/schedules", &schedule()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["id"].as_str().unwrap().to_owned()
}
