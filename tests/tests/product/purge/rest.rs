//! The remainder that is deleted after a purge, at any size.

use awo_tests::rules;
use awo_tests::service::TestService;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use serde_json::json;

use super::{erased, id, ids, purge, rules_hold, still, submitted, total, traces};

/// More than one sweep deletes of a purge.
const SNAPSHOTS: usize = 2_300;
/// More runs than a transaction takes.
const RUNS: usize = 120;

/// Puts so many snapshots into the audit of a run.
async fn put_snapshots(service: &TestService, run: &str, count: usize) {
    let cloud = &service.service.cloud;
    let (tables, work) = (
        rules::client(cloud),
        cloud.environment.required("AWO_WORK_TABLE").unwrap(),
    );
    let partition = format!("{}#{run}#audit", service.org);
    let text = |text: String| AttributeValue::S(text);
    let puts: Vec<WriteRequest> = (0..count)
        .map(|number| {
            let put = PutRequest::builder()
                .item("pk", text(partition.clone()))
                .item("sk", text(format!("{number:010}")))
                .item("config", text("x".repeat(2_000)));
            let put = put.build().unwrap();
            WriteRequest::builder().put_request(put).build()
        })
        .collect();
    for batch in puts.chunks(25) {
        let batch = tables
            .batch_write_item()
            .request_items(&work, batch.to_vec());
        let answer = batch.send().await.unwrap();
        assert!(answer.unprocessed_items.is_none_or(|left| left.is_empty()));
    }
}

#[tokio::test]
async fn what_belongs_to_a_run_goes_however_much_it_is() {
    let service = still().await;
    let order = submitted(&service).await;
    let run = order["runId"].as_str().unwrap().to_owned();
    put_snapshots(&service, &run, SNAPSHOTS).await;
    assert_eq!(ids(&purge(&service.client, &json!({})).await), [id(&order)]);
    erased(&service).await;
    let left = traces(&service, &service.org, &[id(&order), run]).await;
    assert!(left.is_empty(), "{} items are left", left.len());
    assert!(rules_hold(&service).await.is_at_rest());
}

#[tokio::test]
async fn a_work_order_goes_with_more_runs_than_a_transaction_takes() {
    let service = still().await;
    let order = submitted(&service).await;
    let path = format!("/api/v1/work-orders/{}", id(&order));
    for _ in 1..RUNS {
        let started = service
            .client
            .post(&format!("{path}/runs"), &json!({}))
            .await;
        assert_eq!(started.status, 201, "{}", started.text);
    }
    assert_eq!(ids(&purge(&service.client, &json!({})).await), [id(&order)]);
    assert_eq!(total(&service, "/v1/work-orders").await, 0);
    rules_hold(&service).await;
    erased(&service).await;
    assert_eq!(total(&service, "/v1/runs").await, 0);
    assert!(rules_hold(&service).await.is_at_rest());
    let left = traces(&service, &service.org, &[id(&order)]).await;
    assert_eq!(left, Vec::<String>::new());
}
