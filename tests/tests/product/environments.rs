//! Environments: the resource, and what names one. What runs see of it stands in
//! [`runs`], what their tasks are made of in [`containers`], and what a verification that a client
//! requests sees of it in [`verifications`]. [`egress`] has the hosts that commands reach, [`crashes`] has the crash points of their definitions.

mod containers;
mod crashes;
mod egress;
mod inheritance;
mod runs;
mod secrets;
mod steps;
mod verifications;

use awo_tests::client::Client;
use awo_tests::service::TestService;
use serde_json::{Value, json};

async fn service() -> TestService {
    TestService::start(1_000_000, &[]).await
}

async fn make(client: &Client, environment: &Value) {
    let made = client.post("/v1/environments", environment).await;
    assert_eq!(made.status, 201, "{}", made.text);
}

async fn put(client: &Client, path: &str, body: &Value) -> awo_tests::client::Answer {
    let json = [("content-type", "application/json")];
    client
        .send("PUT", path, &json, body.to_string().into_bytes())
        .await
}

async fn delete(client: &Client, path: &str) -> awo_tests::client::Answer {
    client.send("DELETE", path, &[], Vec::new()).await
}

/// The paths of a 400.
fn wrong(answer: &awo_tests::client::Answer) -> Vec<String> {
    assert_eq!(answer.status, 400, "{}", answer.text);
    let errors = answer.body["error"]["details"]["errors"]
        .as_array()
        .unwrap();
    let paths = errors.iter().map(|e| e["path"].as_str().unwrap());
    paths.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_is_made_shown_listed_replaced_and_deleted() {
    let service = service().await;
    let client = &service.client;
    let whole = json!({
        "name": "node", "description": "d", "variables": { "CI": "1" },
        "secrets": [{ "name": "TOKEN", "phases": ["setup", "verify"] }],
        "setup": [{ "name": "deps", "run": "npm ci", "timeoutMs": 1000 }],
        "caches": ["node_modules"],
        "registries": [{ "kind": "npm", "url": "https://npm.example.com/", "secret": "NPM" }],
        "size": "small",
    });
    let made = client.post("/v1/environments", &whole).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut shown = whole.clone();
    shown["secrets"][0]["set"] = json!(false);
    for (name, value) in shown.as_object().unwrap() {
        assert_eq!(&made.body[name], value);
    }
    assert_eq!(made.body["egress"], json!([]));
    let got = client.get("/v1/environments/node").await;
    assert_eq!((got.status, &got.body), (200, &made.body));
    let again = client.post("/v1/environments", &whole).await;
    assert_eq!(again.status, 409, "{}", again.text);
    let with_key = [
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
    ];
    for (name, status) in [("python", 201), ("python", 201), ("other", 422)] {
        let body = json!({ "name": name }).to_string().into_bytes();
        let made = client.send("POST", "/v1/environments", &with_key, body);
        let made = made.await;
        assert_eq!(made.status, status, "{}", made.text);
    }
    let first = client.get("/v1/environments?limit=1").await.body;
    assert_eq!(
        (&first["total"], &first["environments"][0]["name"]),
        (&json!(2), &json!("python"))
    );
    let next = format!(
        "/v1/environments?cursor={}",
        first["nextCursor"].as_str().unwrap()
    );
    let second = client.get(&next).await.body;
    assert_eq!(second["environments"][0]["name"], "node");
    let replaced = put(client, "/v1/environments/node", &json!({ "size": "large" })).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text);
    assert_eq!(
        (&replaced.body["size"], &replaced.body["secrets"]),
        (&json!("large"), &json!([]))
    );
    assert!(replaced.body["updatedAt"].is_string());
    assert_eq!(delete(client, "/v1/environments/node").await.status, 204);
    let gone = client.get("/v1/environments/node").await;
    assert_eq!(
        (gone.status, &gone.body["error"]["code"]),
        (404, &json!("ENVIRONMENT_NOT_FOUND"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_environment_cannot_be_is_400_with_every_path() {
    let service = service().await;
    let client = &service.client;
    let bad = json!({
        "name": "a b", "variables": { "LD_PRELOAD": "x" },
        "secrets": [{ "name": "T", "phases": ["build"] }],
        "setup": [{ "name": "x", "run": "", "timeoutMs": 1 }],
        "caches": ["/etc"], "size": "huge", "nonsense": 1,
    });
    let paths = wrong(&client.post("/v1/environments", &bad).await);
    for path in [
        "/name",
        "/variables/LD_PRELOAD",
        "/secrets/0/phases/0",
        "/setup/0/run",
        "/setup/0/timeoutMs",
        "/caches/0",
        "/size",
        "/nonsense",
    ] {
        assert!(paths.contains(&path.to_owned()), "{path} {paths:?}");
    }
    // What this deployment cannot give is reported, not ignored.
    let digest = "0".repeat(64);
    let image = json!({
        "name": "a", "image": format!("a@sha256:{digest}"), "egress": ["example.com"],
        "services": [{ "name": "db", "image": "postgres:16", "port": 5432 }],
    });
    let refused = client.post("/v1/environments", &image).await;
    assert_eq!(wrong(&refused), ["/egress", "/image", "/services"]);
    assert!(
        refused.text.contains("container engine"),
        "{}",
        refused.text
    );
    assert_eq!(client.get("/v1/environments").await.body["total"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_has_at_most_fifty_environments() {
    let service = service().await;
    for number in 0..50 {
        make(&service.client, &json!({ "name": format!("e{number}") })).await;
    }
    let more = json!({ "name": "one-more" });
    let refused = service.client.post("/v1/environments", &more).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let listed = service.client.get("/v1/environments?limit=100").await.body;
    assert_eq!(listed["environments"].as_array().unwrap().len(), 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_that_a_profile_or_a_template_names_is_there_and_stays() {
    let service = service().await;
    let client = &service.client;
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    let template = json!({ "id": "t", "name": "T", "source": source, "environment": "e" });
    let profile = json!({ "name": "p", "environment": "e" });
    for (path, body) in [("/v1/templates", &template), ("/api/v1/profiles", &profile)] {
        let refused = client.post(path, body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains("/environment"), "{}", refused.text);
    }
    make(client, &json!({ "name": "e" })).await;
    for (path, body) in [("/v1/templates", &template), ("/api/v1/profiles", &profile)] {
        let made = client.post(path, body).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let resolved = client.get("/api/v1/profiles/p?resolve=true").await.body;
    assert_eq!(resolved["data"]["environment"], "e");
    let refused = delete(client, "/v1/environments/e").await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    for named in ["profile p", "template t"] {
        assert!(refused.text.contains(named), "{}", refused.text);
    }
    let other = json!({ "environment": "nobody" });
    for path in ["/v1/templates/t", "/api/v1/profiles/p"] {
        assert_eq!(put(client, path, &other).await.status, 400);
    }
    let null = json!({ "environment": null });
    assert_eq!(put(client, "/v1/templates/t", &null).await.status, 200);
    assert_eq!(delete(client, "/v1/environments/e").await.status, 409);
    assert_eq!(
        put(client, "/api/v1/profiles/p", &json!({})).await.status,
        200
    );
    assert_eq!(delete(client, "/v1/environments/e").await.status, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_orders_environment_counts_before_its_templates_and_its_profiles() {
    let service = service().await;
    let client = &service.client;
    for name in ["of-order", "of-template", "of-profile"] {
        make(client, &json!({ "name": name })).await;
    }
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    for (path, body) in [
        (
            "/v1/templates",
            json!({ "id": "t", "name": "T", "source": source, "environment": "of-template" }),
        ),
        (
            "/v1/templates",
            json!({ "id": "plain", "name": "T", "source": source }),
        ),
        (
            "/api/v1/profiles",
            json!({ "name": "p", "environment": "of-profile" }),
        ),
    ] {
        assert_eq!(client.post(path, &body).await.status, 201);
    }
    let from = |template: &str| json!({ "type": "template", "templateId": template });
    let cases = [
        (
            json!({ "environment": "of-order", "harness": "p" }),
            "t",
            Some("of-order"),
        ),
        (json!({ "harness": "p" }), "t", Some("of-template")),
        (json!({ "harness": "p" }), "plain", Some("of-profile")),
        (json!({}), "plain", None),
    ];
    for (more, template, wanted) in cases {
        let mut body = json!({ "taskPrompt": "x", "workspaceSource": from(template) });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let made = client.post("/v1/work-orders", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(made.body["environment"].as_str(), wanted, "{more}");
    }
    let unknown =
        json!({ "taskPrompt": "x", "workspaceSource": from("plain"), "environment": "x" });
    let refused = client.post("/v1/work-orders", &unknown).await;
    assert_eq!(wrong(&refused), ["/environment"]);
    let (_, other) = service.another_org(1_000).await;
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    let theirs = json!({ "taskPrompt": "x", "workspaceSource": source, "environment": "of-order" });
    assert_eq!(
        wrong(&other.post("/v1/work-orders", &theirs).await),
        ["/environment"]
    );
}
