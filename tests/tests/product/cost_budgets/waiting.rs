//! Runs that wait for a budget.

use awo_domain::time::DAY_MS;
use serde_json::json;

use super::{
    accepted, asks, cancel, create_budget, delete, dispatch, holds, limited, position, put,
    standing,
};
use crate::http_api::quiet_service;

#[tokio::test]
async fn a_run_waits_for_its_budget_until_the_limit_rises() {
    let service = quiet_service().await;
    let budget = create_budget(&service, &limited("wait", 5.0)).await;
    let first = accepted(&service, &asks(4.0)).await;
    let waits = accepted(&service, &asks(4.0)).await;
    assert_eq!(waits["status"], "queued");
    assert_eq!(position(&service, &first).await.get("waitsFor"), None);
    let place = position(&service, &waits).await;
    assert_eq!(
        (&place["waitsFor"], &place["state"]),
        (&json!("budget"), &json!("waiting"))
    );
    assert_eq!(place.get("estimatedStartTime"), None);
    // It keeps nobody waiting that fits.
    let small = accepted(&service, &asks(1.0)).await;
    assert_eq!(position(&service, &small).await["position"], 2);
    assert_eq!(position(&service, &waits).await["position"], 3);
    assert_eq!(standing(&service, &budget).await, (0.0, 5.0, 0.0));
    dispatch(&service).await;
    assert_eq!(position(&service, &small).await["state"], "waiting");
    assert_eq!(position(&service, &waits).await["waitsFor"], "budget");
    holds(&service).await;
    let path = format!("/v1/budgets/{}", budget["id"].as_str().unwrap());
    let raised = put(&service, &path, &limited("wait", 9.0)).await;
    assert_eq!(raised.status, 200, "{}", raised.text);
    dispatch(&service).await;
    assert_eq!(position(&service, &waits).await.get("waitsFor"), None);
    assert_eq!(standing(&service, &budget).await, (0.0, 9.0, 0.0));
    holds(&service).await;
}

#[tokio::test]
async fn a_run_waits_for_its_budget_until_the_period_turns_and_counts_in_the_new_one() {
    let service = quiet_service().await;
    let mut body = limited("wait", 5.0);
    body["period"] = json!("day");
    let budget = create_budget(&service, &body).await;
    accepted(&service, &asks(5.0)).await;
    let waits = accepted(&service, &asks(3.0)).await;
    dispatch(&service).await;
    assert_eq!(position(&service, &waits).await["waitsFor"], "budget");
    service.service.cloud.clock.advance(DAY_MS);
    assert_eq!(standing(&service, &budget).await, (0.0, 0.0, 5.0));
    dispatch(&service).await;
    assert_eq!(position(&service, &waits).await.get("waitsFor"), None);
    assert_eq!(standing(&service, &budget).await, (0.0, 3.0, 2.0));
    holds(&service).await;
}

#[tokio::test]
async fn a_run_that_waits_for_its_budget_can_be_canceled_and_started_anew() {
    let service = quiet_service().await;
    let budget = create_budget(&service, &limited("wait", 5.0)).await;
    let first = accepted(&service, &asks(5.0)).await;
    let waits = accepted(&service, &asks(5.0)).await;
    let path = format!("/api/v1/work-orders/{}/runs", waits["id"].as_str().unwrap());
    let again = service.client.post(&path, &json!({})).await;
    assert_eq!(
        (again.status, &again.body["data"]["status"]),
        (201, &json!("queued")),
        "{}",
        again.text
    );
    assert_eq!(position(&service, &waits).await["waitsFor"], "budget");
    holds(&service).await;
    cancel(&service, &first).await;
    let again = service.client.post(&path, &json!({})).await;
    assert_eq!(again.status, 201, "{}", again.text);
    assert_eq!(position(&service, &waits).await.get("waitsFor"), None);
    assert_eq!(standing(&service, &budget).await, (0.0, 5.0, 0.0));
    let other = accepted(&service, &asks(1.0)).await;
    assert_eq!(position(&service, &other).await["waitsFor"], "budget");
    cancel(&service, &other).await;
    cancel(&service, &waits).await;
    assert_eq!(standing(&service, &budget).await, (0.0, 0.0, 5.0));
    holds(&service).await;
}

#[tokio::test]
async fn a_deleted_budget_keeps_nothing_waiting() {
    let service = quiet_service().await;
    let budget = create_budget(&service, &limited("wait", 1.0)).await;
    let waits = accepted(&service, &asks(2.0)).await;
    let path = format!("/v1/budgets/{}", budget["id"].as_str().unwrap());
    assert_eq!(delete(&service, &path).await.status, 204);
    dispatch(&service).await;
    assert_eq!(position(&service, &waits).await.get("waitsFor"), None);
    for answer in [
        service.client.get(&path).await,
        delete(&service, &path).await,
    ] {
        assert_eq!(answer.status, 404, "{}", answer.text);
        assert_eq!(answer.body["error"]["code"], "BUDGET_NOT_FOUND");
    }
    holds(&service).await;
}
