//! Every AWS call of a firing fails in every way, and its time still creates one work order.

use awo_domain::api_key::ApiKey;
use awo_domain::schedule::{CatchUp, FiringResult, Overlap, Schedule, ScheduleContent};
use awo_domain::{ScheduleId, Timestamp};
use awo_tests::crash_part::crash_points;
use awo_tests::faults::Fault;
use awo_tests::world::{Org, World};
use futures::future::join_all;
use serde_json::json;

/// More calls than the sweep of a firing makes; the test finds the real number itself.
const MAX_CALLS: u32 = 90;
/// Minutes of sweeps after a fault.
const MINUTES: u32 = 3;
/// Sweeps that come at the same time.
const RIVALS: usize = 3;

/// A schedule whose time has come.
async fn due(world: &World, org: &Org) -> (Schedule, Timestamp) {
    let now = world.cloud.clock.now();
    let order = json!({
        "taskPrompt": "fix it",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 10 },
    });
    let schedule = Schedule {
        id: ScheduleId::new(now, world.cloud.mint.random(now)),
        content: ScheduleContent {
            name: "Yearly".to_owned(),
            cron: "0 0 1 1 *".to_owned(),
            timezone: "UTC".to_owned(),
            work_order: order.to_string(),
            overlap: Overlap::Skip,
            catch_up: CatchUp::Latest,
            pause_after_failures: 3,
            starts_at: None,
            ends_at: None,
            enabled: true,
        },
        created_by: ApiKey::parse(&org.key).unwrap().id(),
        created_at: now,
        updated_at: None,
        next_at: Some(now),
        last_fired_at: None,
        consecutive_failures: 0,
        paused: None,
        open: Vec::new(),
    };
    let created = world.store.create_schedule(&org.id, &schedule, None).await;
    created.expect("a schedule");
    (schedule, now)
}

/// A firing with this fault; false if none of its calls met it. Then the sweep goes on.
async fn fires_once(world: &World, nth: u32, fault: Fault) -> bool {
    while world.deliver_notifications(&world.sound).await {}
    let org = world.org(1_000).await;
    let (schedule, time) = due(world, &org).await;
    let faults = world.faults.clone();
    let part = json!("schedules");
    faults.arm(nth, fault);
    faults.until_crash(world.faulty.sweep_part(&part)).await;
    let fired = faults.disarm();
    for _ in 0..MINUTES {
        let sweeps = (0..RIVALS).map(|_| world.sound.sweep_part(&part));
        join_all(sweeps).await;
        world.cloud.clock.advance(61_000);
    }
    let dump = world.dump(&org.id).await;
    let broken = dump.broken_rules(5);
    assert!(broken.is_empty(), "{fault:?} {nth}: {broken:#?}");
    let orders = dump.work_orders();
    assert_eq!(orders.len(), 1, "{fault:?} {nth}: {orders:#?}");
    let store = &world.store;
    let now = world.cloud.clock.now();
    let firings = store
        .firings(&org.id, &schedule.id, (10, 0), None, now)
        .await;
    let firings = firings.expect("firings").0.items;
    assert_eq!(firings.len(), 1, "{fault:?} {nth}: {firings:#?}");
    assert_eq!(firings[0].result, FiringResult::Created);
    assert_eq!(firings[0].scheduled_for, time);
    let id = firings[0].work_order_id.as_ref().expect("a work order");
    assert_eq!(orders[0]["id"], id.as_str());
    let after = store.schedule(&org.id, &schedule.id).await.expect("a read");
    let after = after.expect("the schedule").schedule;
    assert_eq!(after.open, std::slice::from_ref(id), "{fault:?} {nth}");
    assert!(after.next_at.is_some_and(|next| next > time));
    world.lose_wake_ups().await;
    fired
}

#[tokio::test]
async fn whatever_call_of_a_firing_goes_wrong_its_time_creates_one_work_order() {
    crash_points("a firing", MAX_CALLS, 2, fires_once).await;
}
