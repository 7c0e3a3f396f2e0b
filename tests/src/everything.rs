//! All items of an organization in the tables, for tests that assert that none of them has changed.

use std::time::{Duration, Instant};

use awo_cloud::Clock;
use awo_domain::{OrgId, Timestamp};
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

/// Longest wait for what is on its way to webhooks.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a test waits for one condition.
const SOON_MS: i64 = 120_000;

/// True of what changes by itself and soon: events in the outbox, attempts to deliver them.
fn is_under_way(item: &str, soon: Timestamp) -> bool {
    let Some((_, item)) = item.split_once("awo-deliveries ") else {
        return false;
    };
    let item: Value = serde_json::from_str(item).expect("as it was written");
    let partition = item["pk"].as_str().unwrap_or_default();
    let next = item["nextAttemptAt"].as_str().map(Timestamp::parse);
    partition.ends_with("#outbox")
        || item.get("holder").is_some()
        || (item["status"] == "pending" && next.is_none_or(|at| at.expect("a time") <= soon))
}

/// As [`everything_of`], once nothing is on its way to webhooks: that goes on by itself.
///
/// # Panics
/// When that takes too long.
pub async fn everything_at_rest(tables: &Client, org: &OrgId) -> Vec<String> {
    let began = Instant::now();
    loop {
        let all = everything_of(tables, org).await;
        let soon = Clock::default().now().plus_ms(SOON_MS);
        let under_way = all.iter().filter(|item| is_under_way(item, soon));
        let under_way: Vec<&String> = under_way.collect();
        if under_way.is_empty() {
            return all;
        }
        assert!(began.elapsed() < PATIENCE, "not at rest: {under_way:#?}");
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
