//! The parts of the sweep: each works off its own backlog, and delays no other.

use std::collections::{BTreeSet, HashMap};

use awo_domain::{OrgId, Timestamp};
use awo_tests::rules::client;
use awo_tests::world::{Org, World};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

/// Items of one batch: as many as DynamoDB takes.
const BATCH: usize = 25;
const DAY_MS: i64 = 24 * 3_600_000;
const ALL_ITEMS: &str = r#"{"items": {"nth": 0, "of": 1}}"#;

type Item = HashMap<String, AttributeValue>;

fn due(pk: &str, sk: &str, shard: usize, due_at: i64) -> Item {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    Item::from([
        ("pk".to_owned(), text(pk)),
        ("sk".to_owned(), text(sk)),
        ("dueShard".to_owned(), text(&format!("due#{shard}"))),
        ("dueAt".to_owned(), AttributeValue::N(due_at.to_string())),
    ])
}

/// Organizations in whose queues something waits, by the shard of each, and due.
fn waiting(orgs: usize, shards: usize, now: Timestamp) -> Vec<Item> {
    let item = |nth: usize| {
        let org = OrgId::new(now, nth as u128);
        let mut item = due(org.as_str(), "tally", nth % shards, now.epoch_ms() - 60_000);
        item.insert("waiting".to_owned(), AttributeValue::N("1".to_owned()));
        item
    };
    (0..orgs).map(item).collect()
}

async fn put_all(client: &Client, items: Vec<Item>) {
    let batches: Vec<Vec<Item>> = items.chunks(BATCH).map(<[Item]>::to_vec).collect();
    let put = |batch: Vec<Item>| async move {
        let write = |item| {
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        };
        let writes = batch.into_iter().map(write).collect();
        let answer = client.batch_write_item().request_items("work", writes);
        let left = answer.send().await.unwrap().unprocessed_items;
        assert!(left.is_none_or(|left| left.is_empty()));
    };
    stream::iter(batches).for_each_concurrent(4, put).await;
}

fn part(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The wake-ups that were sent.
async fn woken(world: &World) -> BTreeSet<String> {
    let mut woken = BTreeSet::new();
    loop {
        let wake_ups = world.take_wake_ups().await;
        if wake_ups.is_empty() {
            return woken;
        }
        woken.extend(wake_ups);
    }
}

/// Time of the next check of the organization's ledger.
async fn checked_at(world: &World, org: &Org) -> i64 {
    let checkpoint = world.store.checkpoint(&org.id).await.unwrap();
    checkpoint.expect("a checkpoint").due_at
}

#[tokio::test]
async fn items_that_fail_keep_none_of_those_behind_them() {
    let world = World::new().await;
    let client = client(&world.cloud);
    let now = world.cloud.clock.now();
    // More than a page of items that no version knows, all of them older.
    let unknown = (0..250).map(|nth| due(&format!("x#{nth}"), "y", 3, now.epoch_ms() - DAY_MS));
    put_all(&client, unknown.collect()).await;
    put_all(&client, waiting(16, 16, now)).await;
    let swept = world.sound.sweep_part(&part(ALL_ITEMS)).await.unwrap();
    assert_eq!(
        (&swept["due"], &swept["failed"]),
        (&json!(266), &json!(250))
    );
    let woken = woken(&world).await;
    assert_eq!(woken.len(), 16, "{woken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_shards_work_off_a_backlog_together_and_each_item_once() {
    const ORGS: usize = 800;
    let world = World::new().await;
    let now = world.cloud.clock.now();
    put_all(&client(&world.cloud), waiting(ORGS, 16, now)).await;
    let mut due = Vec::new();
    for nth in 0..4 {
        let part = json!({ "items": { "nth": nth, "of": 4 } });
        let swept = world.sound.sweep_part(&part).await.unwrap();
        assert_eq!(swept["failed"], 0, "{swept}");
        due.push(swept["due"].as_u64().unwrap());
    }
    assert_eq!(due, [200; 4]);
    let woken = woken(&world).await;
    assert_eq!(woken.len(), ORGS);
}

#[tokio::test]
async fn a_backlog_of_items_delays_no_check_of_a_ledger_and_the_other_way_round() {
    let world = World::new().await;
    let org = world.org(100).await;
    world.cloud.clock.advance(2 * DAY_MS);
    let now = world.cloud.clock.now();
    put_all(&client(&world.cloud), waiting(300, 16, now)).await;
    let before = checked_at(&world, &org).await;
    let swept = world.sound.sweep_part(&part(ALL_ITEMS)).await.unwrap();
    assert!(swept["due"].as_u64().unwrap() >= 300, "{swept}");
    assert_eq!(checked_at(&world, &org).await, before, "another part's");
    put_all(&client(&world.cloud), waiting(300, 16, now)).await;
    let swept = world.sound.sweep_part(&json!("ledgers")).await.unwrap();
    assert_eq!(swept, json!({ "due": 1, "failed": 0 }));
    assert!(checked_at(&world, &org).await > now.epoch_ms());
    world.lose_wake_ups().await;
}

#[tokio::test]
async fn an_invocation_without_a_part_sweeps_them_all() {
    let world = World::new().await;
    let org = world.org(100).await;
    world.cloud.clock.advance(2 * DAY_MS);
    let now = world.cloud.clock.now();
    put_all(&client(&world.cloud), waiting(20, 16, now)).await;
    let swept = world.sound.sweep().await.unwrap();
    assert_eq!(swept["failed"], 0, "{swept}");
    assert_eq!(woken(&world).await.len(), 20);
    assert!(checked_at(&world, &org).await > now.epoch_ms());
    world.lose_wake_ups().await;
}
