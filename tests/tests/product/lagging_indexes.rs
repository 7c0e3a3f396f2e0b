//! The product on indexes that lag behind their tables, as the cloud's do.

use std::time::Duration;

use awo_domain::work_order::WorkOrderStatus;
use awo_local::index_lag::Staleness;
use awo_store::work_orders::WorkOrderFilter;
use awo_tests::world::{Org, World};
use serde_json::json;

use crate::story::Step::{Claim, Create, Dispatch, Report, TaskStopped};
use crate::story::Story;

async fn running(world: &World, org: &Org) -> usize {
    let filter = WorkOrderFilter {
        status: Some(WorkOrderStatus::Running),
        ..WorkOrderFilter::default()
    };
    let listed = world.store.work_orders(&org.id, &filter, (10, 0), None);
    listed.await.expect("a list").0.items.len()
}

async fn until_report(world: &World) -> Story<'_> {
    let mut story = Story::new(world).await;
    for step in [Create, Dispatch, Claim, Report] {
        story.insist(step).await;
    }
    story
}

#[tokio::test]
async fn an_index_of_the_stand_in_shows_a_write_only_after_its_lag() {
    let world = World::stale(&[], Duration::from_secs(30)).await;
    let story = until_report(&world).await;
    assert_eq!(running(&world, &story.org).await, 0);
    world.cloud.clock.advance(31_000);
    assert_eq!(running(&world, &story.org).await, 1);
    // Without a lag it shows what is there.
    world.index_lag.set(Staleness::Of(Duration::ZERO));
    let story = until_report(&world).await;
    assert_eq!(running(&world, &story.org).await, 1);
}

#[tokio::test]
async fn writes_meet_rivals_in_an_unkind_world_and_the_run_comes_to_its_end() {
    let world = World::unkind(&[]).await;
    let mut story = until_report(&world).await;
    world
        .faults
        .arm(u32::MAX, awo_tests::faults::Fault::Throttle);
    let body = serde_json::json!({ "events": [] });
    for _ in 0..30 {
        assert!(story.sends(&world.faulty, "report", &body).await);
    }
    assert!(world.faults.refused() > 0, "no write met a rival");
    world.faults.disarm();
    story.insist(crate::story::Step::Finish).await;
    story.insist(TaskStopped).await;
    assert_eq!(story.run().await.status.as_str(), "succeeded");
    story.holds("at the end").await;
}

#[tokio::test]
async fn a_report_moves_its_deadline_only_when_half_of_it_is_left() {
    let world = World::new().await;
    let story = until_report(&world).await;
    let deadline = async || {
        let run = story.run().await.run_id;
        let lease = world.store.lease(&story.org.id, &run).await.unwrap();
        lease.expect("a lease").due_at
    };
    let run = story.run().await.run_id;
    let reported = world.store.lease(&story.org.id, &run).await.unwrap();
    let reported = reported.expect("a lease").reported;
    let (mut moves, mut last) = (0, deadline().await);
    for number in reported + 1..=reported + 45 {
        world.cloud.clock.advance(1_000);
        let output =
            json!({ "type": "agentOutput", "iteration": 1, "text": "x", "leftOutBytes": 0 });
        let event = json!({ "number": number, "at": world.cloud.clock.now(), "event": output });
        let report = json!({ "events": [event], "executed": true });
        assert!(story.sends(&world.sound, "report", &report).await);
        let now = deadline().await;
        assert!(now - world.cloud.clock.now().epoch_ms() >= 10_000);
        moves += u32::from(now != last);
        last = now;
    }
    assert!((3..=5).contains(&moves), "{moves} moves in 45 s");
    // A silence is counted from the last report, not from the move of its deadline.
    world
        .cloud
        .clock
        .advance(last - world.cloud.clock.now().epoch_ms() + 1);
    world.sound.sweep().await.expect("a sweep");
    let lease = world
        .store
        .lease(&story.org.id, &run)
        .await
        .unwrap()
        .unwrap();
    let heard = lease.heard_at.expect("a report").epoch_ms();
    assert_eq!((lease.suspected_at, lease.due_at), (None, heard + 20_000));
}

/// The sweep reads of a deadline that has been moved since.
#[tokio::test]
async fn a_run_that_reports_is_not_ended_by_an_index_that_has_not_heard_of_it() {
    let world = World::stale(&[], Duration::ZERO).await;
    let story = until_report(&world).await;
    // From now on the index shows the deadline of this moment for an hour.
    world
        .index_lag
        .set(Staleness::Of(Duration::from_secs(3_600)));
    let body = serde_json::json!({ "events": [] });
    for _ in 0..10 {
        world.cloud.clock.advance(61_000);
        assert!(story.sends(&world.sound, "report", &body).await);
        let swept = world.sound.sweep().await.expect("a sweep");
        assert_eq!(swept["failed"], 0, "{swept}");
    }
    assert_eq!(story.run().await.status.as_str(), "running");
    assert!(story.living_task().await.is_some());
    story.holds("after ten sweeps").await;
}

#[tokio::test]
async fn a_minute_without_reports_ends_no_run_whose_task_lives() {
    let world = World::new().await;
    let mut story = until_report(&world).await;
    let body = serde_json::json!({ "events": [] });
    for _ in 0..3 {
        // The first sweep finds it silent, the second one suspected.
        for _ in 0..2 {
            world.cloud.clock.advance(61_000);
            world.sound.sweep().await.expect("a sweep");
            assert_eq!(story.run().await.status.as_str(), "running");
        }
        // Its next word ends the suspicion.
        assert!(story.sends(&world.sound, "report", &body).await);
    }
    // Without its task it ends at once.
    story.prepare(TaskStopped).await;
    world.cloud.clock.advance(61_000);
    world.sound.sweep().await.expect("a sweep");
    assert_eq!(story.run().await.status.as_str(), "failed");
    story.holds("at the end").await;
}
