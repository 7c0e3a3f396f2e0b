//! Rules beyond the items of an organization: the deployment's capacity permits, and the product's
//! own check of a ledger.

use std::collections::BTreeMap;
use std::time::Duration;

use awo_cloud::Cloud;
use awo_domain::OrgId;
use awo_store::ledger::checkpoints::{Checkpoint, LedgerCheck};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use crate::rules::number;

/// More than any history of a test.
const MAX_STEPS: u32 = 100;
/// How often what does not agree is read again: the readings are not of one moment.
const READS: u32 = 10;

/// What does not hold.
pub(crate) async fn broken(client: &Client, cloud: &Cloud, org: &OrgId) -> Vec<String> {
    let mut broken = Box::pin(broken_permits(client, cloud)).await;
    let (store, now) = (cloud.store().expect("settings"), cloud.clock.now());
    let begin = Checkpoint::begin(org, now);
    let checked = Box::pin(store.check_ledger(&begin, MAX_STEPS, now)).await;
    if let (drift @ LedgerCheck::Drifts { .. }, _) = checked.expect("a check") {
        broken.push(format!("the ledger drifts: {drift:?}"));
    }
    broken
}

/// Each shard has as many taken permits as leases and verifications hold.
pub async fn broken_permits(client: &Client, cloud: &Cloud) -> Vec<String> {
    let table = cloud.environment.required("AWO_WORK_TABLE");
    let table = table.expect("a table");
    let mut differ = Vec::new();
    for _ in 0..READS {
        let before = taken(client, &table).await;
        let mut held: BTreeMap<i64, i64> = before.keys().map(|shard| (*shard, 0)).collect();
        for item in due(client, &table).await {
            // A verification has a number of a permit of its own, too.
            let place = match item.get("verificationId") {
                Some(_) => &item["taskPlace"],
                None => &item["place"],
            };
            if let Some(shard) = place.as_i64() {
                *held.entry(shard).or_default() += 1;
            }
        }
        if before == held {
            return Vec::new();
        }
        differ = vec![format!(
            "permits that are taken by shard: {before:?}, that are held: {held:?}"
        )];
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    differ
}

/// What has a deadline, read from the table: indexes may lag.
async fn due(client: &Client, table: &str) -> Vec<Value> {
    let items = client
        .scan()
        .table_name(table)
        .consistent_read(true)
        .filter_expression("attribute_exists(dueShard)")
        .into_paginator()
        .items()
        .send()
        .collect::<Result<Vec<_>, _>>()
        .await
        .expect("a scan");
    let values = items.into_iter().map(serde_dynamo::from_item);
    values.map(|item| item.expect("an item")).collect()
}

/// The taken permits of each shard.
pub async fn taken(client: &Client, table: &str) -> BTreeMap<i64, i64> {
    let items = query(client, table, "pk", "deployment#tasks").await;
    let shards = items.iter().filter(|item| item.get("taken").is_some());
    shards
        .map(|item| (number(item, "shard"), number(item, "taken")))
        .collect()
}

/// All items of a partition.
pub(crate) async fn query(client: &Client, table: &str, key: &str, partition: &str) -> Vec<Value> {
    let items = client
        .query()
        .table_name(table)
        .key_condition_expression("#k = :k")
        .expression_attribute_names("#k", key)
        .expression_attribute_values(":k", AttributeValue::S(partition.to_owned()))
        .into_paginator()
        .items()
        .send()
        .collect::<Result<Vec<_>, _>>()
        .await
        .expect("a query");
    let values = items.into_iter().map(serde_dynamo::from_item);
    values.map(|item| item.expect("an item")).collect()
}
