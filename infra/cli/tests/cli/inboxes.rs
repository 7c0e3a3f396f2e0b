//! Inboxes and the deliveries to them, as people and scripts see them.

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, ReceivedRequest, Reply};

const INB: &str = "inb_01k0000000000000000000000a";
const IDL: &str = "idl_01k0000000000000000000000a";
const SECRET: &str = "0f3c0f3c0f3c0f3c0f3c0f3c0f3c0f3c";

fn inbox() -> Value {
    json!({
        "id": INB, "name": "Ours\u{1b}[2J", "kind": "hmac", "enabled": true, "duplicates": "none",
        "signature": {"header": "x-ticket-signature", "prefix": "v1=", "encoding": "hex"},
        "createdAt": "2026-11-20T08:00:00.000Z",
        "previousSecretExpiresAt": "2026-11-21T08:00:00.000Z",
    })
}

fn delivery() -> Value {
    json!({
        "id": IDL, "receivedAt": "2026-11-20T08:00:00.000Z", "event": "issue.labeled",
        "subject": "acme/shop#7", "actor": "octocat", "outcome": "created", "bodyBytes": 12,
        "triggers": [
            {"triggerId": "trg_1", "result": "created", "workOrderId": "wo_1"},
            {"triggerId": "trg_2", "result": "ignored", "reason": "filter:labels"},
        ],
    })
}

fn service(request: &ReceivedRequest, _: usize) -> Reply {
    let own = format!("/v1/inboxes/{INB}");
    let route = request.route().replace(&own, "…");
    let body = match route.as_str() {
        "POST /v1/inboxes" => {
            let url = format!("https://api.example.com/v1/hooks/{INB}");
            let created = json!({"inbox": inbox(), "url": url, "secret": SECRET});
            return Reply::of(201, created.to_string());
        }
        "GET /v1/inboxes" => json!({"inboxes": [inbox()], "total": 1}),
        "GET …/deliveries" => json!({"deliveries": [delivery()], "total": 1}),
        "POST …/rotate-secret" => {
            json!({"secret": SECRET, "previousSecretExpiresAt": "2026-11-21T08:00:00.000Z"})
        }
        "DELETE …" => return Reply::of(204, ""),
        "GET …" | "PATCH …" => inbox(),
        _ => delivery(),
    };
    Reply::of(200, body.to_string())
}

#[tokio::test]
async fn an_inbox_is_created_with_its_url_and_its_secret_is_shown_once() {
    let double = Double::start(service).await;
    let typed = [
        "inboxes",
        "create",
        "Tickets",
        "--kind",
        "hmac",
        "--header",
        "x-ticket-signature",
        "--prefix",
        "v1=",
        "--duplicates",
        "none",
    ];
    let called = at(&double.url, &typed).await;
    assert_eq!(called.code, 0, "{called:?}");
    let url = format!("https://api.example.com/v1/hooks/{INB}");
    for part in [
        INB,
        SECRET,
        url.as_str(),
        "x-ticket-signature: hex after v1=",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    assert!(called.err.contains("not shown again"), "{called:?}");
    assert!(!called.out.contains('\u{1b}'), "{called:?}");
    let request = &double.seen()[0];
    let body = json!({
        "name": "Tickets", "kind": "hmac", "duplicates": "none",
        "signature": {"header": "x-ticket-signature", "prefix": "v1=", "encoding": "hex"},
    });
    assert_eq!(
        (&request.body, request.route().as_str()),
        (&body, "POST /v1/inboxes")
    );
    assert!(request.headers.contains_key("idempotency-key"));
    for read in [vec!["inboxes", "list"], vec!["inboxes", "show", INB]] {
        let called = at(&double.url, &read).await;
        assert_eq!(called.code, 0, "{called:?}");
        assert!(
            called.out.contains(INB) && !called.out.contains(SECRET),
            "{called:?}"
        );
    }
}

#[tokio::test]
async fn deliveries_show_the_result_of_each_trigger() {
    let double = Double::start(service).await;
    let typed = ["inboxes", "deliveries", INB, "--outcome", "created"];
    let called = at(&double.url, &typed).await;
    assert_eq!(called.code, 0, "{called:?}");
    for part in [
        IDL,
        "acme/shop#7, by octocat",
        "trg_1 wo_1",
        "trg_2 filter:labels",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    let route = double.seen()[0].route();
    assert!(
        route.starts_with(&format!("GET /v1/inboxes/{INB}/deliveries")),
        "{route}"
    );
    let called = at(&double.url, &["inboxes", "replay", INB, IDL]).await;
    assert!(called.out.contains("is processed again"), "{called:?}");
}

#[tokio::test]
async fn a_wrong_command_line_of_inboxes_never_reaches_the_service() {
    let double = Double::start(service).await;
    for typed in [
        vec!["create", "Ours"],
        vec!["create", "Ours", "--kind", "bitbucket"],
        vec!["create", "Ours", "--kind", "hmac", "--prefix", "v1="],
        vec![
            "create", "Ours", "--kind", "gitlab", "--token", "--header", "x-a",
        ],
        vec!["update", INB],
        vec!["update", INB, "--enable", "--disable"],
        vec!["deliveries", INB, "--outcome", "done"],
    ] {
        let called = at(&double.url, &[&["inboxes"][..], &typed].concat()).await;
        assert_eq!(called.code, 2, "{typed:?}: {called:?}");
    }
    assert!(double.seen().is_empty());
}
