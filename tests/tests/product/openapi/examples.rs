//! Every operation is called as the document shows it, and answers as the document shows it. What
//! is new in each answer (ids, times, how long it took) is replaced; all else is kept as it came.

use std::collections::BTreeMap;

use awo_http::routes::Style;
use awo_tests::client::Answer;
use awo_tests::contract;
use awo_tests::door::CountedDoor;
use awo_tests::service::TestService;
use regex::Regex;
use serde_json::{Value, json};

use crate::authorisation::samples;

use super::scene::{Scene, create, example_body};
use super::{example_file, kept};

/// Makes one answer like another that was given at another time.
struct Timeless {
    id: Regex,
    time: Regex,
    wait: Regex,
    known: BTreeMap<String, String>,
}

impl Timeless {
    fn new() -> Timeless {
        Timeless {
            id: Regex::new("([a-z]+_)[0-9a-z]{26}").unwrap(),
            time: Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").unwrap(),
            wait: Regex::new(r"in \d+ s\b").unwrap(),
            known: BTreeMap::new(),
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let value = match name.as_str() {
                        "requestId" => json!("2f6d1f0e-6b7c-4a55-9c58-1d2f3a4b5c6d"),
                        "nextCursor" => json!("Zm9sbG93LW1lLXRvLXRoZS1uZXh0LXBhZ2U"),
                        "durationMs" | "totalDurationMs" => json!(1234),
                        _ => self.value(value),
                    };
                    (name.clone(), value)
                };
                members.iter().map(member).collect()
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut told = self
            .time
            .replace_all(text, "2026-11-20T08:00:00.000Z")
            .into_owned();
        told = self.wait.replace_all(&told, "in 42 s").into_owned();
        let ids: Vec<(String, String)> = self
            .id
            .captures_iter(text)
            .map(|found| (found[0].to_owned(), found[1].to_owned()))
            .collect();
        for (id, prefix) in ids {
            let of_kind = self
                .known
                .keys()
                .filter(|known| known.starts_with(&prefix))
                .count();
            let name = self
                .known
                .entry(id.clone())
                .or_insert_with(|| format!("{prefix}01kb4x0000000000000000{of_kind:04}"));
            told = told.replace(&id, name);
        }
        told
    }
}

/// What was answered, to be kept as an example.
fn example(function: &str, status: u16, answer: &Answer) {
    assert_eq!(answer.status, status, "{function}: {}", answer.text);
    let body = Timeless::new().value(&answer.body);
    kept(&example_file(function, status), &body);
}

/// Calls an operation as the document shows it, with this path.
async fn call(service: &TestService, method: &str, path: &str, template: &str) -> Answer {
    let client = &service.client;
    let operation = &contract::DOCUMENT["paths"][template][method.to_lowercase()];
    assert!(operation.is_object(), "{method} {template}");
    if operation.get("requestBody").is_none() {
        return client.send(method, path, &[], Vec::new()).await;
    }
    let mut body = example_body(&method.to_lowercase(), template);
    if let Some(dir) = body.get_mut("workDir") {
        *dir = json!(samples::work_dir(service));
    }
    let body = body.to_string();
    let json = [("content-type", "application/json")];
    client.send(method, path, &json, body.into_bytes()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_answers_as_it_is_documented() {
    let scene = Scene::new().await;
    let Scene {
        waiting,
        waiting_run,
        done,
        done_run,
        running,
        failed,
        ..
    } = &scene;
    let also_running = create(scene.client()).await;
    let canceled_run = also_running.body["runId"].as_str().unwrap();
    let calls: Vec<(&str, String, &str, u16)> = vec![
        ("POST", "/v1/work-orders".to_owned(), "/v1/work-orders", 201),
        (
            "GET",
            format!("/v1/work-orders/{done}"),
            "/v1/work-orders/{id}",
            200,
        ),
        (
            "GET",
            "/v1/work-orders?limit=1".to_owned(),
            "/v1/work-orders",
            200,
        ),
        ("GET", format!("/v1/runs/{done_run}"), "/v1/runs/{id}", 200),
        (
            "GET",
            format!("/v1/runs?workOrderId={done}"),
            "/v1/runs",
            200,
        ),
        (
            "GET",
            format!("/v1/runs/{done_run}/events"),
            "/v1/runs/{id}/events",
            200,
        ),
        (
            "GET",
            format!("/v1/runs/{done_run}/logs"),
            "/v1/runs/{id}/logs",
            200,
        ),
        (
            "GET",
            format!("/api/v1/queue/position/{waiting}"),
            "/api/v1/queue/position/{workOrderId}",
            200,
        ),
        (
            "GET",
            "/api/v1/queue/health".to_owned(),
            "/api/v1/queue/health",
            200,
        ),
        ("GET", "/v1/credits".to_owned(), "/v1/credits", 200),
        (
            "GET",
            "/v1/credits/usage?limit=2".to_owned(),
            "/v1/credits/usage",
            200,
        ),
        (
            "GET",
            "/api/v1/usage/summary?startDate=2026-01-01&endDate=2036-01-01".to_owned(),
            "/api/v1/usage/summary",
            200,
        ),
        ("POST", "/v1/templates".to_owned(), "/v1/templates", 201),
        (
            "PUT",
            "/v1/templates/services".to_owned(),
            "/v1/templates/{id}",
            200,
        ),
        (
            "GET",
            "/v1/templates/services".to_owned(),
            "/v1/templates/{id}",
            200,
        ),
        (
            "GET",
            "/v1/templates?limit=1".to_owned(),
            "/v1/templates",
            200,
        ),
        (
            "DELETE",
            "/v1/templates/services".to_owned(),
            "/v1/templates/{id}",
            204,
        ),
        (
            "POST",
            format!("/api/v1/work-orders/{failed}/runs"),
            "/api/v1/work-orders/{id}/runs",
            201,
        ),
        (
            "POST",
            format!("/v1/runs/{canceled_run}/cancel"),
            "/v1/runs/{id}/cancel",
            200,
        ),
        (
            "DELETE",
            format!("/api/v1/work-orders/{running}"),
            "/api/v1/work-orders/{id}",
            200,
        ),
        (
            "POST",
            format!("/api/v1/work-orders/{waiting}/kill"),
            "/api/v1/work-orders/{id}/kill",
            200,
        ),
        (
            "POST",
            "/api/v1/verification/plugins".to_owned(),
            "/api/v1/verification/plugins",
            201,
        ),
        (
            "GET",
            "/api/v1/verification/plugins".to_owned(),
            "/api/v1/verification/plugins",
            200,
        ),
        (
            "GET",
            "/api/v1/verification/plugins/custom:licences".to_owned(),
            "/api/v1/verification/plugins/{id}",
            200,
        ),
        (
            "POST",
            "/api/v1/verification/plugins/custom:licences/disable".to_owned(),
            "/api/v1/verification/plugins/{id}/disable",
            200,
        ),
        (
            "POST",
            "/api/v1/verification/plugins/custom:licences/enable".to_owned(),
            "/api/v1/verification/plugins/{id}/enable",
            200,
        ),
        (
            "DELETE",
            "/api/v1/verification/plugins/custom:licences".to_owned(),
            "/api/v1/verification/plugins/{id}",
            204,
        ),
        (
            "POST",
            "/api/v1/verification/run".to_owned(),
            "/api/v1/verification/run",
            200,
        ),
        ("GET", "/openapi.json".to_owned(), "/openapi.json", 200),
    ];
    let _ = waiting_run;
    let mut driven = std::collections::BTreeSet::new();
    for (method, path, template, status) in &calls {
        let answer = call(&scene.service, method, path, template).await;
        let function = contract::operation(method, path).unwrap().function;
        driven.insert((*method, *template));
        match *template {
            // It would be an example of itself.
            "/openapi.json" => assert_eq!(answer.body, *contract::DOCUMENT),
            _ if *status == 204 => assert_eq!((answer.status, answer.text.as_str()), (204, "")),
            _ => example(function, *status, &answer),
        }
    }
    for (path, methods) in contract::DOCUMENT["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let of = (method.to_uppercase(), path.as_str());
            assert!(
                driven.contains(&(of.0.as_str(), of.1)),
                "nobody called {of:?}"
            );
        }
    }
}

#[tokio::test]
async fn every_error_has_one_body_in_each_style() {
    let scene = Scene::new().await;
    let client = scene.client();
    let (poor, used_up) = (scene.poor().await, scene.used_up().await);
    let (_, penniless) = scene.service.another_org(0).await;
    let broken = CountedDoor::with(&scene.service, &[("AWO_SETTINGS_TABLE", "gone")]).await;
    let broken = broken.for_client(client);
    let nobody = client.with_key(None);
    let json = ("content-type", "application/json");
    let (order, template) = (
        example_body("post", "/v1/work-orders"),
        example_body("post", "/v1/templates"),
    );
    let order_of = |prompt: &str| {
        let mut order = order.clone();
        order["taskPrompt"] = serde_json::json!(prompt);
        order.to_string().into_bytes()
    };
    let keyed = [json, ("idempotency-key", "one")];
    let huge = || order_of(&"x".repeat(300_000));
    let Scene {
        done,
        done_run,
        waiting,
        ..
    } = &scene;
    let start = format!("/api/v1/work-orders/{waiting}/runs");
    let unknown = waiting.replace("wo_0", "wo_1");
    client
        .send("POST", "/v1/work-orders", &keyed, order_of("one"))
        .await;
    client.send("POST", &start, &keyed[1..], Vec::new()).await;
    let plain: Vec<(u16, Answer)> = vec![
        (
            400,
            client
                .post(
                    "/v1/work-orders",
                    &json!({ "taskPrompt": "", "workspaceSource": { "type": "git" }, "more": 1 }),
                )
                .await,
        ),
        (401, nobody.get("/v1/credits").await),
        (
            402,
            penniless
                .send("POST", "/v1/work-orders", &[json], order_of("one"))
                .await,
        ),
        (403, poor.get("/v1/credits").await),
        (404, client.get(&format!("/v1/work-orders/{unknown}")).await),
        (
            409,
            client
                .send(
                    "POST",
                    &format!("/v1/runs/{done_run}/cancel"),
                    &[],
                    Vec::new(),
                )
                .await,
        ),
        (
            413,
            client
                .send("POST", "/v1/work-orders", &[json], huge())
                .await,
        ),
        (
            415,
            client
                .send(
                    "POST",
                    "/v1/work-orders",
                    &[("content-type", "text/plain")],
                    order_of("one"),
                )
                .await,
        ),
        (
            422,
            client
                .send("POST", "/v1/work-orders", &keyed, order_of("two"))
                .await,
        ),
        (429, used_up.get("/v1/credits").await),
        (500, broken.get("/v1/credits").await),
    ];
    for (status, answer) in &plain {
        example("plain-error", *status, answer);
    }
    let _ = template;
    let kill = format!("/api/v1/work-orders/{done}/kill");
    let envelope: Vec<(u16, Answer)> = vec![
        (
            400,
            client
                .post(&kill, &json!({ "gracePeriodMs": 40_000, "now": true }))
                .await,
        ),
        (401, nobody.get("/api/v1/queue/health").await),
        (402, scene.start_without_credits().await),
        (403, poor.get("/api/v1/queue/health").await),
        (
            404,
            client
                .get(&format!("/api/v1/queue/position/{unknown}"))
                .await,
        ),
        (
            409,
            client
                .send(
                    "DELETE",
                    &format!("/api/v1/work-orders/{done}"),
                    &[],
                    Vec::new(),
                )
                .await,
        ),
        (413, client.send("POST", &kill, &[json], huge()).await),
        (
            415,
            client
                .send(
                    "POST",
                    &kill,
                    &[("content-type", "text/plain")],
                    b"{}".to_vec(),
                )
                .await,
        ),
        (
            422,
            client
                .send("POST", &start, &[json, keyed[1]], b"{}".to_vec())
                .await,
        ),
        (429, used_up.get("/api/v1/queue/health").await),
        (500, broken.get("/api/v1/queue/health").await),
    ];
    for (status, answer) in &envelope {
        example("envelope-error", *status, answer);
        assert_eq!(Style::of_path("/api/v1"), Style::Envelope);
    }
    full_queue().await;
}

/// A queue without room: creating is 503, and so is its health.
async fn full_queue() {
    let settings = [("AWO_MAX_CONCURRENT", "0"), ("AWO_MAX_QUEUE_SIZE", "1")];
    let full = awo_tests::service::TestService::start(1_000_000, &settings).await;
    create(&full.client).await;
    let body = example_body("post", "/v1/work-orders");
    let refused = full.client.post("/v1/work-orders", &body).await;
    example("plain-error", 503, &refused);
    let health = full.client.get("/api/v1/queue/health").await;
    example("get-queue-health", 503, &health);
}
