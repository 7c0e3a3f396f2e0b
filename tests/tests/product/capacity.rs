//! The deployment's limit of concurrent tasks, over all organizations.

use std::collections::BTreeMap;

use awo_cloud::queue::WakeUp;
use awo_domain::ledger::CostParts;
use awo_domain::manual::Request;
use awo_domain::{Error, OrgId, RunId, TransactionId, VerificationId, WorkOrderId};
use awo_execution::dispatcher::Dispatcher;
use awo_store::capacity::permits::MaxTasks;
use awo_store::runs::lifecycle::settle::Charge;
use awo_store::runs::verifications::Verification;
use awo_tests::deployment_rules::{broken_permits, taken};
use awo_tests::rules::client;
use awo_tests::world::{Org, World};
use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::join_all;
use serde_json::json;

const WORK: &str = "work";

/// The organization's wake-up reaches the dispatcher.
async fn wake(world: &World, org: &Org) {
    let wake_up = json!({ "orgId": org.id }).to_string();
    let answer = world.sound.wake_up(&wake_up).await.unwrap();
    assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
}

/// Organizations, each with so many work orders that wait.
async fn orgs(world: &World, count: usize, orders: usize) -> Vec<Org> {
    let mut orgs = Vec::new();
    for _ in 0..count {
        let org = world.org(1_000).await;
        world.create_orders(&org, orders).await;
        orgs.push(org);
    }
    orgs
}

async fn leases(world: &World, org: &Org) -> usize {
    let leases = world.store.leases(&org.id, 100).await;
    leases.unwrap().items.len()
}

async fn all_leases(world: &World, orgs: &[Org]) -> usize {
    let mut all = 0;
    for org in orgs {
        all += leases(world, org).await;
    }
    all
}

async fn taken_permits(world: &World) -> i64 {
    let tables = client(&world.cloud);
    let broken = broken_permits(&tables, &world.cloud).await;
    assert!(broken.is_empty(), "{broken:#?}");
    taken(&tables, WORK).await.values().sum()
}

/// The oldest task of an organization ends, and its event comes.
async fn end_one(world: &World, org: &Org) {
    let leases = world.store.leases(&org.id, 100).await.unwrap().items;
    let lease = leases.first().expect("a lease");
    let task = lease.task_arn.clone().expect("a task");
    world.stop_task(&task).await;
    let by = awo_cloud::compute::started_by(lease);
    world.sound.task_stopped(&task, &by).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_organizations_gets_no_more_tasks_than_the_deployment_has_and_loses_nothing() {
    const MAX: usize = 5;
    let world = World::with_tasks(5).await;
    let orgs = orgs(&world, 12, 2).await;
    join_all(orgs.iter().map(|org| wake(&world, org))).await;
    assert_eq!(all_leases(&world, &orgs).await, MAX);
    assert_eq!(world.living_tasks(), MAX);
    assert_eq!(taken_permits(&world).await, 5);
    let mut waits = 0;
    for org in &orgs {
        waits += world.store.queue(&org.id).await.unwrap().entries.len();
    }
    assert_eq!(waits, 24 - MAX);

    // Every wake-up is lost from now on but those of sweeps: all of them get their turn.
    for _ in 0..24 {
        for org in &orgs {
            if leases(&world, org).await > 0 {
                end_one(&world, org).await;
            }
        }
        world.lose_wake_ups().await;
        world.sweep_after_a_minute().await;
        assert!(all_leases(&world, &orgs).await <= MAX);
        taken_permits(&world).await;
    }
    for org in &orgs {
        let dump = world.dump(&org.id).await;
        assert!(dump.is_at_rest(), "{dump:#?}");
        assert!(dump.broken_rules(5).is_empty());
    }
    assert_eq!(taken_permits(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permit_that_is_returned_is_for_the_organization_that_waited_longest_not_for_its_last_holder()
 {
    let world = World::with_tasks(2).await;
    let orgs = orgs(&world, 3, 4).await;
    world.lose_wake_ups().await;
    for (org, has) in orgs.iter().zip([2, 0, 0]) {
        wake(&world, org).await;
        assert_eq!(leases(&world, org).await, has);
        world.cloud.clock.advance(10);
    }
    world.lose_wake_ups().await;
    // Each wake-up is of who had the place; whose turn it is hears of it by that.
    let mut had = Vec::new();
    for _ in 0..6 {
        for org in &orgs {
            if leases(&world, org).await > 0 {
                end_one(&world, org).await;
                break;
            }
        }
        world.deliver_wake_ups(&world.sound).await;
        had.push(join_all(orgs.iter().map(|org| leases(&world, org))).await);
    }
    // The first has stood in line since it found no third place: before the others, once.
    assert_eq!(had[..3], [[2, 0, 0], [1, 1, 0], [0, 1, 1]], "{had:?}");
    let served: Vec<usize> = (0..3)
        .map(|org| had.iter().filter(|had| had[org] > 0).count())
        .collect();
    assert!(served.iter().all(|times| *times >= 2), "{had:?}");
    assert!(had.iter().all(|had| had.iter().sum::<usize>() == 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_finds_no_permit_waits_in_the_queue() {
    let world = World::with_tasks(1).await;
    let orgs = orgs(&world, 2, 1).await;
    let (busy, other) = (&orgs[0], &orgs[1]);
    wake(&world, busy).await;
    assert_eq!(leases(&world, busy).await, 1);
    world.lose_wake_ups().await;
    let orders = world.store.queue(&other.id).await.unwrap().entries;
    let id = orders[0].work_order_id.clone();
    let started = world.sound.start(other, id.as_str(), None).await;
    assert_eq!(started.status, 201, "{}", started.text);
    assert_eq!(started.body["data"]["status"], "queued", "{}", started.text);
    assert_eq!(leases(&world, other).await, 0);
    world.lose_wake_ups().await;
    end_one(&world, busy).await;
    world.deliver_wake_ups(&world.sound).await;
    assert_eq!(leases(&world, other).await, 1, "it heard of the place");
    assert_eq!(taken_permits(&world).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_smaller_cap_lets_nobody_begin_until_there_are_fewer_tasks_than_that() {
    let world = World::with_tasks(4).await;
    let orgs = orgs(&world, 2, 3).await;
    let (one, other) = (&orgs[0], &orgs[1]);
    world.deliver_wake_ups(&world.sound).await;
    assert_eq!(world.living_tasks(), 4);
    let smaller = Dispatcher {
        max_tasks: MaxTasks::new(2).unwrap(),
        ..Dispatcher::new(&world.cloud).unwrap()
    };
    let mut begun = Vec::new();
    for _ in 0..3 {
        let holder = match leases(&world, one).await {
            0 => other,
            _ => one,
        };
        end_one(&world, holder).await;
        world.lose_wake_ups().await;
        for org in [one, other] {
            smaller.fill_slots(&WakeUp::of(&org.id)).await.unwrap();
        }
        begun.push(world.living_tasks());
    }
    assert_eq!(begun, [3, 2, 2], "four, less one each time, then one more");
    assert_eq!(taken_permits(&world).await, 2);
}

/// Something that has a place and needs no task.
fn verification(world: &World, org: &OrgId) -> Verification {
    let now = world.cloud.clock.now();
    let id = VerificationId::new(now, world.cloud.mint.random(now));
    let request: Request = serde_json::from_value(json!({
        "workDir": "/w", "levels": [], "pluginIds": [], "timeoutMs": 1_000,
    }))
    .unwrap();
    let run = json!({ "runId": RunId::new(now, 1), "workOrderId": WorkOrderId::new(now, 1) });
    let subject = (request, serde_json::from_value(run).unwrap());
    Verification::new(org, &id, subject, world.cloud.mint.secret(), now)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_permits_of_all_shards_together_are_never_more_than_the_limit_whatever_it_was() {
    const ORGS: usize = 30;
    let world = World::with_tasks(1).await;
    let (store, now) = (&world.store, world.cloud.clock.now());
    let orgs = orgs(&world, ORGS, 0).await;
    let begin = async |cap: u32| {
        let max = MaxTasks::new(cap).unwrap();
        let all = orgs
            .iter()
            .map(|org| store.begin_verification(verification(&world, &org.id), max, now));
        let mut begun = Vec::new();
        for one in join_all(all).await {
            match one {
                Ok(one) => begun.push(one),
                Err(Error::TooManyAtOnce { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        begun
    };
    let mut held = begin(60).await;
    assert_eq!(held.len(), ORGS);
    let shards = taken(&client(&world.cloud), WORK).await;
    assert!(
        shards.len() > 1 && shards.values().all(|by| *by <= 20),
        "{shards:?}"
    );
    // The shards of a smaller cap are fewer, and what stands in the others counts as well.
    held.extend(begin(33).await);
    assert_eq!(taken_permits(&world).await, 33, "three of thirty rivals");
    assert!(begin(33).await.is_empty() && begin(20).await.is_empty());
    for one in held.drain(..) {
        let charge = Charge {
            cost: CostParts::default(),
            compute_ms: 0,
            is_free: true,
            transaction_id: TransactionId::new(now, 1),
        };
        let ended = store.end_verification(&one, &charge, now).await.unwrap();
        let again = store.end_verification(&one, &charge, now).await.unwrap();
        assert!(ended && !again);
    }
    assert_eq!(taken_permits(&world).await, 0);
}

#[tokio::test]
async fn a_lease_from_before_there_were_permits_returns_none() {
    let world = World::with_tasks(3).await;
    let org = &orgs(&world, 1, 1).await[0];
    world.deliver_wake_ups(&world.sound).await;
    let lease = world
        .store
        .leases(&org.id, 1)
        .await
        .unwrap()
        .items
        .remove(0);
    let tables = client(&world.cloud);
    let remove = async |pk: String, sk: String, what: &str| {
        let updated = tables
            .update_item()
            .table_name(WORK)
            .key("pk", AttributeValue::S(pk))
            .key("sk", AttributeValue::S(sk))
            .update_expression("REMOVE #w")
            .expression_attribute_names("#w", what);
        updated.send().await.unwrap();
    };
    let shard = format!("shard#{:02}", lease.capacity_shard.expect("a place"));
    remove(
        format!("{}#lease", org.id),
        lease.run_id.to_string(),
        "place",
    )
    .await;
    remove("deployment#tasks".to_owned(), shard, "taken").await;
    end_one(&world, org).await;
    assert_eq!(leases(&world, org).await, 0);
    assert_eq!(taken(&tables, WORK).await, BTreeMap::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_many_organizations_wait_those_that_came_first_are_first() {
    const WAITERS: i64 = 1_100;
    let world = World::new().await;
    let (store, clock) = (&world.store, &world.cloud.clock);
    let began = clock.now();
    let org = |nth: i64| OrgId::new(began.plus_ms(-nth), 7);
    for nth in 0..WAITERS {
        store
            .add_capacity_waiter(&org(nth), began.plus_ms(nth))
            .await
            .unwrap();
    }
    let max = MaxTasks::new(2).unwrap();
    let now = began.plus_ms(WAITERS);
    let ask = async |nth: i64, now| store.capacity(&org(nth), "task", max, now).await.unwrap();
    let last = ask(WAITERS - 1, now).await;
    assert!(last.permit.is_none() && last.is_waiting);
    assert_eq!(last.others, [org(0), org(1)]);
    assert!(ask(1, now).await.permit.is_some());
    let newcomer = ask(WAITERS, now).await;
    assert!(newcomer.permit.is_none() && !newcomer.is_waiting);

    // All but the last have stopped asking: they are passed over, and some are removed each time.
    let later = now.plus_ms(200_000);
    store
        .add_capacity_waiter(&org(WAITERS - 1), later)
        .await
        .unwrap();
    let mut questions = 0;
    while ask(WAITERS, later).await.others.is_empty() {
        questions += 1;
        assert!(questions < 20, "they stay");
    }
    assert_eq!(ask(WAITERS, later).await.others, [org(WAITERS - 1)]);
}
