//! Webhooks and budgets that samples name.

use awo_domain::WebhookId;
use awo_tests::service::TestService;
use serde_json::{Value, json};

/// The oldest webhook, or a new one: an organization may have twenty.
pub async fn a_webhook(service: &TestService) -> WebhookId {
    let listed = service.client.get("/v1/webhooks").await.body;
    let oldest = listed["webhooks"].as_array().unwrap().last().cloned();
    let webhook = match oldest {
        Some(webhook) => webhook,
        None => {
            let made = service.client.post("/v1/webhooks", &webhook()).await;
            assert_eq!(made.status, 201, "{}", made.text);
            made.body["webhook"].clone()
        }
    };
    WebhookId::parse(webhook["id"].as_str().unwrap()).unwrap()
}

pub fn webhook() -> Value {
    json!({ "url": "https://hooks.example.com/", "events": ["run.completed"] })
}

pub fn budget() -> Value {
    json!({ "name": "All", "period": "month", "limitCredits": 1_000_000, "onLimit": "block" })
}

/// The newest budget, or a new one: an organization may have fifty.
pub async fn a_budget(service: &TestService) -> String {
    let listed = service.client.get("/v1/budgets").await.body;
    let newest = listed["budgets"].as_array().unwrap().first().cloned();
    let budget = match newest {
        Some(budget) => budget,
        None => {
            let made = service.client.post("/v1/budgets", &budget()).await;
            assert_eq!(made.status, 201, "{}", made.text);
            made.body
        }
    };
    budget["id"].as_str().unwrap().to_owned()
}
