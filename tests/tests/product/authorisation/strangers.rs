//! Another organization's resources: they are indistinguishable from absent ones, by the responses
//! and by their cost, and cannot be changed.

use awo_domain::Timestamp;
use awo_http::routes::Style;
use awo_tests::client::{Answer, Client};
use awo_tests::counted_requests::CountedRequests;
use awo_tests::driven::DrivenRun;
use awo_tests::everything::{everything_at_rest, nothing_changed};
use awo_tests::rules;
use serde_json::{Value, json};

use super::answers::{is_error, same, what};
use super::samples::{self, Sample, Things};
use crate::http_api::quiet_service;

/// One call as a client makes it for each of two things, and what each one cost.
///
/// A key's first request in a minute costs one call more, so both must fall into one window that
/// has begun before.
async fn both(
    requests: &CountedRequests,
    client: &Client,
    sample: &Sample,
    things: [&Things; 2],
) -> [(Answer, Vec<String>); 2] {
    const WINDOWS: u32 = 3;
    for _ in 0..WINDOWS {
        let begun = client.get("/v1/credits").await;
        requests.calls();
        let first = (sample.send(client, things[0]).await, requests.calls());
        let second = (sample.send(client, things[1]).await, requests.calls());
        let window = |answer: &Answer| answer.header("x-ratelimit-reset").to_owned();
        if [&first.0, &second.0].map(window) == [window(&begun), window(&begun)] {
            return [first, second];
        }
    }
    panic!("no window of the rate limit was long enough for three requests");
}

#[tokio::test]
async fn what_belongs_to_another_organization_cannot_be_distinguished_from_what_is_not_there() {
    let service = quiet_service().await;
    let (_, stranger) = service.another_org(10_000).await;
    let requests = CountedRequests::of(&service).await;
    let (stranger, owner) = (requests.for_client(&stranger), &service.client);
    let tables = rules::client(&service.service.cloud);
    // A month is everybody's; what a statement says of it is its own organization's.
    let names = |s: &&Sample| s.names_something() && s.route.function != "get-statement";
    for sample in samples::keyed().iter().filter(names) {
        for running in [false, true] {
            let what = what(sample, &format!("another's id; it is running: {running}"));
            let theirs = Things::of(&service).await;
            if running {
                let order = json!({ "id": theirs.work_order });
                DrivenRun::of(&service, &order).await.iterate(1).await;
            }
            let nobodys = Things::of_nobody(&service);
            let before = everything_at_rest(&tables, &service.org).await;
            let [(unknown, calls), (foreign, foreign_calls)] =
                both(&requests, &stranger, sample, [&nobodys, &theirs]).await;
            let after = everything_at_rest(&tables, &service.org).await;
            nothing_changed(&before, &after, &what);
            assert_eq!(
                (unknown.status, same(&foreign)),
                (404, same(&unknown)),
                "{what}"
            );
            assert_eq!(foreign_calls, calls, "{what}");
            assert!(calls.len() > 1, "{what}: {calls:?} are not the calls");
            let code = match (sample.route.style, sample.target(&theirs)) {
                (Style::Envelope, _) => "NOT_FOUND",
                (Style::Plain, path) if path.starts_with("/v1/runs/") => "RUN_NOT_FOUND",
                // A thread has the id of its first work order.
                (Style::Plain, path)
                    if path.starts_with("/v1/work-orders/") || path.starts_with("/v1/threads/") =>
                {
                    "WORK_ORDER_NOT_FOUND"
                }
                (Style::Plain, path) if path.starts_with("/v1/templates/") => "TEMPLATE_NOT_FOUND",
                (Style::Plain, path) if path.starts_with("/v1/budgets/") => "BUDGET_NOT_FOUND",
                (Style::Plain, path) if path.starts_with("/v1/schedules/") => "SCHEDULE_NOT_FOUND",
                (Style::Plain, path) if path.starts_with("/v1/triggers/") => "TRIGGER_NOT_FOUND",
                (Style::Plain, path) if path.starts_with("/v1/inboxes/") => "INBOX_NOT_FOUND",
                (Style::Plain, path) if path.starts_with("/v1/environments/") => {
                    "ENVIRONMENT_NOT_FOUND"
                }
                (Style::Plain, path) if path.starts_with("/v1/webhooks/") => "WEBHOOK_NOT_FOUND",
                (Style::Plain, path) => panic!("say here what is missing at {path}"),
            };
            is_error(&foreign, sample.route.style, 404, code, &what);
            if !running && !sample.is_live() {
                let own = sample.send(owner, &theirs).await;
                assert!(
                    [200, 201, 202, 204].contains(&own.status),
                    "{what}: {}",
                    own.text
                );
            }
        }
    }
}

/// What an answer shows, whatever it is written in.
fn seen(answer: &Answer) -> Value {
    if answer.body.is_null() {
        json!(answer.text)
    } else {
        answer.body.clone()
    }
}

/// A value without its times.
fn timeless(value: &Value) -> Value {
    match value {
        Value::String(text) if Timestamp::parse(text).is_ok() => json!("<time>"),
        Value::Array(items) => items.iter().map(timeless).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| *name != "requestId");
            fields
                .map(|(name, value)| (name.clone(), timeless(value)))
                .collect()
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn what_a_stranger_sees_does_not_change_by_what_an_organization_does() {
    let service = quiet_service().await;
    let (_, stranger) = service.another_org(10_000).await;
    let requests = CountedRequests::of(&service).await;
    let stranger = requests.for_client(&stranger);
    let nobodys = Things::of_nobody(&service);
    let lists: Vec<Sample> = samples::keyed()
        .into_iter()
        .filter(|sample| !sample.names_something() && sample.only_reads())
        // Prices are the same for all.
        .filter(|sample| sample.route.function != "get-prices")
        .collect();
    assert!(lists.len() >= 5, "{lists:?}");
    let mut before = Vec::new();
    for list in &lists {
        // The second time: a process remembers the budgets of its callers.
        let [_, (answer, calls)] = both(&requests, &stranger, list, [&nobodys, &nobodys]).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        before.push((timeless(&seen(&answer)), calls));
    }
    let theirs = Things::of(&service).await;
    let order = json!({ "id": theirs.work_order });
    DrivenRun::of(&service, &order).await.succeed().await;
    let order = json!({ "id": Things::of(&service).await.work_order });
    DrivenRun::of(&service, &order).await.iterate(1).await;
    Things::of(&service).await;
    for (list, before) in lists.iter().zip(before) {
        let what = what(list, "another's name");
        let [(answer, calls), _] = both(&requests, &stranger, list, [&theirs, &theirs]).await;
        assert_eq!((timeless(&seen(&answer)), calls), before, "{what}");
        let own = list.send(&service.client, &theirs).await;
        assert_ne!(
            timeless(&seen(&own)),
            before.0,
            "{what}: there was nothing to be seen"
        );
    }
}

#[tokio::test]
async fn an_idempotency_key_and_a_cursor_are_of_no_use_to_another_organization() {
    let service = quiet_service().await;
    let (_, stranger) = service.another_org(10_000).await;
    let things = Things::of(&service).await;
    let mut creating = samples::keyed();
    creating.retain(|sample| !sample.only_reads() && !sample.names_something());
    // These make nothing that stays.
    let makes = |sample: &Sample| {
        !["run-verification", "purge-work-orders", "serve-mcp"].contains(&sample.route.function)
    };
    creating.retain(makes);
    for sample in creating {
        let what = what(&sample, "the same idempotency key");
        let theirs = sample.send(&service.client, &things).await;
        let before = stranger.get(sample.route.path).await.body;
        let own = sample.send(&stranger, &things).await;
        if sample.route.function == "create-trigger" {
            // It names the other organization's inbox.
            assert_eq!((theirs.status, own.status), (201, 400), "{what}");
            continue;
        }
        assert_eq!((theirs.status, own.status), (201, 201), "{what}");
        assert_eq!(own.header("idempotent-replayed"), "", "{what}");
        let after = stranger.get(sample.route.path).await.body;
        assert_ne!(timeless(&after), timeless(&before), "{what}");
    }
    for list in ["/v1/work-orders", "/v1/runs"] {
        let page = service.client.get(&format!("{list}?limit=1")).await.body;
        let path = format!(
            "{list}?limit=1&cursor={}",
            page["nextCursor"].as_str().unwrap()
        );
        assert_eq!(service.client.get(&path).await.status, 200);
        let refused = stranger.get(&path).await;
        is_error(&refused, Style::Plain, 400, "BAD_REQUEST", &path);
    }
}
