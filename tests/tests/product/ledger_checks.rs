//! The daily check of ledgers: drifts are found, and correct ledgers raise no alarm.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use awo_domain::TransactionId;
use awo_domain::money::MicroCredits;
use awo_store::ledger::checkpoints::{Checkpoint, LedgerCheck};
use awo_store::ledger::credits::Booking;
use awo_tests::faults::Fault;
use awo_tests::rules::client;
use awo_tests::service::program;
use awo_tests::world::{Org, World};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};

use crate::http_api::quiet_service;

const DAY_MS: i64 = 24 * 3_600_000;
const STEPS: u32 = 5;
/// More calls than any check makes.
const MAX_CALLS: u32 = 40;

/// A day: a purchase, a work order that waits and one that was canceled.
async fn live_a_day(world: &World, org: &Org) {
    let now = world.cloud.clock.now();
    let id = TransactionId::new(now, world.cloud.mint.random(now));
    let (amount, booking) = (MicroCredits::from_credits(5), Booking::default());
    let granted = world.store.grant(&org.id, &id, amount, &booking);
    granted.await.unwrap();
    let body = json!({
        "taskPrompt": "fix it",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 10 },
    });
    for cancels in [false, true] {
        let made = world.sound.create(org, &body, None).await;
        assert_eq!(made.status, 201, "{}", made.text);
        if cancels {
            let id = made.body["id"].as_str().unwrap();
            assert_eq!(world.sound.cancel(org, id).await.status, 200);
        }
    }
    world.lose_wake_ups().await;
}

/// The organization's checkpoint, as the table has it.
async fn checkpoint(world: &World, org: &Org) -> Checkpoint {
    let item = client(&world.cloud)
        .get_item()
        .table_name("work")
        .key("pk", AttributeValue::S(format!("{}#ledger", org.id)))
        .key("sk", AttributeValue::S("checkpoint".to_owned()));
    let item = item.send().await.unwrap().item.expect("a checkpoint");
    serde_dynamo::from_item(item).unwrap()
}

/// As the sweep checks it, but that its checkpoint stays where it is.
async fn check(world: &World, org: &Org) -> LedgerCheck {
    let (from, now) = (checkpoint(world, org).await, world.cloud.clock.now());
    let checked = world.store.check_ledger(&from, STEPS, now).await;
    checked.unwrap().0
}

async fn check_all(world: &World, org: &Org) -> LedgerCheck {
    let now = world.cloud.clock.now();
    let begin = Checkpoint::begin(&org.id, now);
    let checked = world.store.check_ledger(&begin, STEPS, now).await;
    checked.unwrap().0
}

/// Changes a ledger as nobody may.
struct Tampering {
    tables: aws_sdk_dynamodb::Client,
    table: String,
    org: String,
}

type Item = HashMap<String, AttributeValue>;

impl Tampering {
    fn of(world: &World, org: &Org) -> Tampering {
        Tampering {
            tables: client(&world.cloud),
            table: "ledger".to_owned(),
            org: org.id.to_string(),
        }
    }

    async fn items(&self, partition: &str) -> Vec<Item> {
        let pk = AttributeValue::S(format!("{}{partition}", self.org));
        let query = self.tables.query().table_name(&self.table);
        let query = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", pk);
        query.send().await.unwrap().items.unwrap_or_default()
    }

    async fn put(&self, item: &Item) {
        let put = self.tables.put_item().table_name(&self.table);
        put.set_item(Some(item.clone())).send().await.unwrap();
    }

    async fn remove(&self, item: &Item) {
        let delete = self.tables.delete_item().table_name(&self.table);
        let delete = delete
            .key("pk", item["pk"].clone())
            .key("sk", item["sk"].clone());
        delete.send().await.unwrap();
    }

    async fn alter(&self, item: &Item, name: &str) {
        let mut altered = item.clone();
        let amount: i64 = altered[name].as_n().unwrap().parse().unwrap();
        let more = AttributeValue::N((amount + 1).to_string());
        altered.insert(name.to_owned(), more);
        self.put(&altered).await;
    }
}

#[tokio::test]
async fn what_is_altered_or_removed_of_a_days_ledger_is_found_and_left_as_it_is() {
    let world = World::new().await;
    let org = world.org(100).await;
    live_a_day(&world, &org).await;
    let tampering = Tampering::of(&world, &org);
    assert!(matches!(check(&world, &org).await, LedgerCheck::Sound(_)));
    for (partition, name) in [
        ("#entry", Some("amountMicro")),
        ("#entry", None),
        ("#hold", Some("amountMicro")),
        ("#hold", None),
        ("#settled", None),
        ("", Some("balance")),
        ("", Some("reserved")),
        ("", Some("available")),
        ("", Some("entries")),
    ] {
        // The newest hold is resolved, the one before it is not.
        let item = tampering.items(partition).await.swap_remove(0);
        match name {
            Some(name) => tampering.alter(&item, name).await,
            None => tampering.remove(&item).await,
        }
        let before = tampering.items(partition).await;
        let (daily, whole) = (check(&world, &org).await, check_all(&world, &org).await);
        assert!(
            matches!(daily, LedgerCheck::Drifts { .. }),
            "{partition} {name:?}"
        );
        assert_eq!(daily, whole);
        assert_eq!(tampering.items(partition).await, before);
        tampering.put(&item).await;
        assert!(matches!(check(&world, &org).await, LedgerCheck::Sound(_)));
    }
}

#[tokio::test]
async fn a_check_goes_on_where_the_one_of_the_day_before_ended() {
    let world = World::new().await;
    let org = world.org(100).await;
    let mut last = serde_json::to_value(checkpoint(&world, &org).await).unwrap();
    let is_later = |now: &Value, last: &Value, name: &str| match name {
        "until" => now[name].as_str() > last[name].as_str(),
        _ => now[name].as_i64() > last[name].as_i64(),
    };
    for _ in 0..3 {
        live_a_day(&world, &org).await;
        world.cloud.clock.advance(DAY_MS);
        let swept = world.sound.sweep().await.unwrap();
        assert_eq!(swept["failed"], 0, "{swept}");
        let now = serde_json::to_value(checkpoint(&world, &org).await).unwrap();
        for name in ["until", "entries", "dueAt"] {
            assert!(is_later(&now, &last, name), "{name}: {now} after {last}");
        }
        last = now;
        // Once a day: the next minute's sweep checks nothing.
        world.cloud.clock.advance(61_000);
        world.sound.sweep().await.unwrap();
        let same = serde_json::to_value(checkpoint(&world, &org).await).unwrap();
        assert_eq!(same, last);
    }
    assert_eq!(last["openMicro"].as_object().unwrap().len(), 3, "{last}");
    // A day's check reads no further back; the operator's does.
    let tampering = Tampering::of(&world, &org);
    let oldest = tampering.items("#entry").await.swap_remove(0);
    tampering.alter(&oldest, "amountMicro").await;
    assert!(matches!(check(&world, &org).await, LedgerCheck::Sound(_)));
    let whole = check_all(&world, &org).await;
    assert!(matches!(whole, LedgerCheck::Drifts { .. }), "{whole:?}");
}

#[tokio::test]
async fn a_ledger_that_drifts_is_checked_again_within_the_hour() {
    let world = World::new().await;
    let org = world.org(100).await;
    let tampering = Tampering::of(&world, &org);
    let balance = tampering.items("").await.swap_remove(0);
    tampering.alter(&balance, "balance").await;
    world.cloud.clock.advance(DAY_MS);
    for _ in 0..2 {
        let swept = world.sound.sweep().await.unwrap();
        assert_eq!(swept["failed"], 0, "a drift is no failure of the sweep");
        let next = serde_json::to_value(checkpoint(&world, &org).await).unwrap();
        let wait_ms = next["dueAt"].as_i64().unwrap() - world.cloud.clock.now().epoch_ms();
        assert!((0..=3_600_000).contains(&wait_ms), "{next}");
        world.cloud.clock.advance(3_600_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_while_credits_are_held_and_released_does_not_cry_wolf() {
    let world = World::new().await;
    let org = world.org(10_000).await;
    let is_over = AtomicBool::new(false);
    let spends = async {
        for _ in 0..40 {
            live_a_day(&world, &org).await;
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let checks = async {
        let mut checks = 0;
        while !is_over.load(Ordering::Relaxed) {
            let checked = check(&world, &org).await;
            assert!(
                !matches!(checked, LedgerCheck::Drifts { .. }),
                "{checked:?}"
            );
            checks += 1;
        }
        assert!(checks > 0);
    };
    tokio::join!(spends, checks);
    let checked = check(&world, &org).await;
    assert!(matches!(checked, LedgerCheck::Sound(_)), "{checked:?}");
}

#[tokio::test]
async fn whatever_call_of_a_check_goes_wrong_the_next_one_goes_on() {
    let world = World::new().await;
    let org = world.org(1_000).await;
    let mut points = 0;
    for fault in Fault::ALL {
        live_a_day(&world, &org).await;
        for nth in 1..=MAX_CALLS {
            world.cloud.clock.advance(DAY_MS);
            world.faults.arm(nth, fault);
            let swept = world.faulty.sweep();
            drop(world.faults.until_crash(swept).await);
            let fired = world.faults.disarm();
            world.cloud.clock.advance(3_600_001);
            let swept = world.sound.sweep().await.unwrap();
            assert_eq!(swept["failed"], 0, "{swept}");
            world.lose_wake_ups().await;
            assert!(matches!(check(&world, &org).await, LedgerCheck::Sound(_)));
            if !fired {
                break;
            }
            points += 1;
        }
    }
    let dump = world.dump(&org.id).await;
    assert_eq!(dump.broken_rules(5), Vec::<String>::new());
    println!("crash points of a check: {points}");
    assert!(points > 20, "{points}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_checks_whole_histories_and_the_exit_code_reports_a_drift() {
    let service = quiet_service().await;
    let endpoints = json!(service.service.settings).to_string();
    std::fs::write(service.dir.path().join("endpoints.json"), endpoints).unwrap();
    let awo = async |args: &[&str]| {
        let mut awo = Command::new(program("awo"));
        awo.args(["admin", "--json", "check-ledger"]).args(args);
        awo.env("AWO_DATA_DIR", service.dir.path());
        let called = tokio::task::spawn_blocking(move || awo.output()).await;
        let called = called.unwrap().unwrap();
        let reported: Value = serde_json::from_slice(&called.stdout).unwrap();
        (called.status.code(), reported["ledgers"].clone())
    };
    service.another_org(7).await;
    let (code, all) = awo(&[]).await;
    assert_eq!((code, all.as_array().unwrap().len()), (Some(0), 2), "{all}");
    let org = service.org.to_string();
    let (code, one) = awo(&["--org", &org]).await;
    assert_eq!(
        (code, &one[0]["status"]),
        (Some(0), &json!("sound")),
        "{one}"
    );
    assert_eq!(one[0]["found"]["entries"], 1);
    let cloud = &service.service.cloud;
    let tampering = Tampering {
        tables: client(cloud),
        table: cloud.environment.required("AWO_LEDGER_TABLE").unwrap(),
        org: org.clone(),
    };
    let entry = tampering.items("#entry").await.swap_remove(0);
    tampering.remove(&entry).await;
    let (code, one) = awo(&["--org", &org]).await;
    assert_eq!(
        (code, &one[0]["status"]),
        (Some(1), &json!("drifts")),
        "{one}"
    );
    assert_eq!(one[0]["expected"]["entries"], 0);
    assert_eq!(awo(&[]).await.0, Some(1));
}
