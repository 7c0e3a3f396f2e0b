//! Work orders that fail, and creates that are refused: a schedule pauses after some in a row.

use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::{
    created, events_of, fire, fires_next, firings, half_hourly, orders, path_of, read, sweep,
};
use crate::http_api::{quiet_service, quiet_service_with};

async fn pauses(service: &TestService, webhook: &str) -> usize {
    events_of(service, webhook, "schedule.paused").await
}

async fn subscribe(service: &TestService) -> String {
    let webhook = json!({ "url": "https://hooks.example.com", "events": ["schedule.paused"] });
    let webhook = service.client.post("/v1/webhooks", &webhook).await;
    assert_eq!(webhook.status, 201, "{}", webhook.text);
    webhook.body["webhook"]["id"].as_str().unwrap().to_owned()
}

/// Fires the schedule at its next time, and ends the work order.
async fn ends(service: &TestService, schedule: &Value, succeeds: bool) {
    let firing = fires_next(service, schedule).await;
    assert_eq!(firing["result"], "created", "{firing}");
    let order = orders(service, schedule).await.remove(0);
    let mut run = DrivenRun::of(service, &order).await;
    if succeeds {
        run.succeed().await;
    } else {
        run.fail().await;
    }
    run.free_slot().await;
}

#[tokio::test]
async fn failures_in_a_row_pause_a_schedule_once_until_it_is_resumed() {
    let service = quiet_service().await;
    let webhook = subscribe(&service).await;
    let mut body = half_hourly();
    body["pauseAfterFailures"] = json!(2);
    let schedule = created(&service, &body).await;
    ends(&service, &schedule, false).await;
    ends(&service, &schedule, true).await;
    ends(&service, &schedule, false).await;
    sweep(&service).await;
    let failing = read(&service, &schedule).await;
    assert_eq!(failing["consecutiveFailures"], 1, "a success sets back");
    ends(&service, &schedule, false).await;
    sweep(&service).await;
    sweep(&service).await;
    let paused = read(&service, &schedule).await;
    assert_eq!(paused["pausedReason"], "failures", "{paused}");
    assert_eq!(
        (&paused["consecutiveFailures"], &paused["next"]),
        (&json!(2), &json!([]))
    );
    assert_eq!(pauses(&service, &webhook).await, 1);
    service.service.cloud.clock.advance(3 * 3_600_000);
    sweep(&service).await;
    assert_eq!(
        orders(&service, &schedule).await.len(),
        4,
        "it fires no more"
    );
    // By request it does, and stays paused.
    assert_eq!(fire(&service, &schedule).await.status, 201);
    assert_eq!(read(&service, &schedule).await["pausedReason"], "failures");
    let path = format!("{}/resume", path_of(&schedule));
    let resumed = service.client.post(&path, &json!({})).await;
    assert_eq!(resumed.status, 200, "{}", resumed.text);
    assert_eq!(resumed.body["pausedReason"], json!(null));
    assert_eq!(resumed.body["consecutiveFailures"], 0);
    let missed = firings(&service, &schedule).await;
    assert!(
        missed.iter().all(|firing| firing["result"] != "missed"),
        "{missed:?}"
    );
}

#[tokio::test]
async fn a_refused_create_is_recorded_with_its_reason_and_counts() {
    let service = quiet_service_with(&[("AWO_MAX_QUEUE_SIZE", "1")]).await;
    let webhook = subscribe(&service).await;
    let mut body = half_hourly();
    body["workOrder"]["limits"] = json!({ "maxCredits": 2_000_000 });
    body["pauseAfterFailures"] = json!(2);
    let dear = created(&service, &body).await;
    assert_eq!(fire(&service, &dear).await.status, 402);
    assert!(
        firings(&service, &dear).await.is_empty(),
        "a refused request is no firing"
    );
    for _ in 0..2 {
        let refused = fires_next(&service, &dear).await;
        assert_eq!(
            (&refused["result"], &refused["reason"]),
            (&json!("refused"), &json!("credits"))
        );
    }
    assert_eq!(read(&service, &dear).await["pausedReason"], "failures");
    assert_eq!(pauses(&service, &webhook).await, 1);
    let budget =
        json!({ "name": "Automation", "period": "once", "limitCredits": 1, "onLimit": "block" });
    let budget = service.client.post("/v1/budgets", &budget).await;
    assert_eq!(budget.status, 201, "{}", budget.text);
    let schedule = created(&service, &half_hourly()).await;
    let refused = fires_next(&service, &schedule).await;
    assert_eq!(refused["reason"], "budget", "{refused}");
    let path = format!("/v1/budgets/{}", budget.body["id"].as_str().unwrap());
    service.client.send("DELETE", &path, &[], Vec::new()).await;
    let own = service
        .client
        .post("/v1/work-orders", &crate::http_api::order())
        .await;
    assert_eq!(own.status, 201, "{}", own.text);
    let refused = fires_next(&service, &schedule).await;
    assert_eq!(refused["reason"], "queue_full", "{refused}");
    let full = fire(&service, &schedule).await;
    assert_eq!(full.status, 503, "{}", full.text);
}

#[tokio::test]
async fn what_a_work_order_names_may_be_gone_by_its_time() {
    let service = quiet_service().await;
    let environment = json!({ "name": "node" });
    let made = service.client.post("/v1/environments", &environment).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut body = half_hourly();
    body["workOrder"]["environment"] = json!("node");
    let schedule = created(&service, &body).await;
    let gone = service
        .client
        .send("DELETE", "/v1/environments/node", &[], Vec::new())
        .await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    let refused = fires_next(&service, &schedule).await;
    assert_eq!(
        (&refused["result"], &refused["reason"]),
        (&json!("refused"), &json!("invalid"))
    );
    assert_eq!(fire(&service, &schedule).await.status, 400);
}

#[tokio::test]
async fn a_suspended_organizations_times_are_refused() {
    let service = quiet_service().await;
    let schedule = created(&service, &half_hourly()).await;
    let (store, now) = (
        service.service.cloud.store().unwrap(),
        service.service.cloud.clock.now(),
    );
    store.suspend(&service.org, now).await.unwrap();
    super::advance_to(&service, super::next_of(&schedule), 1_000);
    sweep(&service).await;
    store.reinstate(&service.org).await.unwrap();
    let refused = firings(&service, &schedule).await.remove(0);
    assert_eq!(
        (&refused["result"], &refused["reason"]),
        (&json!("refused"), &json!("suspended"))
    );
    assert!(orders(&service, &schedule).await.is_empty());
}
