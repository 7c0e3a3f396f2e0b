//! Profiles: created, read, resolved, validated, replaced, deleted, and named by work orders.

use awo_domain::api_key::Scope;
use awo_tests::client::{Answer, Client};
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

pub const JSON: (&str, &str) = ("content-type", "application/json");
pub const PROFILES: &str = "/api/v1/profiles";

pub fn path(name: &str) -> String {
    format!("{PROFILES}/{name}")
}

pub async fn put(client: &Client, name: &str, body: &Value) -> Answer {
    let bytes = body.to_string().into_bytes();
    client.send("PUT", &path(name), &[JSON], bytes).await
}

pub async fn delete(client: &Client, name: &str) -> Answer {
    client.send("DELETE", &path(name), &[], Vec::new()).await
}

pub async fn validate(client: &Client, name: &str, body: Option<&Value>) -> Answer {
    let bytes = body.map(|body| body.to_string().into_bytes());
    let path = format!("{}/validate", path(name));
    let sent = client.send("POST", &path, &[JSON], bytes.unwrap_or_default());
    sent.await
}

pub async fn make(client: &Client, body: &Value) -> Value {
    let made = client.post(PROFILES, body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["data"].clone()
}

pub fn fails(answer: &Answer, status: u16, code: &str) {
    let got = (answer.status, answer.body["error"]["code"].as_str());
    assert_eq!(got, (status, Some(code)), "{}", answer.text);
}

pub fn bad(answer: &Answer, paths: &[&str]) {
    fails(answer, 400, "BAD_REQUEST");
    let message = answer.body["error"]["message"].as_str().unwrap();
    let mut rest = message;
    for path in paths {
        let at = rest.find(&format!("{path} "));
        let at = at.unwrap_or_else(|| panic!("{path} is not in its place in: {message}"));
        rest = &rest[at + path.len()..];
    }
}

pub async fn resolved(client: &Client, name: &str) -> Value {
    let read = client.get(&format!("{}?resolve=true", path(name))).await;
    assert_eq!(read.status, 200, "{}", read.text);
    read.body["data"].clone()
}

#[tokio::test]
async fn a_profile_is_made_read_replaced_and_deleted() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = json!({
        "name": "Ours-1", "description": "What we like", "extends": "rapid-iteration",
        "loopStrategy": { "type": "ralph", "minIterations": 2, "convergenceThreshold": 0.9, "completionSignals": ["DONE"] },
        "verification": { "levels": ["L0", "L1"], "retryFlaky": 3, "pluginIds": ["custom:x"] },
        "gitOps": { "mode": "local", "branchPrefix": "team/", "reviewers": ["a"], "draft": true },
        "executionLimits": { "maxIterations": 7, "maxCredits": 12.5 },
    });
    let made = make(client, &body).await;
    let mut wanted = json!({
        "name": "Ours-1", "description": "What we like", "extends": "rapid-iteration",
        "isBuiltIn": false, "message": made["message"],
    });
    assert!(made["message"].is_string());
    assert_eq!(made, wanted);
    let read = client.get(&path("Ours-1")).await.body["data"].clone();
    for (name, value) in body.as_object().unwrap() {
        assert_eq!(read[name], *value, "{name}");
    }
    assert!(read["createdAt"].is_string() && read.get("updatedAt").is_none());
    let whole = resolved(client, "Ours-1").await;
    assert_eq!(whole["loopStrategy"]["baseIterations"], 2, "of its parent");
    assert_eq!(whole["verification"]["skipLevels"], json!(["L2", "L3"]));
    assert_eq!(whole["executionLimits"]["maxDurationMs"], 900_000);
    assert_eq!(whole["loopStrategy"]["windowSize"], 3, "of default");
    assert_eq!(whole["gitOps"]["branchPrefix"], "team/");
    assert_eq!(whole["configHash"].as_str().unwrap().len(), 64);
    fails(&client.post(PROFILES, &body).await, 409, "CONFLICT");

    let replaced = put(
        client,
        "Ours-1",
        &json!({ "extends": null, "gitOps": { "draft": false } }),
    )
    .await;
    assert_eq!(replaced.status, 200, "{}", replaced.text);
    let now = client.get(&path("Ours-1")).await.body["data"].clone();
    assert_eq!(now, replaced.body["data"]);
    assert!(now.get("loopStrategy").is_none() && now["updatedAt"].is_string());
    assert_eq!(
        (&now["extends"], &now["description"]),
        (&Value::Null, &json!(""))
    );
    assert_eq!(now["createdAt"], read["createdAt"]);
    assert_eq!(
        resolved(client, "Ours-1").await["loopStrategy"]["baseIterations"],
        3
    );
    let renamed = put(client, "Ours-1", &json!({ "name": "other" })).await;
    bad(&renamed, &["/name"]);

    wanted = json!({ "name": "Ours-1", "description": "", "extends": null, "isBuiltIn": false });
    let listed = client.get(PROFILES).await.body["data"].clone();
    assert_eq!(
        (&listed["total"], &listed["items"][0]),
        (&json!(5), &wanted)
    );
    let gone = delete(client, "Ours-1").await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    for answer in [
        delete(client, "Ours-1").await,
        client.get(&path("Ours-1")).await,
        client.get(&path("no%20name")).await,
        put(client, "Ours-1", &json!({})).await,
        validate(client, "Ours-1", None).await,
    ] {
        fails(&answer, 404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn built_in_profiles_are_there_and_never_change() {
    let service = quiet_service().await;
    let client = &service.client;
    let listed = client.get(PROFILES).await.body["data"].clone();
    let names: Vec<&str> = (listed["items"].as_array().unwrap().iter())
        .map(|item| {
            assert_eq!(item["isBuiltIn"], true);
            item["name"].as_str().unwrap()
        })
        .collect();
    assert_eq!(
        names,
        ["default", "ci-focused", "rapid-iteration", "ralph-style"]
    );
    for name in names {
        for answer in [
            put(client, name, &json!({})).await,
            delete(client, name).await,
            validate(client, name, Some(&json!({}))).await,
        ] {
            fails(&answer, 403, "FORBIDDEN");
        }
        let taken = client.post(PROFILES, &json!({ "name": name })).await;
        fails(&taken, 409, "CONFLICT");
        let read = client.get(&path(name)).await.body["data"].clone();
        let groups = ["loopStrategy", "verification", "gitOps", "executionLimits"];
        assert!(groups.iter().all(|group| read[group].is_object()), "{read}");
        let valid = validate(client, name, None).await.body["data"].clone();
        assert_eq!(
            (&valid["valid"], &valid["errors"]),
            (&json!(true), &json!([]))
        );
    }
    let ci = resolved(client, "ci-focused").await;
    assert_eq!(ci["gitOps"]["mode"], "pull_request");
    assert_eq!(ci["gitOps"]["branchPrefix"], "awo/");
    let warned = validate(client, "ci-focused", None).await.body["data"]["warnings"].clone();
    assert_eq!(warned, json!([]));
}

#[tokio::test]
async fn every_fault_of_a_profile_is_reported_with_its_path() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = json!({
        "name": "no name", "description": 1, "more": 1,
        "loopStrategy": { "type": "magic", "baseIterations": 0, "convergenceThreshold": 1.5, "windowSize": 1,
            "completionSignals": ["a\nb"], "params": { "a b": 1 }, "unknown": 1 },
        "verification": { "levels": ["L9"], "pluginIds": ["unit tests"], "timeoutMs": 1, "retryFlaky": 4 },
        "gitOps": { "mode": "fax", "branchPrefix": "a..", "targetBranch": "-x", "draft": "yes" },
        "executionLimits": { "maxIterations": 101, "maxCredits": 0, "maxMemoryMb": 1.5, "maxTotalTokens": null },
    });
    let reported = [
        "/description",
        "/executionLimits/maxCredits",
        "/executionLimits/maxIterations",
        "/executionLimits/maxMemoryMb",
        "/executionLimits/maxTotalTokens",
        "/gitOps/branchPrefix",
        "/gitOps/draft",
        "/gitOps/mode",
        "/gitOps/targetBranch",
        "/loopStrategy/baseIterations",
        "/loopStrategy/completionSignals/0",
        "/loopStrategy/convergenceThreshold",
        "/loopStrategy/params",
        "/loopStrategy/type",
        "/loopStrategy/unknown",
        "/loopStrategy/windowSize",
        "/more",
        "/name",
        "/verification/levels/0",
        "/verification/pluginIds/0",
        "/verification/retryFlaky",
        "/verification/timeoutMs",
    ];
    bad(&client.post(PROFILES, &body).await, &reported);
    let custom = json!({ "name": "c", "loopStrategy": { "type": "custom" } });
    bad(
        &client.post(PROFILES, &custom).await,
        &["/loopStrategy/name"],
    );
    let orphan = json!({ "name": "o", "extends": "nobody" });
    bad(&client.post(PROFILES, &orphan).await, &["/extends"]);
    let large = json!({ "name": "l", "loopStrategy": { "params": { "a": "x".repeat(3_000) } } });
    bad(
        &client.post(PROFILES, &large).await,
        &["/loopStrategy/params"],
    );
    for broken in ["[]", "{", "{\"name\":\"a\",\"name\":\"b\"}"] {
        let sent = client.send("POST", PROFILES, &[JSON], broken.into()).await;
        fails(&sent, 400, "BAD_REQUEST");
    }
    assert_eq!(client.get(PROFILES).await.body["data"]["total"], 4);
    let query = client
        .get(&format!("{}?resolve=maybe", path("default")))
        .await;
    bad(&query, &["resolve"]);
}

#[tokio::test]
async fn another_organizations_profiles_do_not_exist_and_scopes_count() {
    let service = quiet_service().await;
    let (_, other) = service.another_org(1_000).await;
    make(&service.client, &json!({ "name": "ours" })).await;
    for answer in [
        other.get(&path("ours")).await,
        put(&other, "ours", &json!({})).await,
        delete(&other, "ours").await,
        validate(&other, "ours", None).await,
    ] {
        fails(&answer, 404, "NOT_FOUND");
    }
    let child = json!({ "name": "theirs", "extends": "ours" });
    bad(&other.post(PROFILES, &child).await, &["/extends"]);
    let mut body = order();
    body["harness"] = json!("ours");
    let refused = other.post("/v1/work-orders", &body).await;
    assert_eq!(
        refused.body["error"]["details"]["errors"][0]["path"],
        "/harness"
    );
    assert_eq!(other.get(PROFILES).await.body["data"]["total"], 4);
    let reader = service.key(&[Scope::ProfilesRead], None).await;
    assert_eq!(validate(&reader, "ours", None).await.status, 200);
    fails(&delete(&reader, "ours").await, 403, "FORBIDDEN");
}

#[tokio::test]
async fn a_work_order_goes_by_the_profile_that_it_names() {
    let service = quiet_service().await;
    let client = &service.client;
    let body = json!({
        "name": "ours", "loopStrategy": { "type": "fixed", "baseIterations": 8 },
        "executionLimits": { "maxIterations": 6, "maxCredits": 7 },
    });
    make(client, &body).await;
    let custom = json!({ "name": "strange", "loopStrategy": { "type": "custom", "name": "s" } });
    make(client, &custom).await;
    let create = |harness: &'static str, more: Value| async move {
        let mut body = order();
        body["harness"] = json!(harness);
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        client.post("/v1/work-orders", &body).await
    };
    for (harness, more, iterations) in [
        ("ours", json!({}), 6),
        ("ours", json!({ "maxIterations": 2 }), 2),
        ("ours", json!({ "maxIterations": 50 }), 6),
        ("ralph-style", json!({}), 15),
        ("rapid-iteration", json!({}), 2),
        ("ci-focused", json!({}), 8),
        ("default", json!({}), 5),
    ] {
        let reserved = client.get("/v1/credits").await.body["reserved"]
            .as_f64()
            .unwrap();
        let made = create(harness, more.clone()).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(
            (&made.body["harness"], &made.body["maxIterations"]),
            (&json!(harness), &json!(iterations)),
            "{more}"
        );
        let now = client.get("/v1/credits").await.body["reserved"]
            .as_f64()
            .unwrap();
        let hold = if harness == "ours" { 7.0 } else { 1_000.0 };
        assert!((now - reserved - hold).abs() < 1e-6, "{reserved} {now}");
    }
    for harness in ["nobody", "strange", "no name"] {
        let refused = create(harness, json!({})).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        let fault = &refused.body["error"]["details"]["errors"][0];
        assert_eq!(fault["path"], "/harness", "{fault}");
        let says_why = fault["message"].as_str().unwrap().contains("custom");
        assert_eq!(says_why, harness == "strange", "{fault}");
    }
}
