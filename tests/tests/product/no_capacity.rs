//! Runs whose tasks get no capacity from the cluster, because of an account's quota or a crowded
//! zone, at their first start and when they come back from their children.

use std::collections::HashSet;

use awo_domain::RunId;
use awo_execution::dispatcher::first_in_turn;
use awo_local::ecs::Conduct;
use awo_store::runs::lifecycle::lease::Lease;
use awo_tests::world::World;
use serde_json::json;

use crate::families::Step as Of;
use crate::families::{Family, WAITS};
use crate::story::Step::{Cancel, Claim, Create, Dispatch, Finish, Report, Start};
use crate::story::Story;

const VCPUS: &str = "You've reached the limit on the number of vCPUs you can run concurrently";

async fn full_world() -> World {
    refusing_world(Conduct {
        starts_nothing: Some(VCPUS.to_owned()),
        ..Conduct::default()
    })
    .await
}

async fn refusing_world(conduct: Conduct) -> World {
    let world = World::with_tasks(1).await;
    world.set_conduct(conduct);
    world
}

async fn lease(story: &Story<'_>, run: &RunId) -> Option<Lease> {
    let lease = story.world.store.lease(&story.org.id, run).await;
    lease.expect("an answer")
}

/// A run that was dispatched and has come back.
async fn came_back(world: &World) -> Story<'_> {
    let mut story = Story::new(world).await;
    story.insist(Create).await;
    world.lose_wake_ups().await;
    story.insist(Dispatch).await;
    let run = story.run().await;
    assert_eq!(run.status.as_str(), "building");
    world.cloud.clock.advance(61_000);
    world.sound.sweep().await.expect("a sweep");
    story.holds("after a minute without capacity").await;
    assert_eq!(story.run().await.status.as_str(), "queued");
    assert_eq!(story.work_order().await.status.as_str(), "queued");
    assert!(
        lease(&story, &run.run_id).await.is_none(),
        "slot and permit are free"
    );
    story
}

#[tokio::test]
async fn a_run_without_capacity_gives_its_slot_back_after_a_minute_and_waits_until_there_is_some() {
    let world = full_world().await;
    let mut story = came_back(&world).await;
    // Longer than a task may take to start.
    for _ in 0..15 {
        world.sweep_after_a_minute().await;
        let run = story.run().await;
        assert!(!run.status.is_terminal(), "{run:?}");
        story.holds("while there is no capacity").await;
    }
    world.set_conduct(Conduct::default());
    for _ in 0..3 {
        world.sweep_after_a_minute().await;
    }
    let run = story.run().await;
    let held = lease(&story, &run.run_id).await.expect("a lease");
    let task = held.task_arn.expect("a task");
    assert!(held.came_back > 1, "{}", held.came_back);
    for step in [Claim, Report, Finish] {
        story.insist(step).await;
    }
    world.stop_task(&task).await;
    world.sweep_after_a_minute().await;
    let run = story.run().await;
    assert_eq!(run.status.as_str(), "succeeded");
    assert!(story.holds("at the end").await.is_at_rest());
    world.nothing_lives().await;
}

#[tokio::test]
async fn a_throttle_or_a_fault_of_the_account_that_names_a_parameter_ends_no_run() {
    for message in [
        "Request limit exceeded.",
        "The subnet ID 'subnet-1' does not exist",
    ] {
        let world = refusing_world(Conduct {
            refuses_tasks: Some(message.to_owned()),
            ..Conduct::default()
        })
        .await;
        let story = came_back(&world).await;
        for _ in 0..15 {
            world.sweep_after_a_minute().await;
            let run = story.run().await;
            assert!(!run.status.is_terminal(), "{message}: {run:?}");
        }
    }
}

#[tokio::test]
async fn a_run_that_waits_for_capacity_can_be_canceled_and_replaced() {
    let world = full_world().await;
    let mut story = came_back(&world).await;
    let replaced = story.run().await.run_id;
    story.insist(Start).await;
    let run = story.run().await;
    assert_ne!(run.run_id, replaced);
    story.holds("after the start").await;
    for _ in 0..3 {
        world.sweep_after_a_minute().await;
    }
    story.holds("after it came back, too").await;
    story.insist(Cancel).await;
    for _ in 0..15 {
        world.sweep_after_a_minute().await;
    }
    assert_eq!(story.run().await.status.as_str(), "canceled");
    assert!(story.holds("at the end").await.is_at_rest());
}

/// A parent whose child has ended and which is to come back, and a work order behind it in the queue.
async fn comes_back_beside_another(world: &World) -> (Family<'_>, String) {
    let mut family = Family::new(world).await;
    let whole_child = [Of::Done(1), Of::TaskStopped(1)];
    for step in WAITS.iter().chain(&whole_child) {
        family.insist(*step).await;
    }
    let behind = json!({
        "taskPrompt": "fix it", "limits": { "maxCredits": 10 },
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
    });
    let made = world.sound.create(&family.org, &behind, None).await;
    assert_eq!(made.status, 201, "{}", made.text);
    world.lose_wake_ups().await;
    (family, made.body["id"].as_str().expect("an id").to_owned())
}

#[tokio::test]
async fn a_resumed_run_without_capacity_gives_its_slot_back_after_a_minute_and_stays_first_in_the_queue()
 {
    let world = World::with_tasks(1).await;
    let (mut family, behind) = comes_back_beside_another(&world).await;
    let org = family.org.clone();
    let (parent, run) = family.of(0).await;
    world.set_conduct(Conduct {
        starts_nothing: Some(VCPUS.to_owned()),
        ..Conduct::default()
    });
    family.insist(Of::Dispatch).await;
    let held = family.lease(0).await.expect("the slot");
    assert!(held.task_arn.is_none(), "{held:?}");
    world.cloud.clock.advance(61_000);
    world.sound.sweep().await.expect("a sweep");
    family.holds("after a minute without capacity").await;

    assert!(family.lease(0).await.is_none(), "slot and permit are free");
    let queue = world.store.queue(&org.id).await.expect("the queue");
    assert_eq!((queue.tally.slots, queue.entries.len()), (0, 2));
    assert_eq!(
        first_in_turn(&queue, None, &HashSet::new()),
        Some(parent.clone())
    );
    let order = world.store.work_order(&org.id, &parent).await;
    let order = order.expect("an answer").expect("a work order");
    assert_eq!(order.status.as_str(), "waiting_for_children");
    let waits = world.store.run(&org.id, &run).await;
    let waits = waits.expect("an answer").expect("a run");
    assert_eq!(
        (waits.status.as_str(), waits.is_suspended()),
        ("running", true)
    );

    // Longer than a task may take to start.
    for _ in 0..12 {
        world.sweep_after_a_minute().await;
        family.holds("while there is no capacity").await;
    }
    let canceled = world.sound.cancel(&org, &behind).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    world.set_conduct(Conduct::default());
    for _ in 0..3 {
        world.sweep_after_a_minute().await;
    }
    // The deployment has one permit: it was free.
    let held = family.lease(0).await.expect("a lease");
    let task = held.task_arn.clone().expect("a task");
    assert!(held.came_back > 1, "{}", held.came_back);
    for step in [Of::Claim(2), Of::Begin(2), Of::Done(2)] {
        family.insist(step).await;
    }
    world.stop_task(&task).await;
    let dump = family.rests("at the end").await;
    let order = world.store.work_order(&org.id, &parent).await;
    let order = order.expect("an answer").expect("a work order");
    assert_eq!(order.status.as_str(), "succeeded", "{dump:#?}");
    world.nothing_lives().await;
}
