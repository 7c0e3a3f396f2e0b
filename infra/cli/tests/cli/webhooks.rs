//! Webhooks and their deliveries, as people and scripts see them.

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, ReceivedRequest, Reply};

const WH: &str = "wh_01k0000000000000000000000a";
const DLV: &str = "dlv_01k0000000000000000000000b";
const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn webhook() -> Value {
    json!({"id": WH, "url": "https://hooks.example.com/a\u{1b}[2J", "enabled": false,
        "events": ["run.failed", "run.completed"], "createdAt": "2026-11-20T08:00:00.000Z",
        "disabledAt": "2026-11-20T09:00:00.000Z", "disabledReason": "it answered 410"})
}

fn deliveries() -> Value {
    let attempt = |number: u32, more: Value| {
        let mut attempt = json!({"id": "att_1", "number": number,
            "startedAt": format!("2026-11-20T08:0{number}:00.000Z")});
        for (name, value) in more.as_object().unwrap() {
            attempt[name] = value.clone();
        }
        attempt
    };
    json!([
        {"id": DLV, "eventId": "evt_1", "eventType": "run.failed", "status": "pending",
            "createdAt": "2026-11-20T08:00:59.000Z", "nextAttemptAt": "2026-11-20T08:33:00.123Z",
            "attempts": [
                attempt(1, json!({"statusCode": 503, "durationMs": 1_250})),
                attempt(2, json!({"error": "connection refused\n\u{1b}[31m", "durationMs": 10})),
                attempt(3, json!({})),
            ]},
        {"id": "dlv_2", "eventId": "evt_1", "eventType": "run.failed", "status": "delivered",
            "createdAt": "2026-11-20T07:00:00.000Z", "redeliveryOf": "dlv_1",
            "attempts": [attempt(1, json!({"statusCode": 204, "durationMs": 90}))]},
    ])
}

fn service(seen: &ReceivedRequest, _: usize) -> Reply {
    let of_webhook = format!("/v1/webhooks/{WH}");
    let (method, path) = (seen.method.as_str(), seen.route());
    let path = path.split_once(' ').unwrap().1.replace(&of_webhook, "…");
    let list = |plural: &str, items: Value| {
        let total = items.as_array().unwrap().len();
        Reply::of(200, json!({plural: items, "total": total}).to_string())
    };
    match (method, path.as_str()) {
        ("POST", "/v1/webhooks") => {
            let created = json!({"webhook": webhook(), "secret": SECRET});
            Reply::of(201, created.to_string())
        }
        ("GET", "/v1/webhooks") => list("webhooks", json!([webhook()])),
        ("GET" | "PATCH", "…") => Reply::of(200, webhook().to_string()),
        ("DELETE", "…") => Reply::of(204, ""),
        ("POST", "…/rotate-secret") => {
            let until = "2026-11-21T08:00:00.000Z";
            let rotated = json!({"secret": SECRET, "previousSecretExpiresAt": until});
            Reply::of(200, rotated.to_string())
        }
        ("POST", "…/test") => {
            let tested = json!({
                "eventId": "evt_1", "delivered": false, "statusCode": 503, "durationMs": 12,
                "error": "the answer was 503, which is no success (2xx)",
            });
            Reply::of(200, tested.to_string())
        }
        ("GET", "…/deliveries") => list("deliveries", deliveries()),
        ("POST", _) => Reply::of(200, deliveries()[0].to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_webhook_is_made_and_its_secret_shown_once() {
    let double = Double::start(service).await;
    let typed = [
        "webhooks",
        "create",
        "https://hooks.example.com/a",
        "--event",
        "run.failed",
        "--event",
        "run.completed",
        "--description",
        "ours",
    ];
    let called = at(&double.url, &typed).await;
    assert_eq!(called.code, 0, "{called:?}");
    for part in [
        WH,
        SECRET,
        "run.failed run.completed",
        "disabled since 2026-11-20T09:00:00Z: it answered 410",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    assert!(called.err.contains("not shown again"), "{called:?}");
    assert!(!called.out.contains('\u{1b}'), "{called:?}");
    let seen = &double.seen()[0];
    let wanted = json!({"url": "https://hooks.example.com/a", "description": "ours",
        "events": ["run.failed", "run.completed"]});
    assert_eq!(
        (&seen.body, seen.route().as_str()),
        (&wanted, "POST /v1/webhooks")
    );
    assert!(seen.headers.contains_key("idempotency-key"));
    let json = at(&double.url, &[&typed[..], &["--json"]].concat())
        .await
        .json();
    assert_eq!(json["secret"], SECRET);

    let called = at(&double.url, &["webhooks", "rotate", WH]).await;
    assert!(
        called.out.contains(SECRET) && called.out.contains("2026-11-21T08:00:00Z"),
        "{called:?}"
    );
    let seen = double.seen().pop().unwrap();
    assert!(seen.headers.contains_key("idempotency-key") && seen.body == Value::Null);
    for read in [vec!["webhooks", "list"], vec!["webhooks", "show", WH]] {
        let called = at(&double.url, &read).await;
        assert_eq!(called.code, 0, "{called:?}");
        assert!(
            called.out.contains(WH) && !called.out.contains("whsec_"),
            "{called:?}"
        );
    }
}

#[tokio::test]
async fn what_is_wrong_on_the_command_line_never_reaches_the_service() {
    let double = Double::start(service).await;
    for bad in [
        vec!["create", "https://hooks.example.com"],
        vec![
            "create",
            "https://hooks.example.com",
            "--event",
            "run.canceled",
        ],
        vec!["update", WH],
        vec!["update", WH, "--enable", "--disable"],
        vec!["show", DLV],
        vec!["redeliver", WH, "dlv_1"],
        vec!["deliveries", WH, "--status", "failed"],
    ] {
        let called = at(&double.url, &[&["webhooks"][..], &bad].concat()).await;
        assert_eq!(called.code, 2, "{bad:?}: {called:?}");
    }
    assert!(double.seen().is_empty());
}

#[tokio::test]
async fn an_update_sends_what_is_named_and_a_delete_says_that_it_is_done() {
    let double = Double::start(service).await;
    for (typed, wanted) in [
        (vec!["--disable"], json!({"enabled": false})),
        (
            vec!["--enable", "--description", ""],
            json!({"enabled": true, "description": ""}),
        ),
        (
            vec![
                "--event",
                "run.failed",
                "--endpoint",
                "https://b.example.com",
            ],
            json!({"events": ["run.failed"], "url": "https://b.example.com"}),
        ),
    ] {
        let called = at(
            &double.url,
            &[&["webhooks", "update", WH][..], &typed].concat(),
        )
        .await;
        assert_eq!(called.code, 0, "{called:?}");
        let seen = double.seen().pop().unwrap();
        assert_eq!((seen.method.as_str(), &seen.body), ("PATCH", &wanted));
    }
    let called = at(&double.url, &["webhooks", "delete", WH]).await;
    assert_eq!((called.code, called.out.as_str()), (0, ""), "{called:?}");
    assert!(called.err.contains(&format!("deleted {WH}")), "{called:?}");
}

#[tokio::test]
async fn deliveries_show_what_happened_and_when_the_next_try_is() {
    let double = Double::start(service).await;
    let called = at(
        &double.url,
        &["webhooks", "deliveries", WH, "--status", "pending"],
    )
    .await;
    assert_eq!(called.code, 0, "{called:?}");
    let lines: Vec<&str> = called.out.lines().skip(2).collect();
    for (line, parts) in lines.iter().zip([
        &[
            DLV,
            "run.failed",
            "pending",
            "2026-11-20T08:00:59Z",
            "next attempt at 2026-11-20T08:33:00Z",
        ][..],
        &["2026-11-20T08:01:00Z", "attempt 1: 503 after 1.2 s"],
        &[
            "2026-11-20T08:02:00Z",
            "attempt 2: connection refused after 0.0 s",
        ],
        &["2026-11-20T08:03:00Z", "attempt 3: no result is known"],
        &["dlv_2", "delivered", "again: dlv_1"],
        &["attempt 1: 204 after 0.0 s"],
        &["2 of 2 deliveries"],
    ]) {
        for part in parts {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    assert_eq!(lines.len(), 7, "{lines:#?}");
    assert!(!called.out.contains('\u{1b}'), "{called:?}");
    let seen = double.seen().pop().unwrap();
    assert!(seen.target.contains("status=pending"), "{}", seen.target);
    let json = at(&double.url, &["webhooks", "deliveries", WH, "--json"])
        .await
        .json();
    assert_eq!(json["deliveries"], deliveries());

    let called = at(&double.url, &["webhooks", "redeliver", WH, DLV]).await;
    assert_eq!(called.code, 0, "{called:?}");
    let seen = double.seen().pop().unwrap();
    let wanted = format!("POST /v1/webhooks/{WH}/deliveries/{DLV}/redeliver");
    assert_eq!(seen.route(), wanted);
    assert!(seen.headers.contains_key("idempotency-key"));
    assert!(called.out.contains("awo webhooks deliveries"), "{called:?}");
}

#[tokio::test]
async fn what_the_service_refuses_names_the_command_to_run() {
    let error = |code: &str, message: &str| {
        json!({"error": {"code": code, "message": message, "details": {}}}).to_string()
    };
    let missing = error("WEBHOOK_NOT_FOUND", "there is no such webhook");
    let double = Double::start(move |_, _| Reply::of(404, missing.clone())).await;
    let called = at(&double.url, &["webhooks", "show", WH]).await;
    assert_eq!(called.code, 3, "{called:?}");
    assert!(called.err.contains("`awo webhooks list`"), "{called:?}");
    let pending = error(
        "CONFLICT",
        "this delivery is still pending: it is retried automatically",
    );
    let double = Double::start(move |_, _| Reply::of(409, pending.clone())).await;
    let called = at(&double.url, &["webhooks", "redeliver", WH, DLV]).await;
    assert_eq!(called.code, 3, "{called:?}");
    assert!(
        called.err.contains("still pending") && !called.err.contains("awo get"),
        "{called:?}"
    );
}

#[tokio::test]
async fn a_test_shows_what_came_of_it_and_fails_unless_the_receiver_took_it() {
    let double = Double::start(service).await;
    let called = at(&double.url, &["webhooks", "test", WH]).await;
    assert_eq!(called.code, 1, "{called:?}");
    for part in ["evt_1", "503", "12 ms", "no success"] {
        assert!(called.out.contains(part), "{part}: {called:?}");
    }
    let wanted = format!("POST /v1/webhooks/{WH}/test");
    assert_eq!(double.seen().pop().unwrap().route(), wanted);
}
