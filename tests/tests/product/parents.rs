//! Work orders that are parts of others.

use awo_tests::client::{Answer, Client};
use awo_tests::driven::DrivenRun;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

const CHILDREN: usize = 20;

async fn create(client: &Client, parent: &str) -> Answer {
    let mut body = order();
    body["parentId"] = json!(parent);
    client.post("/v1/work-orders", &body).await
}

async fn child(client: &Client, parent: &Value) -> Value {
    let made = create(client, parent["id"].as_str().unwrap()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.body["parentId"], parent["id"]);
    made.body
}

async fn root(service: &TestService) -> Value {
    let made = service.client.post("/v1/work-orders", &order()).await;
    assert!(made.body.get("parentId").is_none(), "{}", made.text);
    made.body
}

/// What the refusal says of the parent, and of nothing else.
fn refused(answer: &Answer) -> String {
    assert_eq!(answer.status, 400, "{}", answer.text);
    assert_eq!(answer.body["error"]["code"], "BAD_REQUEST");
    let errors = answer.body["error"]["details"]["errors"]
        .as_array()
        .unwrap();
    assert_eq!(
        (errors.len(), &errors[0]["path"]),
        (1, &json!("/parentId")),
        "{}",
        answer.text
    );
    errors[0]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_parent_is_a_work_order_of_ones_own_that_is_not_over() {
    let service = quiet_service().await;
    let parent = root(&service).await;
    let (_, stranger) = service.another_org(100).await;
    let theirs = create(&stranger, parent["id"].as_str().unwrap()).await;
    let unknown = create(&service.client, "wo_01k00000000000000000000000").await;
    assert_eq!(refused(&theirs), refused(&unknown));
    refused(&create(&service.client, "nonsense").await);
    child(&service.client, &parent).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    let of_running = child(&service.client, &parent).await;
    run.iterate(1).await;
    run.fail().await;
    let late = create(&service.client, parent["id"].as_str().unwrap()).await;
    assert!(refused(&late).contains("failed"), "{}", late.text);
    let path = format!("/v1/work-orders/{}", of_running["id"].as_str().unwrap());
    let shown = service.client.get(&path);
    assert_eq!(shown.await.body, of_running);
}

#[tokio::test]
async fn children_go_three_deep() {
    let service = quiet_service().await;
    let mut deepest = root(&service).await;
    for _ in 0..3 {
        deepest = child(&service.client, &deepest).await;
    }
    let deeper = create(&service.client, deepest["id"].as_str().unwrap()).await;
    assert!(refused(&deeper).contains("depth 3"), "{}", deeper.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_has_twenty_children_and_no_more_however_many_come_at_once() {
    let service = quiet_service().await;
    let parent = root(&service).await;
    let tries = (0..CHILDREN + 6).map(|_| {
        let (client, id) = (
            service.client.clone(),
            parent["id"].as_str().unwrap().to_owned(),
        );
        tokio::spawn(async move { create(&client, &id).await })
    });
    let mut made = 0;
    for each in tries.collect::<Vec<_>>() {
        let answer = each.await.unwrap();
        match answer.status {
            201 => made += 1,
            _ => assert!(refused(&answer).contains("20 children"), "{}", answer.text),
        }
    }
    assert_eq!(made, CHILDREN);
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(0);
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(dump.work_orders().len(), 1 + CHILDREN);
}

#[tokio::test]
async fn children_are_listed_by_their_parent() {
    let service = quiet_service().await;
    let (parent, other) = (root(&service).await, root(&service).await);
    let mut children = Vec::new();
    for _ in 0..3 {
        children.push(child(&service.client, &parent).await);
        child(&service.client, &other).await;
    }
    children.reverse();
    let list = format!(
        "/v1/work-orders?parentId={}",
        parent["id"].as_str().unwrap()
    );
    let all = service.client.get(&list).await.body;
    assert_eq!(
        (&all["workOrders"], &all["total"]),
        (&json!(children), &json!(3))
    );
    let first = service.client.get(&format!("{list}&limit=2")).await.body;
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = service
        .client
        .get(&format!("{list}&cursor={cursor}"))
        .await
        .body;
    assert_eq!(rest["workOrders"], json!([children[2]]));
    let running = service
        .client
        .get(&format!("{list}&status=running"))
        .await
        .body;
    assert_eq!(
        (&running["workOrders"], &running["total"]),
        (&json!([]), &json!(0))
    );
    let (_, stranger) = service.another_org(1).await;
    assert_eq!(stranger.get(&list).await.body["total"], 0);
    let bad = service.client.get("/v1/work-orders?parentId=x").await;
    assert_eq!(bad.status, 400, "{}", bad.text);
}
