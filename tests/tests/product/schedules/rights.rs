//! Rights and money: a schedule may do no more than a client, and its spending is bounded as a client's.

use awo_domain::api_key::{ApiKey, KeyId, Scope};
use awo_tests::client::Client;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::{created, fires_next, half_hourly, orders, path_of, read};
use crate::http_api::quiet_service;

fn id_of(key: &Client) -> KeyId {
    ApiKey::parse(key.key().unwrap()).unwrap().id()
}

async fn made_by(service: &TestService) -> (Client, Value) {
    let scopes = [Scope::SchedulesWrite, Scope::WorkOrdersWrite];
    let key = service.key(&scopes, None).await;
    let made = key.post("/v1/schedules", &half_hourly()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.body["createdBy"], id_of(&key).as_str());
    (key, made.body)
}

#[tokio::test]
async fn a_key_that_may_not_create_work_orders_writes_no_schedule() {
    let service = quiet_service().await;
    let schedule = created(&service, &half_hourly()).await;
    let key = service
        .key(&[Scope::SchedulesWrite, Scope::SchedulesRead], None)
        .await;
    let json = [("content-type", "application/json")];
    let body = half_hourly().to_string().into_bytes();
    let path = path_of(&schedule);
    for (method, path) in [
        ("POST", "/v1/schedules".to_owned()),
        ("PUT", path.clone()),
        ("POST", format!("{path}/fire")),
        ("POST", format!("{path}/resume")),
    ] {
        let refused = key.send(method, &path, &json, body.clone()).await;
        assert_eq!(refused.status, 403, "{method} {path}");
        assert!(
            refused.text.contains("work-orders:write"),
            "{}",
            refused.text
        );
    }
    assert!(orders(&service, &schedule).await.is_empty());
    assert_eq!(key.get(&path).await.status, 200);
    assert_eq!(key.send("DELETE", &path, &[], Vec::new()).await.status, 204);
}

#[tokio::test]
async fn a_revoked_key_pauses_its_schedules_until_another_key_resumes_them() {
    let service = quiet_service().await;
    let (key, schedule) = made_by(&service).await;
    let (store, now) = (
        service.service.cloud.store().unwrap(),
        service.service.cloud.clock.now(),
    );
    assert!(store.revoke_key(&id_of(&key), now).await.unwrap());
    let refused = fires_next(&service, &schedule).await;
    assert_eq!(
        (&refused["result"], &refused["reason"]),
        (&json!("refused"), &json!("key_revoked"))
    );
    assert_eq!(
        read(&service, &schedule).await["pausedReason"],
        "key_revoked"
    );
    let path = format!("{}/resume", path_of(&schedule));
    let resumed = service.client.post(&path, &json!({})).await;
    assert_eq!(resumed.status, 200, "{}", resumed.text);
    assert_eq!(resumed.body["createdBy"], id_of(&service.client).as_str());
    assert_eq!(fires_next(&service, &schedule).await["result"], "created");
}

#[tokio::test]
async fn budgets_of_the_key_and_of_the_schedule_bound_what_it_spends() {
    let service = quiet_service().await;
    let (key, schedule) = made_by(&service).await;
    let mut budgets = Vec::new();
    for id in [
        id_of(&key).as_str(),
        schedule["id"].as_str().unwrap(),
        "another",
    ] {
        let body = json!({
            "name": id, "period": "once", "limitCredits": 1_000, "onLimit": "block", "scope": { "keyId": id },
        });
        let made = service.client.post("/v1/budgets", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        budgets.push(made.body["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(fires_next(&service, &schedule).await["result"], "created");
    let mut reserved = Vec::new();
    for id in &budgets {
        let budget = service.client.get(&format!("/v1/budgets/{id}")).await.body;
        reserved.push(budget["reservedCredits"].as_f64().unwrap());
    }
    assert!(reserved[0] > 0.0, "{reserved:?}");
    assert_eq!(reserved, [reserved[0], reserved[0], 0.0]);
}
