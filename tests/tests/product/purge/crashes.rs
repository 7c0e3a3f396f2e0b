//! Every AWS call of a purge, and of the sweep after it, fails in every way. Right afterwards each
//! work order is complete or deleted; a repeated purge and some time leave nothing.

use awo_domain::RunId;
use awo_tests::crash_part;
use awo_tests::everything::everything_of;
use awo_tests::faults::Fault;
use awo_tests::rules;
use awo_tests::seed::Seed;
use awo_tests::world::{Org, World};
use serde_json::json;

use crate::story::{Step, Story};

/// More calls than a purge makes; the test finds the real number itself.
const MAX_CALLS: u32 = 120;
/// Sweeps after which everything is at rest.
const MINUTES: u32 = 100;
const MAX_CONCURRENT: i64 = 5;

/// An organization with a work order that runs, one that waits, and one that is canceled.
async fn scene(world: &World) -> (Story<'_>, Vec<String>) {
    let mut story = Story::new(world).await;
    for step in [Step::Create, Step::Dispatch, Step::Claim, Step::Report] {
        story.insist(step).await;
    }
    let (org, now) = (story.org.id.clone(), world.cloud.clock.now());
    let seed = Seed::of(&world.cloud, &org);
    let mut runs = vec![story.run().await.run_id.to_string()];
    runs.push(seed.waiting(now, None).await.run_id.to_string());
    runs.push(seed.canceled(now, None).await.run_id.to_string());
    (story, runs)
}

async fn holds(world: &World, org: &Org, when: &str) -> rules::Dump {
    let dump = world.dump(&org.id).await;
    let broken = dump.broken_rules(MAX_CONCURRENT);
    assert!(broken.is_empty(), "{when}: {broken:#?}\n{dump:#?}");
    dump
}

async fn all_gone(world: &World, org: &Org, runs: &[String], when: &str) {
    for _ in 0..MINUTES {
        let purged = world.sound.purge(org, &json!({})).await;
        assert_eq!(purged.status, 200, "{when}: {}", purged.text);
        world.sweep_after_a_minute().await;
        let dump = holds(world, org, when).await;
        if dump.is_at_rest() && dump.work_orders().is_empty() {
            break;
        }
    }
    let dump = holds(world, org, when).await;
    assert!(
        dump.is_at_rest() && dump.runs().is_empty(),
        "{when}: {dump:#?}"
    );
    let tables = rules::client(&world.cloud);
    let events = |run: &String| format!("{run}#event");
    let left = everything_of(&tables, &org.id).await;
    let left: Vec<&String> = left
        .iter()
        .filter(|item| runs.iter().any(|run| item.contains(&events(run))))
        .collect();
    assert!(left.is_empty(), "{when}: {left:#?}");
    for run in runs {
        let run = RunId::parse(run).unwrap();
        let lease = world.store.lease(&org.id, &run).await.unwrap();
        assert!(lease.is_none(), "{when}: {lease:?}");
    }
}

async fn try_all(faults: &[Fault], in_sweep: bool) {
    let world = World::new().await;
    let (mut points, everything) = (0, json!({}));
    for fault in faults {
        for nth in crash_part::calls(*fault, MAX_CALLS) {
            let (story, runs) = scene(&world).await;
            let org = story.org.clone();
            let when = format!("{fault:?} of call {nth}, in the sweep: {in_sweep}");
            if in_sweep {
                let purged = world.sound.purge(&org, &json!({})).await;
                assert_eq!(purged.body["data"]["deletedCount"], 3, "{}", purged.text);
                world.cloud.clock.advance(61_000);
            }
            world.faults.arm(nth, *fault);
            if in_sweep {
                world.faults.until_crash(world.faulty.sweep()).await;
            } else {
                let purge = world.faulty.purge(&org, &everything);
                world.faults.until_crash(purge).await;
            }
            let fired = world.faults.disarm();
            world.lose_wake_ups().await;
            holds(&world, &org, &when).await;
            all_gone(&world, &org, &runs, &when).await;
            points += 1;
            if !fired {
                break;
            }
        }
    }
    println!("crash points, in the sweep: {in_sweep}: {points}");
    assert_eq!(world.living_tasks(), 0);
    assert!(points > 4, "only {points} points");
}

#[tokio::test]
async fn wherever_a_purge_crashes_each_work_order_is_whole_or_goes_whole() {
    try_all(&[Fault::CrashBefore, Fault::CrashAfter], false).await;
}

#[tokio::test]
async fn whatever_a_purge_loses_each_work_order_is_whole_or_goes_whole() {
    let faults = [Fault::LoseReply, Fault::Duplicate];
    try_all(&faults, false).await;
}

#[tokio::test]
async fn wherever_the_sweep_crashes_what_a_purge_left_goes_in_the_end() {
    try_all(&[Fault::CrashBefore, Fault::CrashAfter], true).await;
}
