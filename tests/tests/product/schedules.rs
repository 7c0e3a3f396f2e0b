//! Schedules: work orders that the service creates at times of a timetable.

pub mod bodies;
mod crashes;
mod failures;
mod firings;
mod rights;

use std::sync::Arc;

use awo_domain::Timestamp;
use awo_tests::client::Answer;
use awo_tests::service::TestService;
use awo_workers::sweep::{self, Tick};
use serde_json::{Value, json};

use crate::http_api::order;

/// A minute, in milliseconds.
const MINUTE_MS: i64 = 60_000;

/// A schedule that fires every half an hour.
fn half_hourly() -> Value {
    json!({ "name": "Half-hourly", "cron": "*/30 * * * *", "workOrder": order() })
}

async fn created(service: &TestService, body: &Value) -> Value {
    let made = service.client.post("/v1/schedules", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

fn path_of(schedule: &Value) -> String {
    format!("/v1/schedules/{}", schedule["id"].as_str().unwrap())
}

/// The schedule as it is now.
async fn read(service: &TestService, schedule: &Value) -> Value {
    let read = service.client.get(&path_of(schedule)).await;
    assert_eq!(read.status, 200, "{}", read.text);
    read.body
}

/// Its firings, newest first.
async fn firings(service: &TestService, schedule: &Value) -> Vec<Value> {
    let path = format!("{}/firings", path_of(schedule));
    let listed = service.client.get(&path).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.body["firings"].as_array().unwrap().clone()
}

/// The work orders that it has created, newest first.
async fn orders(service: &TestService, schedule: &Value) -> Vec<Value> {
    let id = schedule["id"].as_str().unwrap();
    let path = format!("/v1/work-orders?scheduleId={id}&limit=100");
    let listed = service.client.get(&path).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.body["workOrders"].as_array().unwrap().clone()
}

async fn fire(service: &TestService, schedule: &Value) -> Answer {
    let path = format!("{}/fire", path_of(schedule));
    service.client.post(&path, &json!({})).await
}

/// The next time of a schedule, as it shows it.
fn next_of(schedule: &Value) -> Timestamp {
    Timestamp::parse(schedule["next"][0].as_str().unwrap()).unwrap()
}

/// Lets time pass until so long after a moment.
fn advance_to(service: &TestService, moment: Timestamp, later_ms: i64) {
    let clock = &service.service.cloud.clock;
    let ms = moment.plus_ms(later_ms).ms_since(clock.now());
    clock.advance(ms + 1);
}

/// The part of a sweep that fires.
async fn sweep(service: &TestService) {
    let state = sweep::state(&service.service.cloud.of_function("sweep")).unwrap();
    let tick: Tick = serde_json::from_value(json!({ "part": "schedules" })).unwrap();
    let swept = sweep::handle(Arc::new(state), tick).await.unwrap();
    assert_eq!(swept.failed, 0);
}

/// The number of events of a type that are in the outbox, or were a webhook's to get.
async fn events_of(service: &TestService, webhook: &str, kind: &str) -> usize {
    let store = service.service.cloud.store().unwrap();
    let outbox = store.outbox(&service.org, 100).await.unwrap();
    let waiting = outbox.items.iter();
    let waiting = waiting.filter(|event| event.event_type.as_str() == kind);
    let path = format!("/v1/webhooks/{webhook}/deliveries?limit=100");
    let listed = service.client.get(&path).await.body;
    let delivered = listed["deliveries"].as_array().unwrap().iter();
    waiting.count() + delivered.filter(|of| of["eventType"] == kind).count()
}

/// Comes to the next time of a schedule, and sweeps.
async fn fires_next(service: &TestService, schedule: &Value) -> Value {
    let next = next_of(&read(service, schedule).await);
    advance_to(service, next, 1_000);
    sweep(service).await;
    let newest = firings(service, schedule).await.remove(0);
    assert_eq!(newest["scheduledFor"], next.to_string(), "{newest}");
    newest
}
