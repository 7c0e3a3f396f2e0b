//! Cost labels: declared by an operator, required of every create if so declared, and frozen with
//! the work order.

use std::collections::BTreeMap;

use awo_domain::WorkOrderId;
use awo_domain::cost::labels::CostLabels;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Declares as an operator does: in a process of its own.
async fn declare(service: &TestService, labels: &[&str], required: &[&str]) {
    let store = service.service.cloud.store().unwrap();
    let labels = CostLabels::declare(&owned(labels), &owned(required)).unwrap();
    let declared = store.declare_cost_labels(&service.org, &labels).await;
    declared.unwrap();
}

fn with_metadata(metadata: &Value) -> Value {
    let mut body = order();
    body["metadata"] = metadata.clone();
    body
}

async fn create(service: &TestService, metadata: &Value) -> Value {
    let made = service
        .client
        .post("/v1/work-orders", &with_metadata(metadata))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

/// The labels of a work order, and those of its run, which are the same.
async fn labels(service: &TestService, order: &Value) -> BTreeMap<String, String> {
    let store = service.service.cloud.store().unwrap();
    let id = WorkOrderId::parse(order["id"].as_str().unwrap()).unwrap();
    let stored = store.work_order(&service.org, &id).await.unwrap().unwrap();
    let run = store
        .run(&service.org, &stored.run_id)
        .await
        .unwrap()
        .unwrap();
    let of_run = run.attribution.unwrap();
    assert_eq!(of_run.labels, stored.cost_labels);
    assert_eq!(of_run.repository, "https://git.invalid/a.git");
    assert_eq!(of_run.key_id, stored.key_id);
    assert!(of_run.key_id.is_some());
    stored.cost_labels
}

fn map(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    of.iter().map(owned).collect()
}

#[tokio::test]
async fn labels_count_from_their_declaration_on_and_a_work_order_keeps_what_it_had() {
    let service = quiet_service().await;
    let metadata = json!({ "team": "red", "project": "p", "ticket": "7" });
    let before = create(&service, &metadata).await;
    assert_eq!(labels(&service, &before).await, map(&[]));

    declare(&service, &["team", "project"], &[]).await;
    let both = map(&[("team", "red"), ("project", "p")]);
    let order = create(&service, &metadata).await;
    assert_eq!(labels(&service, &order).await, both);
    let bare = create(&service, &json!({ "ticket": "8" })).await;
    assert_eq!(labels(&service, &bare).await, map(&[]));

    declare(&service, &["ticket"], &[]).await;
    assert_eq!(labels(&service, &order).await, both);
    let after = create(&service, &metadata).await;
    assert_eq!(labels(&service, &after).await, map(&[("ticket", "7")]));
    let path = format!("/api/v1/work-orders/{}/runs", order["id"].as_str().unwrap());
    let started = service.client.post(&path, &json!({})).await;
    assert_eq!(started.status, 201, "{}", started.text);
    assert_eq!(
        labels(&service, &order).await,
        both,
        "its new run has them, too"
    );
}

#[tokio::test]
async fn a_report_names_the_labels_that_are_declared_now() {
    let service = quiet_service().await;
    let labels = async || {
        let report = service.client.get("/v1/usage/report").await;
        assert_eq!(report.status, 200, "{}", report.text);
        report.body["labels"].clone()
    };
    assert_eq!(labels().await, json!([]));
    declare(&service, &["team", "project"], &["team"]).await;
    assert_eq!(labels().await, json!(["team", "project"]));
    declare(&service, &["ticket"], &[]).await;
    assert_eq!(labels().await, json!(["ticket"]));
}

#[tokio::test]
async fn a_create_without_a_required_label_is_400_at_its_metadata_and_writes_nothing() {
    let service = quiet_service().await;
    create(&service, &json!({})).await;
    declare(&service, &["team", "a/b"], &["team", "a/b"]).await;
    for metadata in [json!({}), json!({ "team": "" }), json!({ "Team": "red" })] {
        let body = with_metadata(&metadata);
        let refused = service.client.post("/v1/work-orders", &body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        let errors = &refused.body["error"]["details"]["errors"];
        let paths: Vec<&Value> = errors
            .as_array()
            .unwrap()
            .iter()
            .map(|e| &e["path"])
            .collect();
        assert_eq!(
            paths,
            ["/metadata/team", "/metadata/a~1b"],
            "{}",
            refused.text
        );
    }
    assert_eq!(service.client.get("/v1/work-orders").await.body["total"], 1);
    let order = create(&service, &json!({ "team": "red", "a/b": "1" })).await;
    assert_eq!(labels(&service, &order).await.len(), 2);
    // What is no longer required is not asked for, whatever a process remembers.
    declare(&service, &["team"], &[]).await;
    create(&service, &json!({})).await;
}

#[tokio::test]
async fn children_have_the_labels_of_their_parent_and_an_agent_cannot_change_them() {
    let service = quiet_service().await;
    declare(&service, &["team", "project"], &["team"]).await;
    let parent = create(&service, &json!({ "team": "red", "project": "p" })).await;
    let mut body = with_metadata(&json!({ "project": "q" }));
    body["parentId"] = parent["id"].clone();
    let child = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(child.status, 201, "{}", child.text);
    let labels_of_child = labels(&service, &child.body).await;
    assert_eq!(labels_of_child, map(&[("team", "red"), ("project", "q")]));

    let mut run = DrivenRun::of(&service, &parent).await;
    run.iterate(1).await;
    let sly = json!({ "taskPrompt": "mine", "metadata": { "team": "blue", "project": "z" } });
    let asked = run.ask(&json!([sly])).await;
    let opened = asked.body["opened"][0].clone();
    assert!(opened.is_string(), "{}", asked.text);
    let of_agent = labels(&service, &json!({ "id": opened })).await;
    assert_eq!(of_agent, map(&[("team", "red"), ("project", "p")]));
}
