//! Webhooks: created, read, listed, changed, deleted. Secrets and deliveries have separate files.

mod deliveries;
mod otlp;
mod secrets;

use awo_domain::WebhookId;
use awo_domain::api_key::Scope;
use awo_tests::client::{Answer, Client};
use awo_tests::service::TestService;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::http_api::quiet_service;

const JSON: (&str, &str) = ("content-type", "application/json");
/// As many as an organization may have.
const MOST: usize = 20;

fn webhook() -> Value {
    json!({ "url": "https://hooks.example.com/a?b=c", "events": ["run.failed", "run.completed"] })
}

async fn patch(client: &Client, path: &str, body: &Value) -> Answer {
    let bytes = body.to_string().into_bytes();
    client.send("PATCH", path, &[JSON], bytes).await
}

async fn delete(client: &Client, path: &str) -> Answer {
    client.send("DELETE", path, &[], Vec::new()).await
}

/// A webhook with its path.
async fn made(client: &Client) -> (Value, String) {
    let made = client.post("/v1/webhooks", &webhook()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/v1/webhooks/{}", id(&made.body["webhook"]));
    (made.body, path)
}

fn id(of: &Value) -> String {
    of["id"].as_str().unwrap().to_owned()
}

fn webhook_id(of: &Value) -> WebhookId {
    WebhookId::parse(of["id"].as_str().unwrap()).unwrap()
}

fn fails(answer: &Answer, status: u16, code: &str) {
    let got = (answer.status, answer.body["error"]["code"].as_str());
    assert_eq!(got, (status, Some(code)), "{}", answer.text);
}

#[tokio::test]
async fn a_webhook_is_made_read_changed_and_deleted() {
    let service = quiet_service().await;
    let client = &service.client;
    let (body, path) = made(client).await;
    let webhook = &body["webhook"];
    assert_eq!(webhook["url"], "https://hooks.example.com/a?b=c");
    assert_eq!(webhook["events"], json!(["run.failed", "run.completed"]));
    assert_eq!(webhook["enabled"], true);
    assert!(webhook["createdAt"].is_string());
    for absent in ["description", "updatedAt", "disabledAt"] {
        assert!(webhook.get(absent).is_none(), "{absent} in {webhook}");
    }
    let read = client.get(&path).await;
    assert_eq!((read.status, &read.body), (200, webhook));
    let list = client.get("/v1/webhooks").await.body;
    let wanted = json!({ "webhooks": [webhook], "total": 1, "limit": 20, "offset": 0 });
    assert_eq!(list, wanted);

    let gone = delete(client, &path).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    for answer in [
        delete(client, &path).await,
        client.get(&path).await,
        patch(client, &path, &json!({ "enabled": false })).await,
        client
            .post(&format!("{path}/rotate-secret"), &json!({}))
            .await,
        client.get(&format!("{path}/deliveries")).await,
        client.get("/v1/webhooks/wh_no").await,
    ] {
        fails(&answer, 404, "WEBHOOK_NOT_FOUND");
    }
    assert_eq!(client.get("/v1/webhooks").await.body["total"], 0);
}

#[tokio::test]
async fn a_change_replaces_what_it_names_and_nothing_else() {
    let service = quiet_service().await;
    let client = &service.client;
    let (body, path) = made(client).await;
    let mut wanted = body["webhook"].clone();
    for (change, absent) in [
        (json!({ "url": "https://other.example.com/" }), "disabledAt"),
        (json!({ "events": ["verification.failed"] }), "disabledAt"),
        (json!({ "description": "Ours" }), "disabledAt"),
        (json!({ "enabled": false }), "disabledReason"),
        (json!({}), "disabledReason"),
        (json!({ "description": "" }), "description"),
        (
            json!({ "enabled": true, "url": "https://a.example.com" }),
            "disabledAt",
        ),
    ] {
        let changed = patch(client, &path, &change).await;
        assert_eq!(changed.status, 200, "{}", changed.text);
        for (name, value) in change.as_object().unwrap() {
            wanted[name] = value.clone();
        }
        let members = wanted.as_object_mut().unwrap();
        members.insert("updatedAt".to_owned(), changed.body["updatedAt"].clone());
        if change["enabled"] == false {
            let at = changed.body["updatedAt"].clone();
            members.insert("disabledAt".to_owned(), at);
        }
        members.remove(absent);
        assert!(changed.body["updatedAt"].is_string());
        assert_eq!(changed.body, wanted, "{change}");
        assert_eq!(client.get(&path).await.body, wanted, "{change}");
    }
}

#[tokio::test]
async fn every_fault_of_a_webhook_is_reported_with_its_path() {
    let service = quiet_service().await;
    let client = &service.client;
    let (_, path) = made(client).await;
    let bad = json!({
        "url": "http://hooks.example.com", "description": 1, "enabled": "yes", "secret": "x",
        "events": ["run.started", "run.canceled", "webhook.test", "*", "run.started"],
    });
    let of_events = ["/events/1", "/events/2", "/events/3", "/events/4"];
    let wanted = [
        &["/description", "/enabled"][..],
        &of_events,
        &["/secret", "/url"],
    ]
    .concat();
    for answer in [
        client.post("/v1/webhooks", &bad).await,
        patch(client, &path, &bad).await,
    ] {
        assert_eq!(answer.fault_paths(), wanted, "{}", answer.text);
    }
    let none = client.post("/v1/webhooks", &json!({})).await;
    assert_eq!(
        none.faults(),
        [("/events", "is required"), ("/url", "is required")]
    );
    let mut too_many = json!(["run.created", "run.created"]);
    too_many
        .as_array_mut()
        .unwrap()
        .extend(vec![json!("run.failed"); 30]);
    for events in [json!([]), json!("run.failed"), too_many] {
        let bad = json!({ "events": events });
        assert_eq!(
            patch(client, &path, &bad).await.fault_paths(),
            ["/events"],
            "{bad}"
        );
    }
    for (length, status) in [(500, 200), (501, 400)] {
        let described = json!({ "description": "é".repeat(length) });
        assert_eq!(patch(client, &path, &described).await.status, status);
    }
    assert_eq!(client.get("/v1/webhooks").await.body["total"], 1);
}

#[tokio::test]
async fn only_https_urls_that_can_be_public_are_taken() {
    let service = quiet_service().await;
    let client = &service.client;
    let (_, path) = made(client).await;
    for url in [
        "http://hooks.example.com/",
        "https://user@hooks.example.com/",
        "https://hooks.example.com/#part",
        "https://169.254.169.254/latest/meta-data",
        "https://0xa9fea9fe/",
        "https://[fd00:ec2::254]/",
        "https://[::ffff:127.0.0.1]:9001/",
        "https://10.0.0.1/",
        "https://127.0.0.1/",
        "https://localhost:8443/",
        "https://metadata.google.internal/",
        "ftp://hooks.example.com/",
    ] {
        let mut body = webhook();
        body["url"] = json!(url);
        let refused = client.post("/v1/webhooks", &body).await;
        assert_eq!(refused.fault_paths(), ["/url"], "{url}");
        let refused = patch(client, &path, &json!({ "url": url })).await;
        assert_eq!(refused.fault_paths(), ["/url"], "{url}");
    }
    let settings = [("AWO_WEBHOOK_ALLOW_LOOPBACK", "1")];
    let local = TestService::start(0, &settings).await;
    for (url, status) in [
        ("https://127.0.0.1:8443/", 201),
        ("https://localhost:8443/", 201),
        ("http://127.0.0.1:8443/", 400),
        ("https://10.0.0.1/", 400),
    ] {
        let mut body = webhook();
        body["url"] = json!(url);
        let answer = local.client.post("/v1/webhooks", &body).await;
        assert_eq!(answer.status, status, "{url}: {}", answer.text);
    }
}

#[tokio::test]
async fn webhooks_are_listed_newest_first_by_cursors_that_outlive_what_they_name() {
    let service = quiet_service().await;
    let client = &service.client;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, id(&made(client).await.0["webhook"]));
    }
    let ids_of = |page: &Value| {
        let items = page["webhooks"].as_array().unwrap();
        items.iter().map(id).collect::<Vec<_>>()
    };
    let first = client.get("/v1/webhooks?limit=2").await.body;
    assert_eq!(
        (ids_of(&first), &first["total"]),
        (ids[..2].to_vec(), &json!(5))
    );
    let named = format!("/v1/webhooks/{}", ids[1]);
    assert_eq!(delete(client, &named).await.status, 204);
    let next = |page: &Value| {
        format!(
            "/v1/webhooks?limit=2&cursor={}",
            page["nextCursor"].as_str().unwrap()
        )
    };
    let second = client.get(&next(&first)).await.body;
    assert_eq!(
        (ids_of(&second), &second["total"]),
        (ids[2..4].to_vec(), &json!(4))
    );
    let last = client.get(&next(&second)).await.body;
    assert_eq!(ids_of(&last), ids[4..]);
    assert!(last.get("nextCursor").is_none());
    let by_offset = client.get("/v1/webhooks?limit=1&offset=3").await.body;
    assert_eq!(ids_of(&by_offset), ids[4..]);
    let behind = client.get("/v1/webhooks?offset=9").await.body;
    assert_eq!((ids_of(&behind), &behind["total"]), (Vec::new(), &json!(4)));
}

#[tokio::test]
async fn another_organizations_webhooks_do_not_exist_and_scopes_count() {
    let service = quiet_service().await;
    let (_, other) = service.another_org(0).await;
    let (body, path) = made(&service.client).await;
    for answer in [
        other.get(&path).await,
        patch(&other, &path, &json!({ "enabled": false })).await,
        other
            .post(&format!("{path}/rotate-secret"), &json!({}))
            .await,
        other.get(&format!("{path}/deliveries")).await,
        delete(&other, &path).await,
    ] {
        fails(&answer, 404, "WEBHOOK_NOT_FOUND");
    }
    assert_eq!(other.get("/v1/webhooks").await.body["total"], 0);
    assert_eq!(service.client.get(&path).await.body, body["webhook"]);
    let reader = service.key(&[Scope::WebhooksRead], None).await;
    assert_eq!(reader.get(&path).await.status, 200);
    assert_eq!(reader.get(&format!("{path}/deliveries")).await.status, 200);
    let writer = service.key(&[Scope::WebhooksWrite], None).await;
    for refused in [
        delete(&reader, &path).await,
        reader
            .post(&format!("{path}/rotate-secret"), &json!({}))
            .await,
        writer.get(&path).await,
        writer.get(&format!("{path}/deliveries")).await,
    ] {
        fails(&refused, 403, "FORBIDDEN");
    }
    assert_eq!(delete(&writer, &path).await.status, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_has_no_more_webhooks_than_its_limit_despite_rivals() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = webhook();
    let create = || client.post("/v1/webhooks", &body);
    let rivals = join_all((0..MOST + 8).map(|_| create())).await;
    let made = rivals.iter().filter(|answer| answer.status == 201);
    assert_eq!(made.count(), MOST);
    let refused = rivals.iter().filter(|answer| answer.status != 201);
    for answer in refused.chain([&create().await]) {
        fails(answer, 409, "CONFLICT");
        assert!(answer.text.contains("20 webhooks"), "{}", answer.text);
    }
    let list = client.get("/v1/webhooks?limit=100").await.body;
    assert_eq!(list["total"], json!(MOST));
    // Two who delete the same one make room for one.
    let path = format!("/v1/webhooks/{}", id(&list["webhooks"][7]));
    let deleted = join_all([delete(client, &path), delete(client, &path)]).await;
    let mut statuses: Vec<u16> = deleted.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 404]);
    let mut statuses: Vec<u16> = join_all((0..4).map(|_| create()))
        .await
        .iter()
        .map(|a| a.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
}
