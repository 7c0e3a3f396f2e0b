//! Verification plugins: registered, read, switched, deleted, and used by runs.

use awo_tests::client::{Answer, Client};
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::quiet_service;

pub const PLUGINS: &str = "/api/v1/verification/plugins";
const JSON: (&str, &str) = ("content-type", "application/json");

pub fn at(id: &str) -> String {
    format!("{PLUGINS}/{id}")
}

pub async fn register(client: &Client, body: &Value) -> Value {
    let made = client.post(PLUGINS, body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["data"].clone()
}

pub async fn switch(client: &Client, id: &str, what: &str) {
    let path = format!("{}/{what}", at(id));
    let answer = client.send("POST", &path, &[], Vec::new()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let wanted = json!({ "enabled": what == "enable" });
    assert_eq!(answer.body["data"], wanted, "{}", answer.text);
}

async fn delete(client: &Client, id: &str) -> Answer {
    client.send("DELETE", &at(id), &[], Vec::new()).await
}

fn fails(answer: &Answer, status: u16, code: &str) {
    let got = (answer.status, answer.body["error"]["code"].as_str());
    assert_eq!(got, (status, Some(code)), "{}", answer.text);
    assert_eq!(answer.body["success"], false);
}

fn ids(list: &Answer) -> Vec<&str> {
    let items = list.body["data"]["items"].as_array().unwrap();
    assert_eq!(list.body["data"]["total"], items.len());
    items
        .iter()
        .filter_map(|item| item["id"].as_str())
        .collect()
}

#[tokio::test]
async fn a_plugin_is_registered_read_switched_and_deleted() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = json!({
        "id": "custom:licence-headers", "name": "Licence headers", "description": "Every file",
        "level": "L0", "command": ["sh", "-c", "true"], "timeoutMs": 5000,
    });
    let made = register(client, &body).await;
    for (name, value) in body.as_object().unwrap() {
        assert_eq!(made[name], *value, "{name}");
    }
    assert_eq!(
        (&made["enabled"], &made["builtIn"]),
        (&json!(true), &json!(false))
    );
    assert!(made["createdAt"].is_string());
    let small = register(client, &json!({ "id": "custom:s", "command": ["true"] })).await;
    assert_eq!(
        (&small["name"], &small["level"], &small["timeoutMs"]),
        (&json!("s"), &json!("custom"), &json!(60_000))
    );
    fails(&client.post(PLUGINS, &body).await, 409, "CONFLICT");
    for path in [at("custom:licence-headers"), at("custom%3Alicence-headers")] {
        let read = client.get(&path).await;
        assert_eq!(
            (read.status, &read.body["data"]),
            (200, &made),
            "{}",
            read.text
        );
    }
    let built_in = ["contracts", "tests", "blackbox", "sanity"].map(|n| format!("built-in:{n}"));
    let mut wanted: Vec<&str> = built_in.iter().map(String::as_str).collect();
    wanted.extend(["custom:licence-headers", "custom:s"]);
    assert_eq!(ids(&client.get(PLUGINS).await), wanted);
    for id in ["custom:licence-headers", "built-in:tests"] {
        switch(client, id, "disable").await;
        switch(client, id, "disable").await;
        let read = client.get(&at(id)).await.body["data"].clone();
        assert_eq!(read["enabled"], false, "{id}");
        switch(client, id, "enable").await;
        assert_eq!(
            client.get(&at(id)).await.body["data"]["enabled"],
            true,
            "{id}"
        );
    }
    let gone = delete(client, "custom%3alicence-headers").await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    for answer in [
        delete(client, "custom:licence-headers").await,
        client.get(&at("custom:licence-headers")).await,
        client
            .post(
                &format!("{}/enable", at("custom:licence-headers")),
                &json!({}),
            )
            .await,
        client
            .post(&format!("{}/disable", at("built-in:nothing")), &json!({}))
            .await,
        client.get(&at("nonsense")).await,
    ] {
        fails(&answer, 404, "NOT_FOUND");
    }
    register(client, &body).await;
}

#[tokio::test]
async fn built_in_plugins_cannot_be_deleted_or_registered() {
    let service = quiet_service().await;
    for id in ["built-in:tests", "built-in%3Atests", "built-in:nothing"] {
        fails(&delete(&service.client, id).await, 403, "FORBIDDEN");
    }
    let taken = json!({ "id": "built-in:tests", "command": ["true"] });
    fails(&service.client.post(PLUGINS, &taken).await, 409, "CONFLICT");
    let read = service.client.get(&at("built-in:tests")).await.body;
    assert_eq!(read["data"]["builtIn"], true, "{read:#}");
    assert_eq!(read["data"]["level"], "L1");
}

#[tokio::test]
async fn every_fault_of_a_plugin_is_reported_and_an_organization_has_a_limit_of_them() {
    let service = quiet_service().await;
    let client = &service.client;
    let bad = json!({ "id": "mine", "command": [], "level": "L4", "timeoutMs": 1, "extra": 1 });
    let answer = client.post(PLUGINS, &bad).await;
    fails(&answer, 400, "BAD_REQUEST");
    for path in ["/command", "/extra", "/id", "/level", "/timeoutMs"] {
        assert!(answer.text.contains(path), "{path}: {}", answer.text);
    }
    let good = |n: usize| json!({ "id": format!("custom:p{n}"), "command": ["true"] });
    for bad in [
        json!({ "id": "custom:a" }),
        json!({ "id": "custom:a", "command": [""] }),
        json!({ "id": "custom:a", "command": ["x".repeat(9_000)] }),
        json!({ "id": "custom:a", "command": "true" }),
    ] {
        fails(&client.post(PLUGINS, &bad).await, 400, "BAD_REQUEST");
    }
    for n in 0..50 {
        register(client, &good(n)).await;
    }
    let one_more = client.post(PLUGINS, &good(50)).await;
    fails(&one_more, 409, "CONFLICT");
    assert!(one_more.text.contains("50"), "{}", one_more.text);
    assert_eq!(delete(client, "custom:p7").await.status, 204);
    register(client, &good(50)).await;
}

#[tokio::test]
async fn a_registration_is_replayed_by_its_key() {
    let service = quiet_service().await;
    let send = async |body: Value| {
        let headers = [JSON, ("idempotency-key", "k")];
        let bytes = body.to_string().into_bytes();
        service.client.send("POST", PLUGINS, &headers, bytes).await
    };
    let body = json!({ "id": "custom:a", "command": ["true"] });
    let first = send(body.clone()).await;
    let again = send(body).await;
    assert_eq!((first.status, again.status), (201, 201), "{}", again.text);
    assert_eq!(first.text, again.text);
    assert_eq!(again.header("idempotent-replayed"), "true");
    let other = send(json!({ "id": "custom:b", "command": ["true"] })).await;
    fails(&other, 422, "IDEMPOTENCY_MISMATCH");
}

#[tokio::test]
async fn plugins_of_another_organization_do_not_exist() {
    let service = quiet_service().await;
    let (_, stranger) = service.another_org(10).await;
    register(
        &service.client,
        &json!({ "id": "custom:a", "command": ["true"] }),
    )
    .await;
    switch(&service.client, "built-in:tests", "disable").await;
    assert_eq!(ids(&stranger.get(PLUGINS).await).len(), 4);
    let theirs = stranger.get(&at("built-in:tests")).await.body;
    assert_eq!(theirs["data"]["enabled"], true);
    register(
        &stranger,
        &json!({ "id": "custom:a", "command": ["false"] }),
    )
    .await;
    assert_eq!(delete(&stranger, "custom:a").await.status, 204);
    let ours = service.client.get(&at("custom:a")).await.body;
    assert_eq!(ours["data"]["command"], json!(["true"]));
}

fn order(repository: &Repository, script: &str, iterations: u32) -> Value {
    json!({
        "taskPrompt": "do it",
        "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
        "maxIterations": iterations,
    })
}

async fn run_of(service: &TestService, order: &Value) -> (Value, Vec<Value>) {
    let made = service.client.post("/v1/work-orders", order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let run = service.client.finished_run(&made.body).await;
    let path = format!(
        "/v1/runs/{}/events?limit=100",
        run["runId"].as_str().unwrap()
    );
    let events = service.client.get(&path).await.body;
    let verified = events["events"].as_array().unwrap().iter();
    let verified = verified.filter(|e| {
        let kind = e["type"].as_str().unwrap();
        kind == "verification.passed" || kind == "verification.failed"
    });
    (run, verified.map(|e| e["data"].clone()).collect())
}

fn by_plugin<'a>(verified: &'a Value, id: &str) -> &'a Value {
    let results = verified["results"].as_array().unwrap();
    let found = results.iter().find(|result| result["pluginId"] == id);
    found.unwrap_or(&Value::Null)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_custom_plugin_fails_an_iteration_and_its_feedback_reaches_the_agent() {
    let service = TestService::start(1_000_000, &[]).await;
    let script =
        "test -e signed || { echo 'sign it off' >&2; exit 3; }; grep -q 'do it' $AWO_PROMPT";
    let plugin =
        json!({ "id": "custom:signed", "name": "Signed off", "command": ["sh", "-c", script] });
    register(&service.client, &plugin).await;
    let off = json!({ "id": "custom:off", "command": ["false"], "enabled": false });
    register(&service.client, &off).await;
    let early = json!({ "id": "custom:early", "level": "L1", "command": ["true"] });
    register(&service.client, &early).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@echo '1 passed in 0.1s'\n")]);
    let agent = "if grep -q 'sign it off' $AWO_PROMPT; then echo x > signed; else echo x > a; fi";
    let (run, verified) = run_of(&service, &order(&repository, agent, 3)).await;
    assert_eq!(
        (&run["status"], &run["iteration"]),
        (&json!("succeeded"), &json!(2)),
        "{run:#}"
    );
    let first = by_plugin(&verified[0], "custom:signed");
    assert_eq!(
        (&first["status"], &first["level"]),
        (&json!("failed"), &json!("custom"))
    );
    let order: Vec<_> = (verified[1]["results"].as_array().unwrap().iter())
        .map(|result| {
            (
                result["pluginId"].as_str().unwrap(),
                result["status"].as_str().unwrap(),
            )
        })
        .collect();
    let wanted = [
        ("built-in:contracts", "skipped"),
        ("built-in:tests", "passed"),
        ("custom:early", "passed"),
        ("built-in:blackbox", "skipped"),
        ("built-in:sanity", "passed"),
        ("custom:signed", "passed"),
    ];
    assert_eq!(order, wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disabled_plugin_does_not_run_in_a_run_and_a_level_that_fails_stops_the_higher_ones() {
    let service = TestService::start(1_000_000, &[]).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@false\n")]);
    let contract = json!({ "id": "custom:low", "level": "L0", "command": ["false"] });
    register(&service.client, &contract).await;
    register(
        &service.client,
        &json!({ "id": "custom:last", "command": ["true"] }),
    )
    .await;
    let order = order(&repository, "echo x > x", 1);
    let (run, verified) = run_of(&service, &order).await;
    assert_eq!(run["error"]["code"], "MAX_ITERATIONS_REACHED", "{run:#}");
    assert_eq!(by_plugin(&verified[0], "custom:low")["status"], "failed");
    // Tests are run all the same.
    let tests = by_plugin(&verified[0], "built-in:tests");
    assert_eq!(tests["status"], "failed");
    assert_eq!(by_plugin(&verified[0], "custom:last")["status"], "skipped");
    switch(&service.client, "custom:low", "disable").await;
    let (run, verified) = run_of(&service, &order).await;
    assert_eq!(run["status"], "failed", "{run:#}");
    assert_eq!(
        by_plugin(&verified[0], "built-in:tests")["status"],
        "failed"
    );
    switch(&service.client, "built-in:tests", "disable").await;
    let (run, verified) = run_of(&service, &order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert!(
        by_plugin(&verified[0], "built-in:tests").is_null(),
        "{verified:#?}"
    );
    assert_eq!(by_plugin(&verified[0], "custom:last")["status"], "passed");
}
