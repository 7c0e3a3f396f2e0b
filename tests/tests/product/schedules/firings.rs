//! Times that come: each fires once, or is recorded with a reason.

use futures::future::join_all;
use serde_json::json;

use super::{
    MINUTE_MS, advance_to, created, events_of, fire, fires_next, firings, half_hourly, next_of,
    orders, path_of, read, sweep,
};
use crate::http_api::quiet_service;

/// Sweeps that come at the same time.
const RIVALS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_creates_one_work_order_by_any_number_of_sweeps() {
    let service = quiet_service().await;
    let schedule = created(&service, &half_hourly()).await;
    sweep(&service).await;
    assert!(
        orders(&service, &schedule).await.is_empty(),
        "before its time"
    );
    let next = next_of(&schedule);
    advance_to(&service, next, 1_000);
    join_all((0..RIVALS).map(|_| sweep(&service))).await;
    sweep(&service).await;
    let orders = orders(&service, &schedule).await;
    assert_eq!(orders.len(), 1, "{orders:?}");
    let origin = json!({
        "kind": "schedule", "scheduleId": schedule["id"], "scheduledFor": next.to_string(),
    });
    assert_eq!(orders[0]["origin"], origin);
    let firings = firings(&service, &schedule).await;
    assert_eq!(firings.len(), 1, "{firings:?}");
    assert_eq!(firings[0]["result"], "created");
    assert_eq!(firings[0]["workOrderId"], orders[0]["id"]);
    let after = read(&service, &schedule).await;
    assert_eq!(after["lastFiredAt"], firings[0]["firedAt"]);
    assert_eq!(after["next"][0], schedule["next"][1]);
    // A client's own have no origin, and are not listed with those of the schedule.
    let own = service
        .client
        .post("/v1/work-orders", &crate::http_api::order())
        .await;
    assert_eq!(own.body["origin"], json!(null));
    assert_eq!(super::orders(&service, &schedule).await.len(), 1);
}

#[tokio::test]
async fn an_outage_fires_the_last_time_and_records_the_others_as_one_entry() {
    let service = quiet_service().await;
    let webhook = json!({ "url": "https://hooks.example.com", "events": ["schedule.missed"] });
    let webhook = service.client.post("/v1/webhooks", &webhook).await;
    assert_eq!(webhook.status, 201, "{}", webhook.text);
    let latest = created(&service, &half_hourly()).await;
    let mut body = half_hourly();
    body["catchUp"] = json!("none");
    let never = created(&service, &body).await;
    // Three times: the last one is 20 minutes old.
    let last = next_of(&latest).plus_ms(60 * MINUTE_MS);
    advance_to(&service, last, 20 * MINUTE_MS);
    sweep(&service).await;
    sweep(&service).await;
    let caught_up = firings(&service, &latest).await;
    let results: Vec<_> = caught_up.iter().map(|firing| &firing["result"]).collect();
    assert_eq!(results, ["created", "missed"], "{caught_up:?}");
    assert_eq!(caught_up[0]["scheduledFor"], last.to_string());
    let from = latest["next"][0].clone();
    let missed = json!({
        "scheduledFor": from, "result": "missed", "count": 2, "from": from, "to": latest["next"][1],
    });
    assert_eq!(caught_up[1], missed);
    let none = firings(&service, &never).await;
    assert_eq!(none.len(), 1, "{none:?}");
    assert_eq!(
        (&none[0]["count"], &none[0]["to"]),
        (&json!(3), &json!(last.to_string()))
    );
    assert!(orders(&service, &never).await.is_empty());
    let webhook = webhook.body["webhook"]["id"].as_str().unwrap();
    let events = events_of(&service, webhook, "schedule.missed").await;
    assert_eq!(events, 2, "one for each schedule");
}

#[tokio::test]
async fn a_time_is_skipped_while_an_earlier_work_order_is_not_over() {
    let service = quiet_service().await;
    for (overlap, results) in [
        ("skip", ["created", "skipped", "created"]),
        ("queue", ["created", "skipped", "created"]),
    ] {
        let mut body = half_hourly();
        body["overlap"] = json!(overlap);
        let schedule = created(&service, &body).await;
        for (nth, expected) in results.into_iter().enumerate() {
            if nth == 2 {
                let order = orders(&service, &schedule).await.remove(0);
                let path = format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap());
                let canceled = service.client.send("DELETE", &path, &[], Vec::new()).await;
                assert_eq!(canceled.status, 200, "{}", canceled.text);
            }
            let firing = fires_next(&service, &schedule).await;
            assert_eq!(firing["result"], expected, "{overlap} {nth}");
            if expected == "skipped" {
                assert_eq!(firing["reason"], "overlap");
                assert_eq!(fire(&service, &schedule).await.status, 409, "{overlap}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_fires_a_disabled_schedule_once_for_each_idempotency_key() {
    let service = quiet_service().await;
    let mut body = half_hourly();
    body["enabled"] = json!(false);
    let schedule = created(&service, &body).await;
    assert_eq!(schedule["next"], json!([]));
    let path = format!("{}/fire", path_of(&schedule));
    let key = [
        ("idempotency-key", "once"),
        ("content-type", "application/json"),
    ];
    let first = service
        .client
        .send("POST", &path, &key, b"{}".to_vec())
        .await;
    assert_eq!(first.status, 201, "{}", first.text);
    let again = service
        .client
        .send("POST", &path, &key, b"{}".to_vec())
        .await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    let order = first.body["workOrderId"].as_str().unwrap();
    assert_eq!(first.header("location"), format!("/v1/work-orders/{order}"));
    let orders = orders(&service, &schedule).await;
    assert_eq!(orders.len(), 1);
    assert_eq!(
        orders[0]["origin"]["scheduledFor"],
        first.body["scheduledFor"]
    );
    assert_eq!(firings(&service, &schedule).await[0], first.body);
}

#[tokio::test]
async fn a_changed_timetable_never_fires_for_the_past() {
    let service = quiet_service().await;
    let schedule = created(&service, &half_hourly()).await;
    let next = next_of(&schedule);
    advance_to(&service, next, 1_000);
    // Another name keeps the time that has come; another timetable does not.
    let mut renamed = half_hourly();
    renamed["name"] = json!("Renamed");
    let put = |body: serde_json::Value| {
        let json = [("content-type", "application/json")];
        let (client, path) = (service.client.clone(), path_of(&schedule));
        async move {
            client
                .send("PUT", &path, &json, body.to_string().into_bytes())
                .await
        }
    };
    assert_eq!(put(renamed.clone()).await.status, 200);
    sweep(&service).await;
    assert_eq!(orders(&service, &schedule).await.len(), 1);
    let next = next_of(&read(&service, &schedule).await);
    advance_to(&service, next, 1_000);
    renamed["cron"] = json!("15 * * * *");
    let put = put(renamed).await;
    assert!(
        next_of(&put.body) > service.service.cloud.clock.now(),
        "{}",
        put.text
    );
    sweep(&service).await;
    assert_eq!(orders(&service, &schedule).await.len(), 1);
    assert_eq!(firings(&service, &schedule).await.len(), 1);
}

#[tokio::test]
async fn firings_are_listed_in_pages_and_go_with_their_schedule() {
    let service = quiet_service().await;
    let schedule = created(&service, &half_hourly()).await;
    for _ in 0..3 {
        fires_next(&service, &schedule).await;
    }
    let path = format!("{}/firings?limit=2", path_of(&schedule));
    let first = service.client.get(&path).await.body;
    assert_eq!(
        (&first["total"], first["firings"].as_array().unwrap().len()),
        (&json!(3), 2)
    );
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = service
        .client
        .get(&format!("{path}&cursor={cursor}"))
        .await
        .body;
    assert_eq!(rest["firings"].as_array().unwrap().len(), 1);
    assert_eq!(rest["firings"][0]["result"], "created");
    let gone = service
        .client
        .send("DELETE", &path_of(&schedule), &[], Vec::new())
        .await;
    assert_eq!(gone.status, 204);
    for path in [path_of(&schedule), path] {
        assert_eq!(service.client.get(&path).await.status, 404);
    }
    assert_eq!(
        orders(&service, &schedule).await.len(),
        1,
        "work orders stay"
    );
    advance_to(&service, next_of(&schedule), 24 * 60 * MINUTE_MS);
    sweep(&service).await;
    assert_eq!(
        orders(&service, &schedule).await.len(),
        1,
        "it fires no more"
    );
}
