//! The cost of a wake-up of the dispatcher, in calls.

use std::collections::BTreeMap;

use awo_cloud::queue::WakeUp;
use awo_tests::world::{Org, World};
use serde_json::json;

const SLOTS: u32 = 3;

/// An organization with so many slots, and so many work orders whose wake-ups have not come.
async fn org(world: &World, slots: u32, orders: usize) -> Org {
    let org = world.org_without_webhooks(1_000).await;
    let limits = world.store.set_limits(&org.id, Some(slots), None).await;
    limits.expect("limits");
    world.create_orders(&org, orders).await;
    org
}

/// The calls that the dispatcher makes for a batch of wake-ups.
async fn calls(world: &World, batch: &[String]) -> BTreeMap<String, usize> {
    world.faults.disarm();
    let answer = world.faulty.wake_ups(batch).await.expect("an answer");
    assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
    let mut calls = BTreeMap::new();
    for target in world.faults.seen() {
        let (_, call) = target.rsplit_once('.').expect("a call of AWS");
        *calls.entry(call.to_owned()).or_default() += 1;
    }
    calls
}

fn of<const N: usize>(calls: [(&str, usize); N]) -> BTreeMap<String, usize> {
    calls.map(|(call, times)| (call.to_owned(), times)).into()
}

fn body(wake_up: &WakeUp) -> String {
    serde_json::to_string(wake_up).expect("a message")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wake_ups_of_creates_that_find_no_free_slot_cost_one_item_read_a_batch() {
    let world = World::new().await;
    let org = org(&world, SLOTS, SLOTS as usize).await;
    world.deliver_wake_ups(&world.sound).await;
    assert_eq!(world.living_tasks(), SLOTS as usize);

    world.create_orders(&org, 25).await;
    let mut batches = 0;
    loop {
        let batch = world.take_wake_ups().await;
        if batch.is_empty() {
            break;
        }
        batches += 1;
        assert_eq!(calls(&world, &batch).await, of([("GetItem", 1)]));
    }
    assert_eq!(batches, 3, "25 messages, ten at a time");
    let queue = world.store.queue(&org.id).await.unwrap();
    assert_eq!((queue.entries.len(), queue.tally.waiting), (25, 25));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wake_up_of_an_organization_in_which_nothing_waits_costs_one_item_read() {
    let world = World::new().await;
    let org = org(&world, SLOTS, 0).await;
    let wake_up = body(&WakeUp::of(&org.id));
    assert_eq!(calls(&world, &[wake_up]).await, of([("GetItem", 1)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_costs_one_read_for_each_of_its_organizations() {
    let world = World::new().await;
    let (one, other) = (org(&world, SLOTS, 0).await, org(&world, SLOTS, 0).await);
    let batch: Vec<String> = [&one, &other, &one, &other, &one]
        .map(|org| body(&WakeUp::of(&org.id)))
        .into();
    assert_eq!(calls(&world, &batch).await, of([("GetItem", 2)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_wake_up_reads_the_queue_once_however_many_entries_it_dispatches() {
    let world = World::new().await;
    let org = org(&world, SLOTS, 10).await;
    let wake_up = body(&WakeUp::of(&org.id));
    let calls = calls(&world, &[wake_up]).await;
    let dispatches = SLOTS as usize;
    assert_eq!(world.living_tasks(), dispatches);
    assert_eq!(calls["RunTask"], dispatches);
    assert_eq!(
        calls["GetItem"],
        2 * dispatches + 1,
        "the tally, before each, and the thread of each: {calls:?}"
    );
    assert_eq!(
        calls["Query"],
        2 * dispatches + 1,
        "the queue, and for each the capacity and its waiters: {calls:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_returned_slot_reads_once_more_those_that_wait_for_its_capacity() {
    let world = World::with_tasks(1).await;
    let (first, second) = (org(&world, SLOTS, 1).await, org(&world, SLOTS, 1).await);
    world.deliver_wake_ups(&world.sound).await;
    let leases = world.store.leases(&first.id, 10).await.unwrap().items;
    let task = leases[0].task_arn.clone().expect("a task");
    world.stop_task(&task).await;
    let by = awo_cloud::compute::started_by(&leases[0]);
    world.sound.task_stopped(&task, &by).await.unwrap();
    let batch = world.take_wake_ups().await;
    assert_eq!(batch, [body(&WakeUp::for_capacity(&first.id))]);
    assert_eq!(
        calls(&world, &batch).await,
        of([
            ("GetItem", 1),
            ("BatchGetItem", 1),
            ("Query", 2),
            ("SendMessage", 1)
        ])
    );
    let batch = world.take_wake_ups().await;
    assert_eq!(batch, [body(&WakeUp::for_capacity(&second.id))]);
    calls(&world, &batch).await;
    let leases = world.store.leases(&second.id, 10).await.unwrap().items;
    assert_eq!(leases.len(), 1, "it has the capacity that came free");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_that_waits_for_capacity_in_vain_passes_it_on() {
    let world = World::with_tasks(1).await;
    let busy = org(&world, SLOTS, 1).await;
    world.deliver_wake_ups(&world.sound).await;
    // Both wait for capacity; then the first needs none any more.
    let first = org(&world, SLOTS, 1).await;
    world.deliver_wake_ups(&world.sound).await;
    world.cloud.clock.advance(10);
    let second = org(&world, SLOTS, 1).await;
    world.deliver_wake_ups(&world.sound).await;
    let order = world.store.queue(&first.id).await.unwrap().entries;
    let canceled = world.sound.cancel(&first, order[0].work_order_id.as_str());
    assert_eq!(canceled.await.status, 200);

    let leases = world.store.leases(&busy.id, 10).await.unwrap().items;
    let task = leases[0].task_arn.clone().expect("a task");
    world.stop_task(&task).await;
    let by = awo_cloud::compute::started_by(&leases[0]);
    world.sound.task_stopped(&task, &by).await.unwrap();
    world.deliver_wake_ups(&world.sound).await;
    let leases = world.store.leases(&second.id, 10).await.unwrap().items;
    assert_eq!(leases.len(), 1, "the first has passed it on");
}
