//! Webhooks of the kind `otlp`: the spans of runs that are settled, and the secret headers of any webhook.

use awo_domain::money::MicroCredits;
use awo_tests::client::{Answer, Client};
use awo_tests::driven::DrivenRun;
use awo_tests::receiver::{Answer as Reply, ReceivedRequest, Receiver};
use serde_json::{Value, json};

use super::{delete, fails, patch};
use crate::events::{all_over, created, service};
use crate::http_api::quiet_service;

const SECRET: &str = "Bearer of-the-collector";

async fn collector(client: &Client, receiver: &Receiver) -> String {
    let body =
        json!({ "url": receiver.url, "kind": "otlp", "headers": { "Authorization": SECRET } });
    let made = client.post("/v1/webhooks", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let webhook = &made.body["webhook"];
    let ends = json!(["run.completed", "run.failed", "run.cancelled"]);
    assert_eq!(
        (&webhook["kind"], &webhook["events"]),
        (&json!("otlp"), &ends)
    );
    format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap())
}

fn spans(request: &ReceivedRequest) -> &Vec<Value> {
    let resource = &request.body["resourceSpans"][0];
    let service = &resource["resource"]["attributes"][0];
    assert_eq!(service["key"], "service.name", "{}", request.body);
    resource["scopeSpans"][0]["spans"].as_array().unwrap()
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

/// The value of an attribute, whatever its type.
fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    let attribute = attributes.iter().find(|attribute| attribute["key"] == key);
    let value = attribute.unwrap_or_else(|| panic!("{key}: {span:#}"))["value"].as_object();
    value.unwrap().values().next().unwrap()
}

/// An amount in micro-credits: JSON has 0 and 0.0.
fn credits(amount: &Value) -> i64 {
    MicroCredits::from_decimal(amount.as_f64().unwrap())
        .unwrap()
        .micro()
}

async fn verified_iteration(run: &mut DrivenRun, iteration: u32, status: &str) {
    run.report(json!({ "type": "iterationStarted", "iteration": iteration }))
        .await;
    run.report(json!({
        "type": "agentFinished", "iteration": iteration, "exitCode": 0, "durationMs": 5, "completed": true,
        "usage": [{ "usage": { "model": "claude-sonnet-4-5", "inputTokens": 120, "outputTokens": 30, "cachedInputTokens": 20 } }],
    }))
    .await;
    run.report(json!({ "type": "verificationStarted", "iteration": iteration, "levels": ["L1"] }))
        .await;
    run.report(json!({
        "type": "verificationFinished", "iteration": iteration, "levels": ["L1"], "overallStatus": status,
        "summary": "1 check", "results": [],
    }))
    .await;
}

#[tokio::test]
async fn a_settled_run_is_one_trace_with_its_phases_tokens_and_cost() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Reply::Status(200)]).await;
    let webhook = collector(client, &receiver).await;
    let mut run = DrivenRun::of(&service, &created(client).await).await;
    verified_iteration(&mut run, 1, "failed").await;
    verified_iteration(&mut run, 2, "passed").await;
    run.report(json!({ "type": "deliveryStarted" })).await;
    run.succeed().await;

    all_over(client, &webhook, 1).await;
    let heard = receiver.heard();
    let [request] = heard.as_slice() else {
        panic!("{heard:#?}")
    };
    assert_eq!(request.headers["authorization"], SECRET);
    assert_eq!(request.headers["content-type"], "application/json");
    let spans = spans(request);
    let root = named(spans, "run")[0];
    assert!(
        root.get("parentSpanId").is_none() && root["status"]["code"] == 1,
        "{root:#}"
    );
    let read = client.get(&format!("/v1/runs/{}", run.run_id)).await.body;
    assert_eq!(attribute(root, "awo.run.id"), run.run_id.as_str());
    assert_eq!(
        credits(attribute(root, "awo.cost.credits")),
        credits(&read["cost"]["credits"])
    );
    assert_eq!(attribute(root, "awo.tenant.id"), "acme");
    assert_eq!(attribute(root, "gen_ai.agent.name"), "command");
    for (name, count) in [
        ("queue", 1),
        ("prepare", 1),
        ("iteration", 2),
        ("deliver", 1),
    ] {
        let of_name = named(spans, name);
        assert_eq!(of_name.len(), count, "{name}: {spans:#?}");
        assert!(
            of_name
                .iter()
                .all(|span| span["parentSpanId"] == root["spanId"])
        );
    }
    let iterations = named(spans, "iteration");
    for (name, outcomes) in [("invoke_agent command", [0, 0]), ("verify", [2, 0])] {
        for (nth, span) in named(spans, name).into_iter().enumerate() {
            assert_eq!(span["parentSpanId"], iterations[nth]["spanId"], "{span:#}");
            assert_eq!(span["status"]["code"], outcomes[nth], "{span:#}");
        }
    }
    let agent = named(spans, "invoke_agent command")[1];
    assert_eq!(attribute(agent, "gen_ai.operation.name"), "invoke_agent");
    assert_eq!(attribute(agent, "gen_ai.usage.input_tokens"), "120");
    assert_eq!(attribute(agent, "gen_ai.usage.output_tokens"), "30");
    for span in spans {
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(
            time("startTimeUnixNano") <= time("endTimeUnixNano"),
            "{span:#}"
        );
        assert!(
            time("startTimeUnixNano") >= 1_577_836_800_000_000_000,
            "{span:#}"
        );
        assert_eq!(
            (
                span["traceId"].as_str().unwrap().len(),
                span["spanId"].as_str().unwrap().len()
            ),
            (32, 16)
        );
        assert_eq!(span["traceId"], root["traceId"]);
    }
    // Nothing of the run tells of it.
    assert_eq!(
        client.get(&format!("/v1/runs/{}", run.run_id)).await.body,
        read
    );
}

#[tokio::test]
async fn a_collector_that_fails_gets_the_same_trace_again_and_no_other_form_of_events() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Reply::Status(503), Reply::Status(200)]).await;
    let webhook = collector(client, &receiver).await;
    let run = DrivenRun::of(&service, &created(client).await).await;
    run.fail().await;
    let deliveries = all_over(client, &webhook, 1).await;
    assert_eq!(
        deliveries[0]["attempts"].as_array().unwrap().len(),
        2,
        "{deliveries:#?}"
    );
    let heard = receiver.has_heard(2).await;
    assert_eq!(heard[0].bytes, heard[1].bytes);
    let root = named(spans(&heard[0]), "run")[0];
    assert_eq!(root["status"]["code"], 2, "{root:#}");
    assert!(attribute(root, "error.type").is_string());
    // A person asks for it once more.
    let id = deliveries[0]["id"].as_str().unwrap();
    let again = client
        .post(&format!("{webhook}/deliveries/{id}/redeliver"), &json!({}))
        .await;
    assert_eq!(again.status, 200, "{}", again.text);
    assert_eq!(receiver.has_heard(3).await[2].bytes, heard[0].bytes);
}

#[tokio::test]
async fn spans_wait_until_a_canceled_run_is_settled() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Reply::Status(200)]).await;
    let webhook = collector(client, &receiver).await;
    let mut run = DrivenRun::of(&service, &created(client).await).await;
    run.iterate(1).await;
    let path = format!("/v1/runs/{}", run.run_id);
    let cancel = client.post(&format!("{path}/cancel"), &json!({})).await;
    assert_eq!(cancel.status, 200, "{}", cancel.text);
    // Its delivery is there, and no attempt of it.
    let pending = loop {
        let page = client.get(&format!("{webhook}/deliveries")).await.body;
        if let Some(delivery) = page["deliveries"].get(0) {
            break delivery.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert!(client.get(&path).await.body.get("settledAt").is_none());
    assert_eq!(
        (&pending["status"], &pending["attempts"]),
        (&json!("pending"), &json!([]))
    );
    run.free_slot().await;
    let deliveries = all_over(client, &webhook, 1).await;
    assert_eq!(deliveries[0]["status"], "delivered", "{deliveries:#?}");
    let heard = receiver.heard();
    let root = named(spans(&heard[0]), "run")[0];
    assert_eq!(attribute(root, "awo.run.status"), "canceled");
    let read = client.get(&path).await.body;
    assert!(read["settledAt"].is_string(), "{read:#}");
    assert_eq!(
        credits(attribute(root, "awo.cost.credits")),
        credits(&read["cost"]["credits"])
    );
}

#[tokio::test]
async fn a_test_of_a_collector_is_one_span() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Reply::Status(200)]).await;
    let webhook = collector(client, &receiver).await;
    let test = client.post(&format!("{webhook}/test"), &json!({})).await;
    assert_eq!(
        (test.status, &test.body["delivered"]),
        (200, &json!(true)),
        "{}",
        test.text
    );
    let heard = receiver.heard();
    assert_eq!(spans(&heard[0])[0]["name"], "webhook.test");
    assert_eq!(heard[0].headers["authorization"], SECRET);
}

fn path_of(answer: &Answer) -> &Value {
    fails(answer, 400, "BAD_REQUEST");
    &answer.body["error"]["details"]["errors"][0]["path"]
}

#[tokio::test]
async fn values_of_headers_are_never_shown_and_leave_with_their_host() {
    let service = quiet_service().await;
    let client = &service.client;
    let url = "https://collector.example.com/v1/traces";
    let body = json!({ "url": url, "events": ["run.failed"], "headers": { "X-Team": "hidden-value", "authorization": "hidden-value" } });
    let made = client.post("/v1/webhooks", &body).await;
    let path = format!(
        "/v1/webhooks/{}",
        made.body["webhook"]["id"].as_str().unwrap()
    );
    let names = json!(["authorization", "x-team"]);
    assert_eq!(made.body["webhook"]["headerNames"], names);
    let elsewhere = json!({ "url": "https://collector.example.com/other" });
    let changed = patch(client, &path, &elsewhere).await;
    assert_eq!(changed.body["headerNames"], names, "the same host");
    for text in [
        made.text,
        changed.text,
        client.get(&path).await.text,
        client.get("/v1/webhooks").await.text,
    ] {
        assert!(!text.contains("hidden-value"), "{text}");
    }
    for other in [
        "https://other.example.com/v1/traces",
        "https://collector.example.com:8443/",
    ] {
        let both = json!({ "url": url, "headers": { "x-team": "v" } });
        assert_eq!(
            patch(client, &path, &both).await.body["headerNames"],
            json!(["x-team"])
        );
        let moved = patch(client, &path, &json!({ "url": other })).await;
        assert!(moved.body.get("headerNames").is_none(), "{}", moved.text);
    }
    for (name, value) in [
        ("host", "v"),
        ("a b", "v"),
        ("webhook-id", "v"),
        ("x-a", "a\r\nb: c"),
    ] {
        let answer = patch(client, &path, &json!({ "headers": { name: value } })).await;
        assert_eq!(path_of(&answer), &json!(format!("/headers/{name}")));
    }
    let eleven: serde_json::Map<String, Value> =
        (0..11).map(|n| (format!("x-{n}"), json!("v"))).collect();
    assert_eq!(
        path_of(&patch(client, &path, &json!({ "headers": eleven })).await),
        "/headers"
    );
    assert_eq!(delete(client, &path).await.status, 204);
}

#[tokio::test]
async fn a_collector_gets_ends_of_runs_alone_and_its_kind_stays() {
    let service = quiet_service().await;
    let client = &service.client;
    let url = "https://collector.example.com/v1/traces";
    let wrong = json!({ "url": url, "kind": "otlp", "events": ["run.failed", "run.created"] });
    assert_eq!(
        path_of(&client.post("/v1/webhooks", &wrong).await),
        "/events/1"
    );
    assert_eq!(
        path_of(&client.post("/v1/webhooks", &json!({ "url": url })).await),
        "/events"
    );
    let unknown = json!({ "url": url, "kind": "traces", "events": ["run.failed"] });
    assert_eq!(
        path_of(&client.post("/v1/webhooks", &unknown).await),
        "/kind"
    );
    let body = json!({ "url": url, "kind": "otlp", "events": ["run.failed"] });
    let made = client.post("/v1/webhooks", &body).await;
    let path = format!(
        "/v1/webhooks/{}",
        made.body["webhook"]["id"].as_str().unwrap()
    );
    let other = json!({ "events": ["budget.threshold"] });
    assert_eq!(path_of(&patch(client, &path, &other).await), "/events/0");
    assert_eq!(
        path_of(&patch(client, &path, &json!({ "kind": "events" })).await),
        "/kind"
    );
    let read = client.get(&path).await.body;
    assert_eq!(
        (&read["kind"], &read["events"]),
        (&json!("otlp"), &json!(["run.failed"]))
    );
}
