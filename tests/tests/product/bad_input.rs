//! Invalid input on every route: an error from the catalogue with the position of the fault, and no
//! change, loss or delay.

use awo_tests::client::{Answer, Client};
use awo_tests::contract::{self, DOCUMENT};
use awo_tests::everything::{everything_of, nothing_changed};
use awo_tests::rules;
use serde_json::{Map, Value, json};

use crate::authorisation::answers::{is_error, what};
use crate::authorisation::samples::{self, Sample, Things};
use crate::http_api::quiet_service;

const JSON: (&str, &str) = ("content-type", "application/json");

/// A bad request: what is bad of it, its body, and the path of the fault.
struct Bad {
    kind: String,
    body: Vec<u8>,
    path: String,
}

impl Bad {
    fn new(kind: &str, body: impl Into<Vec<u8>>, path: &str) -> Bad {
        Bad {
            kind: kind.to_owned(),
            body: body.into(),
            path: path.to_owned(),
        }
    }

    fn member(of: &Value, path: &str, kind: &str, value: Value) -> Bad {
        let mut body = of.clone();
        let (parent, name) = path.rsplit_once('/').unwrap();
        let parent = body.pointer_mut(parent).unwrap();
        match parent {
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
            parent => parent[name] = value,
        }
        Bad::new(&format!("{kind} at {path}"), body.to_string(), path)
    }
}

/// What is never an object, whatever the route takes.
fn no_objects() -> Vec<Bad> {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(80), "]".repeat(80));
    let mut bad: Vec<Bad> = [
        ("no JSON", "not json"),
        ("half an object", "{\"a\":"),
        ("two objects", "{} {}"),
        ("a list", "[]"),
        ("null", "null"),
        ("a string", "\"x\""),
        ("a number", "1e999"),
        ("a comment", "{/* */}"),
        ("deep nesting", deep.as_str()),
    ]
    .map(|(kind, body)| Bad::new(kind, body, ""))
    .into();
    bad.push(Bad::new("invalid UTF-8", b"{\"a\":\"\xff\"}".to_vec(), ""));
    bad.push(Bad::new("half a surrogate", "{\"a\":\"\\ud800\"}", ""));
    bad
}

/// An example of a body with each of its members made wrong, one after the other.
fn wrong_members(schema: &Value, example: &Value) -> Vec<Bad> {
    let mut bad = Vec::new();
    let members = example.as_object().cloned().unwrap_or_default();
    let mut unknown = example.clone();
    unknown["noSuchField"] = json!(1);
    bad.push(Bad::new(
        "an unknown field",
        unknown.to_string(),
        "/noSuchField",
    ));
    for name in members.keys() {
        let value = members[name].to_string();
        let rest: Map<String, Value> = members.clone();
        let inner = Value::Object(rest).to_string();
        let twice = format!("{{\"{name}\":{value},{}", &inner[1..]);
        bad.push(Bad::new("a duplicate key", twice, &format!("/{name}")));
    }
    let schema = contract::meant(schema);
    for required in schema["required"].as_array().into_iter().flatten() {
        let mut without = members.clone();
        let name = required.as_str().unwrap();
        without.remove(name);
        let body = Value::Object(without).to_string();
        bad.push(Bad::new("a missing field", body, &format!("/{name}")));
    }
    let mut wrong = Vec::new();
    wrong_types(example, "", example, &mut wrong);
    // What the schema allows is not wrong.
    wrong.retain(|bad| {
        let body = serde_json::from_slice(&bad.body).unwrap();
        !contract::allows(schema, &body)
    });
    bad.extend(wrong);
    // What the example does not show is read all the same.
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        if !members.contains_key(name) {
            let wrong = if contract::meant(of)["type"] == "object" {
                json!(1)
            } else {
                json!({ "x": 1 })
            };
            bad.push(Bad::member(
                example,
                &format!("/{name}"),
                "a wrong type",
                wrong,
            ));
        }
    }
    bad
}

fn wrong_types(whole: &Value, path: &str, value: &Value, bad: &mut Vec<Bad>) {
    let names: Vec<String> = match value {
        Value::Object(members) => members.keys().cloned().collect(),
        Value::Array(items) => (0..items.len()).map(|i| i.to_string()).collect(),
        _ => Vec::new(),
    };
    for name in names {
        let path = format!("{path}/{name}");
        let value = whole.pointer(&path).unwrap();
        let others = [
            json!(null),
            json!(1.5),
            json!("\u{0}"),
            json!([[]]),
            json!({ "x": 1 }),
            json!(true),
        ];
        for other in others {
            let same_kind = std::mem::discriminant(&other) == std::mem::discriminant(value);
            if !same_kind || other == json!("\u{0}") {
                bad.push(Bad::member(whole, &path, "a wrong value", other));
            }
        }
        wrong_types(whole, &path, value, bad);
    }
}

/// What is wrong with a query on every route.
const QUERIES: [&str; 4] = [
    "noSuchParameter=1",
    "limit=x%20y&noSuchParameter=",
    "%ff=1",
    "a&a&a",
];

fn has_path(answer: &Answer, path: &str) -> bool {
    let reported = answer.body["error"]["details"]["errors"]
        .as_array()
        .cloned();
    let in_details = reported.into_iter().flatten().any(|fault| {
        let reported = fault["path"].as_str().unwrap_or("?");
        reported == path
            || (!path.is_empty() && reported.starts_with(path))
            || (!reported.is_empty() && path.starts_with(reported))
    });
    // In the envelope the message names the place, or the one that it is in.
    let message = answer.body["error"]["message"].as_str().unwrap_or_default();
    let around = path.rsplit_once('/').map_or("", |(around, _)| around);
    let in_message = message.contains(path) || (!around.is_empty() && message.contains(around));
    in_details || (answer.body.get("success").is_some() && in_message)
}

async fn refused(client: &Client, sample: &Sample, target: &str, bad: &Bad) {
    let kind = what(sample, &bad.kind);
    let sent = client.send(sample.route.method, target, &[JSON], bad.body.clone());
    let answer = sent.await;
    if sample.route.function == "validate-profile" && !bad.path.is_empty() {
        // It judges bodies: what is wrong with one is what was asked for.
        let errors = answer.body["data"]["errors"].to_string();
        assert_eq!(
            answer.body["data"]["valid"], false,
            "{kind}: {}",
            answer.text
        );
        assert!(errors.contains(&bad.path), "{kind}: {}", answer.text);
        return;
    }
    is_error(&answer, sample.route.style, 400, "BAD_REQUEST", &kind);
    assert!(
        has_path(&answer, &bad.path),
        "{kind}: {} is not named in {}",
        bad.path,
        answer.text
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_refused_with_its_place_and_changes_nothing() {
    let service = quiet_service().await;
    let things = Things::of(&service).await;
    let tables = rules::client(&service.service.cloud);
    let before = everything_of(&tables, &service.org).await;
    let mut with_bodies = 0;
    for sample in samples::of_each_route() {
        let target = sample.target(&things);
        let path = target.split('?').next().unwrap();
        let operation = &DOCUMENT["paths"][sample.route.path][sample.route.method.to_lowercase()];
        let content = &operation["requestBody"]["content"]["application/json"];
        let good = if content.is_null() {
            ""
        } else {
            &content["example"].to_string()
        };
        for query in QUERIES {
            let target = format!("{path}?{query}");
            let method = sample.route.method;
            let sent = service.client.send(method, &target, &[JSON], good.into());
            let kind = what(&sample, &format!("the query {query}"));
            is_error(&sent.await, sample.route.style, 400, "BAD_REQUEST", &kind);
        }
        if content.is_null() {
            continue;
        }
        with_bodies += 1;
        let bodies = no_objects().into_iter();
        // Of an optional body `null` is as good as none; a purge of everything is asked for by none.
        let is_optional = operation["requestBody"]["required"] == false;
        let takes_null = is_optional && sample.route.function != "purge-work-orders";
        let bodies = bodies.filter(|bad| !(takes_null && bad.body == b"null"));
        for bad in bodies.chain(wrong_members(&content["schema"], &content["example"])) {
            refused(&service.client, &sample, path, &bad).await;
        }
        let style = sample.route.style;
        let example = content["example"].to_string();
        let typed = [("content-type", "text/plain")];
        let sent = service.client.send(
            sample.route.method,
            path,
            &typed,
            example.clone().into_bytes(),
        );
        is_error(
            &sent.await,
            style,
            415,
            "UNSUPPORTED_MEDIA_TYPE",
            &what(&sample, "a wrong type"),
        );
        let huge = format!("{}{}", " ".repeat(300_000), example);
        let sent = service
            .client
            .send(sample.route.method, path, &[JSON], huge.into_bytes());
        is_error(
            &sent.await,
            style,
            413,
            "PAYLOAD_TOO_LARGE",
            &what(&sample, "a huge body"),
        );
    }
    assert!(with_bodies >= 5, "{with_bodies} routes with bodies");
    let after = everything_of(&tables, &service.org).await;
    nothing_changed(&before, &after, "bad input");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_id_is_not_there() {
    let service = quiet_service().await;
    let things = Things::of(&service).await;
    let tables = rules::client(&service.service.cloud);
    let before = everything_of(&tables, &service.org).await;
    let long = "x".repeat(2_000);
    for sample in samples::of_each_route()
        .iter()
        .filter(|s| s.names_something())
    {
        for bad in [
            "%00",
            "..%2f..%2fetc",
            "wo_",
            "%ff",
            "*",
            "a%20b",
            "WO_01",
            &long,
        ] {
            let target = sample.with_id(bad);
            let answer = sample.send_to(&service.client, &target, &things).await;
            let kind = what(sample, &format!("the id {bad}"));
            assert_eq!(answer.status, 404, "{kind}: {}", answer.text);
        }
    }
    let after = everything_of(&tables, &service.org).await;
    nothing_changed(&before, &after, "bad ids");
}

#[tokio::test]
async fn when_the_tables_are_gone_every_route_answers_500_and_says_nothing_of_the_inside() {
    let service = quiet_service().await;
    let things = Things::of_nobody(&service);
    let mut counted = Vec::new();
    for table in [
        "AWO_SETTINGS_TABLE",
        "AWO_WORK_TABLE",
        "AWO_LEDGER_TABLE",
        "AWO_DELIVERIES_TABLE",
    ] {
        counted.push(
            awo_tests::counted_requests::CountedRequests::with(&service, &[(table, "gone")]).await,
        );
    }
    for sample in samples::keyed().iter().filter(|sample| !sample.is_live()) {
        let mut failed = 0;
        for requests in &counted {
            let answer = sample
                .send(&requests.for_client(&service.client), &things)
                .await;
            if answer.status != 500 {
                continue;
            }
            failed += 1;
            let kind = what(sample, "a table that is gone");
            is_error(&answer, sample.route.style, 500, "INTERNAL_ERROR", &kind);
            for word in ["gone", "table", "dynamo", "Resource"] {
                assert!(!answer.text.contains(word), "{kind}: {}", answer.text);
            }
        }
        assert!(failed > 0, "{}", sample.route.path);
    }
}
