//! Without webhooks an organization's events cost only their timeline entries, and from its first
//! webhook on none is missed.

use std::collections::BTreeSet;

use awo_cloud::{Cloud, Environment};
use awo_store::Store;
use awo_store::engine::idempotency::RequestOutcome;
use awo_tests::faults::{Fault, Faults};
use awo_tests::subscriber_rules::Event;
use awo_tests::world::World;

use crate::story::{Step, Story};

/// More calls than the creation of a webhook takes.
const MOST_CALLS: u32 = 12;
/// From its creation to its end.
const WHOLE: [Step; 6] = [
    Step::Create,
    Step::Dispatch,
    Step::Claim,
    Step::Report,
    Step::Finish,
    Step::TaskStopped,
];

async fn story_without_webhooks(world: &World) -> Story<'_> {
    let org = world.org_without_webhooks(100_000).await;
    Story::of(world, org)
}

/// Events of an organization that webhooks get.
#[derive(Debug)]
struct Events {
    in_timelines: BTreeSet<Event>,
    in_outbox: BTreeSet<Event>,
}

async fn events(story: &Story<'_>) -> Events {
    let dump = story.dump().await;
    Events {
        in_timelines: dump.events_for_webhooks(),
        in_outbox: dump.events_in_outbox(),
    }
}

async fn go(story: &mut Story<'_>, steps: &[Step]) {
    for step in steps {
        story.insist(*step).await;
        story.holds(&format!("after {step:?}")).await;
    }
}

fn messages_of(calls: &[String]) -> usize {
    let messages = calls.iter().filter(|call| call.contains(".SendMessage"));
    messages.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_an_organization_without_webhooks_leaves_nothing_for_the_deliverer() {
    let world = World::new().await;
    let mut story = story_without_webhooks(&world).await;
    go(&mut story, &WHOLE).await;
    let reported = events(&story).await;
    assert_eq!(
        reported.in_timelines.len(),
        3,
        "created, started, completed"
    );
    assert!(reported.in_outbox.is_empty(), "{reported:?}");
    assert_eq!(world.notifications_left(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_costs_one_transaction_with_webhooks_and_without() {
    let world = World::new().await;
    for has_webhooks in [false, true] {
        let mut story = story_without_webhooks(&world).await;
        if has_webhooks {
            world.add_webhook(&story.org).await;
            // The process sees that there are webhooks.
            story.once(Step::Create, &world.faulty).await;
        }
        let before = events(&story).await.in_outbox.len();
        world.faults.disarm();
        let body = crate::http_api::order();
        let made = world.faulty.create(&story.org, &body, None).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let calls = world.faults.seen();
        let transactions = calls
            .iter()
            .filter(|call| call.ends_with("TransactWriteItems"));
        assert_eq!(transactions.count(), 1, "{calls:?}");
        // The wake-up of the dispatcher, and the outbox notification.
        assert_eq!(
            messages_of(&calls),
            1 + usize::from(has_webhooks),
            "{calls:?}"
        );
        let after = events(&story).await.in_outbox.len();
        assert_eq!(after - before, usize::from(has_webhooks));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_after_the_first_webhook_enters_the_outbox_whatever_was_under_way() {
    let world = World::new().await;
    for begun in 0..WHOLE.len() {
        let mut story = story_without_webhooks(&world).await;
        go(&mut story, &WHOLE[..begun]).await;
        let before = events(&story).await;
        assert!(before.in_outbox.is_empty(), "{begun}: {before:?}");
        world.add_webhook(&story.org).await;
        go(&mut story, &WHOLE[begun..]).await;
        let after = events(&story).await;
        let missed: Vec<_> = after.in_timelines.difference(&after.in_outbox).collect();
        let older: Vec<_> = before.in_timelines.iter().collect();
        assert_eq!(missed, older, "{begun}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_after_the_first_webhook_enters_the_outbox() {
    let world = World::new().await;
    for begun in 1..4 {
        let mut story = story_without_webhooks(&world).await;
        go(&mut story, &WHOLE[..begun]).await;
        world.add_webhook(&story.org).await;
        go(&mut story, &[Step::Cancel]).await;
        assert_eq!(events(&story).await.in_outbox.len(), 1, "{begun}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_last_webhook_is_deleted_events_stay_in_the_timeline() {
    let world = World::new().await;
    let mut story = story_without_webhooks(&world).await;
    let (first, second) = (
        world.add_webhook(&story.org).await,
        world.add_webhook(&story.org).await,
    );
    let store = &world.store;
    store.delete_webhook(&story.org.id, &first).await.unwrap();
    go(&mut story, &[Step::Create]).await;
    assert_eq!(events(&story).await.in_outbox.len(), 1, "one is left");
    store.delete_webhook(&story.org.id, &second).await.unwrap();
    while world.deliver_notifications(&world.sound).await {}
    assert!(events(&story).await.in_outbox.is_empty(), "cleaned up");
    go(&mut story, &WHOLE[1..]).await;
    let reported = events(&story).await;
    assert!(reported.in_outbox.is_empty() && reported.in_timelines.len() == 3);
    // And on again.
    world.add_webhook(&story.org).await;
    let made = world
        .sound
        .create(&story.org, &crate::http_api::order(), None)
        .await;
    assert_eq!(made.status, 201);
    assert_eq!(events(&story).await.in_outbox.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deliverer_notes_that_there_are_no_webhooks_where_nobody_has() {
    let world = World::new().await;
    let mut story = story_without_webhooks(&world).await;
    // A first webhook whose creation broke off leaves the organization as one with webhooks.
    let store = faulty_store(&world).await;
    let webhook = world.disabled_webhook();
    store.0.arm(3, Fault::CrashBefore);
    let creation = store.1.create_webhook(&story.org.id, &webhook, None);
    assert!(store.0.until_crash(creation).await.is_none());
    go(&mut story, &[Step::Create]).await;
    assert_eq!(events(&story).await.in_outbox.len(), 1);
    while world.deliver_notifications(&world.sound).await {}
    go(&mut story, &WHOLE[1..]).await;
    assert!(events(&story).await.in_outbox.is_empty());
    assert_eq!(world.notifications_left(), 0);
}

async fn faulty_store(world: &World) -> (Faults, Store) {
    let settings = world.settings.clone();
    let environment = Environment::new(move |name| settings.get(name).cloned());
    let faults = Faults::default();
    let cloud = Cloud::new(environment, faults.client(world.http.clone()));
    (faults, cloud.store().expect("settings"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_the_creation_of_the_first_webhook_goes_wrong_no_event_after_it_is_missed() {
    let world = World::new().await;
    let (faults, store) = faulty_store(&world).await;
    let mut fired = 0;
    for fault in Fault::ALL {
        for nth in 1..=MOST_CALLS {
            let mut story = story_without_webhooks(&world).await;
            go(&mut story, &WHOLE[..3]).await;
            let webhook = world.disabled_webhook();
            faults.arm(nth, fault);
            let creation = store.create_webhook(&story.org.id, &webhook, None);
            let made = faults.until_crash(creation).await;
            let was_wrong = faults.disarm();
            let when = format!("{fault:?} {nth}");
            story.holds(&when).await;
            let before = events(&story).await.in_timelines;
            let is_there = store.webhook(&story.org.id, &webhook.id).await.unwrap();
            if let Some(Ok(RequestOutcome::New(()))) = made {
                assert!(is_there.is_some(), "{when}");
            }
            go(&mut story, &WHOLE[3..]).await;
            let after = events(&story).await;
            if is_there.is_some() {
                let missed = after.in_timelines.difference(&after.in_outbox);
                assert_eq!(
                    missed.cloned().collect::<Vec<_>>(),
                    before.into_iter().collect::<Vec<_>>(),
                    "{when}"
                );
            }
            if !was_wrong {
                break;
            }
            fired += 1;
        }
    }
    assert!(fired > 2 * Fault::ALL.len(), "{fired} calls went wrong");
}
