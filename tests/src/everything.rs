//! Everything that the tables hold of an organization, whatever it is: for tests that say that
//! nothing of it has changed.

use std::time::{Duration, Instant};

use awo_domain::OrgId;
use aws_sdk_dynamodb::Client;
use serde_json::Value;

/// Every item of every table whose partition begins with the organization's id, sorted.
///
/// Keys are not among them, since they count their requests; their partitions are their own.
pub async fn everything_of(tables: &Client, org: &OrgId) -> Vec<String> {
    let names = tables.list_tables().into_paginator().items().send();
    let names = names.collect::<Result<Vec<_>, _>>().await.expect("tables");
    let mut all = Vec::new();
    for table in names {
        let items = tables.scan().table_name(&table).into_paginator().items();
        let items = items.send().collect::<Result<Vec<_>, _>>().await;
        for item in items.expect("a scan") {
            let item: Value = serde_dynamo::from_item(item).expect("an item");
            let partition = item["pk"].as_str().unwrap_or_default();
            if partition.starts_with(org.as_str()) {
                all.push(format!("{table} {item}"));
            }
        }
    }
    all.sort_unstable();
    all
}

/// Longest wait for an outbox to be emptied.
const PATIENCE: Duration = Duration::from_secs(30);

/// As [`everything_of`], once nothing is on its way to webhooks: that goes on by itself.
///
/// # Panics
/// When that takes too long.
pub async fn everything_at_rest(tables: &Client, org: &OrgId) -> Vec<String> {
    let (began, outbox) = (Instant::now(), format!("{org}#outbox"));
    loop {
        let all = everything_of(tables, org).await;
        if !all.iter().any(|item| item.contains(&outbox)) {
            return all;
        }
        assert!(began.elapsed() < PATIENCE, "the outbox: {all:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Says what has changed, if anything has.
///
/// # Panics
/// If so.
pub fn nothing_changed(before: &[String], after: &[String], what: &str) {
    let gone: Vec<_> = before.iter().filter(|item| !after.contains(item)).collect();
    let new: Vec<_> = after.iter().filter(|item| !before.contains(item)).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "{what} changed {gone:#?} to {new:#?}"
    );
}
