//! Triggers as an organization writes them, and the evaluation of a payload.

use serde_json::{Value, json};

use super::{Stage, with};
use crate::inboxes::made;
use crate::schedules::bodies::with_named_resources;

fn paths(body: &Value) -> Vec<&str> {
    let errors = body["error"]["details"]["errors"].as_array().unwrap();
    errors
        .iter()
        .map(|fault| fault["path"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_trigger_is_created_read_replaced_and_deleted() {
    let stage = Stage::new().await;
    let client = &stage.service.client;
    let trigger = stage.trigger(&stage.label(&json!({}))).await;
    let usual = json!({
        "action": "create", "settleSeconds": 0, "enabled": true, "consecutiveRefusals": 0,
        "limits": { "perSubject": 20, "perHour": 20 }, "who": { "permission": "write" },
    });
    for (name, value) in usual.as_object().unwrap() {
        assert_eq!(&trigger[name], value, "{name}");
    }
    let path = format!("/v1/triggers/{}", trigger["id"].as_str().unwrap());
    assert_eq!(client.get(&path).await.body, trigger);
    let body = stage.label(&json!({ "events": ["check.failed"], "filter": {} }));
    let json = [("content-type", "application/json")];
    let put = client.send("PUT", &path, &json, body.to_string().into_bytes());
    let put = put.await;
    assert_eq!(put.status, 200, "{}", put.text);
    let limits = json!({ "perSubject": 3, "perHour": 20 });
    assert_eq!(
        (&put.body["limits"], &put.body["settleSeconds"]),
        (&limits, &json!(60))
    );
    let listed = client.get("/v1/triggers").await.body;
    assert_eq!(listed["triggers"], json!([put.body]));
    let deleted = client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(deleted.status, 204, "{}", deleted.text);
    let missing = client.get(&path).await;
    assert_eq!(missing.body["error"]["code"], "TRIGGER_NOT_FOUND");
}

#[tokio::test]
async fn a_triggers_work_order_may_name_a_template_a_profile_and_an_environment() {
    let stage = Stage::new().await;
    let client = &stage.service.client;
    let inbox = json!({ "name": "Ours", "kind": "standard" });
    let inbox = made(&stage.service, &inbox).await;
    let body = json!({
        "name": "Named", "inboxId": inbox.id, "events": ["received"], "action": "create",
        "workOrder": with_named_resources(&stage.service).await,
    });
    let trigger = stage.trigger(&body).await;
    assert_eq!(trigger["workOrder"], body["workOrder"]);
    let path = format!("/v1/triggers/{}", trigger["id"].as_str().unwrap());
    let json = [("content-type", "application/json")];
    let put = client.send("PUT", &path, &json, body.to_string().into_bytes());
    let put = put.await;
    assert_eq!(put.status, 200, "{}", put.text);
}

#[tokio::test]
async fn every_fault_of_a_trigger_and_its_work_order_is_named_at_once() {
    let stage = Stage::new().await;
    let body = json!({
        "name": "", "inboxId": stage.inbox.id, "events": ["received", "issue.opened"],
        "repositories": ["no host"], "who": { "permission": "anyone" }, "action": "create",
        "onForeign": "adopt", "settleSeconds": 601, "limits": { "perHour": 0 }, "colour": 1,
        "workOrder": {
            "taskPrompt": "{{secret}}", "workspaceSource": { "type": "git" }, "parentId": "wo_1",
            "metadata": { "a": "{{issue" }, "harness": "nobody",
        },
    });
    let refused = stage.service.client.post("/v1/triggers", &body).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let expected = [
        "/colour",
        "/events/0",
        "/limits/perHour",
        "/name",
        "/onForeign",
        "/repositories/0",
        "/settleSeconds",
        "/who/permission",
        "/workOrder/harness",
        "/workOrder/metadata/a",
        "/workOrder/parentId",
        "/workOrder/taskPrompt",
        "/workOrder/workspaceSource",
    ];
    assert_eq!(paths(&refused.body), expected, "{}", refused.text);
    let sender = json!({ "name": "Ticks", "kind": "standard" });
    let sender = made(&stage.service, &sender).await;
    let own = json!({ "inboxId": sender.id, "events": ["received"] });
    for (changes, path) in [
        (
            json!({ "inboxId": "inb_01k00000000000000000000000" }),
            "/inboxId",
        ),
        (
            json!({ "action": "follow_up", "workOrder": { "taskPrompt": "p", "resultBranch": "b" } }),
            "/workOrder/resultBranch",
        ),
        (
            json!({ "action": "verify", "workOrder": { "taskPrompt": "p" } }),
            "/workOrder/taskPrompt",
        ),
        (
            json!({ "filter": { "match": [{ "pointer": "/a" }] } }),
            "/filter/match/0/pointer",
        ),
        (
            json!({ "filter": { "mention": "two words" } }),
            "/filter/mention",
        ),
        (own.clone(), "/repositories"),
    ] {
        let refused = stage
            .service
            .client
            .post("/v1/triggers", &stage.label(&changes))
            .await;
        assert_eq!(refused.status, 400, "{changes}: {}", refused.text);
        assert!(
            paths(&refused.body).contains(&path),
            "{changes}: {}",
            refused.text
        );
    }
}

#[tokio::test]
async fn an_organization_has_a_hundred_triggers_and_a_repeated_create_makes_one() {
    let stage = Stage::new().await;
    let client = &stage.service.client;
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "once"),
    ];
    let create = |body: &Value| {
        let body = body.to_string().into_bytes();
        client.send("POST", "/v1/triggers", &headers, body)
    };
    let body = stage.label(&json!({}));
    let (first, again) = (create(&body).await, create(&body).await);
    assert_eq!((again.status, &again.body), (201, &first.body));
    let reused = create(&stage.label(&json!({ "name": "Other" }))).await;
    assert_eq!(reused.status, 422, "{}", reused.text);
    for _ in 1..100 {
        stage.trigger(&body).await;
    }
    let full = client.post("/v1/triggers", &body).await;
    assert_eq!(full.status, 409, "{}", full.text);
}

#[tokio::test]
async fn an_evaluation_says_what_would_happen_and_writes_nothing() {
    let stage = Stage::new().await;
    let trigger = stage.trigger(&stage.label(&json!({}))).await;
    let path = format!("/v1/triggers/{}/evaluate", trigger["id"].as_str().unwrap());
    let evaluate = async |event: &str, payload: Value| {
        let body = json!({ "event": event, "payload": payload });
        let judged = stage.service.client.post(&path, &body).await;
        assert_eq!(judged.status, 200, "{}", judged.text);
        judged.body
    };
    let judged = evaluate("issues", stage.labeled(7)).await;
    let shown = json!({
        "result": "created", "permission": "not_asked", "events": ["issue.labeled"],
        "subject": "acme/app#7", "actor": "ann",
    });
    for (name, value) in shown.as_object().unwrap() {
        assert_eq!(&judged[name], value, "{name}");
    }
    let prompt = judged["workOrder"]["taskPrompt"].as_str().unwrap();
    assert!(prompt.contains("| Wrong total\n"), "{prompt}");
    let source = json!({ "type": "git", "repository": stage.url });
    assert_eq!(judged["workOrder"]["workspaceSource"], source);
    let unlabeled = with(stage.labeled(7), &[("/issue/labels", json!([]))]);
    let foreign = with(
        stage.labeled(7),
        &[(
            "/repository/clone_url",
            json!("https://evil.example/a/b.git"),
        )],
    );
    for (event, payload, reason) in [
        ("issues", unlabeled, "filter:labels"),
        ("push", stage.labeled(7), "event"),
        ("issues", foreign, "event"),
        ("issues", json!({}), "event"),
    ] {
        let judged = evaluate(event, payload).await;
        assert_eq!(
            (&judged["result"], &judged["reason"]),
            (&json!("ignored"), &json!(reason))
        );
    }
    assert!(stage.orders(&trigger).await.is_empty());
    assert!(stage.host.github.calls().is_empty());
}
