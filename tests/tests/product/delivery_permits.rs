//! Delivery permits for receivers, and batched changes of deliveries and delivery permits.

use std::time::Duration;

use awo_cloud::{Cloud, Environment};
use awo_domain::webhook::EventType;
use awo_domain::webhook::delivery::DeliveryEvent;
use awo_domain::{AttemptId, DeliveryId, EventId, OrgId, Timestamp, WebhookId};
use awo_store::Store;
use awo_store::webhooks::deliveries::{Delivery, Notice};
use awo_store::webhooks::delivery_permits::{BeginOutcome, PermitRequest};
use awo_store::webhooks::send_permits::SendPermit;
use awo_tests::everything::everything_of;
use awo_tests::faults::Faults;
use awo_tests::rules;
use awo_tests::world::World;

/// Longest wait for what is sure to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a delivery permit is held.
const HELD_MS: i64 = 60_000;

fn wanted(holder: &str, now: Timestamp) -> PermitRequest {
    PermitRequest {
        holder: holder.to_owned(),
        now,
        until: now.plus_ms(HELD_MS),
    }
}

/// A sender's permit for the organization, which delivery permits are taken with.
async fn sender(store: &Store, org: &OrgId, now: Timestamp) -> SendPermit {
    let wanted = wanted("sender", now);
    store.take_send_permit(org, &wanted).await.unwrap()
}

fn new_webhook(world: &World, now: Timestamp) -> WebhookId {
    WebhookId::new(now, world.cloud.mint.random(now))
}

/// A delivery that is due.
async fn due(store: &Store, org: &OrgId, webhook: &WebhookId, now: Timestamp) -> Delivery {
    let notice = Notice {
        event_id: EventId::new(now, 1),
        event_type: EventType::RunCreated,
        run_id: None,
        body: "{}".to_owned(),
    };
    let due = Delivery::new(DeliveryId::new(now, 1), org, webhook, notice, now);
    store.create_delivery(&due, None).await.unwrap();
    due
}

fn has(begun: &BeginOutcome) -> bool {
    matches!(begun, BeginOutcome::WithPermit(..))
}

#[tokio::test]
async fn changes_that_are_made_together_are_no_others_loss() {
    let world = World::new().await;
    let (org, now) = (world.org(1).await.id, world.cloud.clock.now());
    let store = world.store.clone().with_write_batches();
    let (one, other) = (new_webhook(&world, now), new_webhook(&world, now));
    let sender = sender(&world.store, &org, now).await;
    let take = async |webhook, holder: &str| {
        let wanted = wanted(holder, now);
        store
            .take_delivery_permit((&sender, webhook), &[0], &wanted)
            .await
    };
    // Nobody waits for who asked first and is gone.
    {
        let (mut gone, mut left) = (Box::pin(take(&one, "a")), Box::pin(take(&other, "b")));
        assert!(futures::poll!(&mut gone).is_pending());
        assert!(futures::poll!(&mut left).is_pending());
        drop(gone);
        let left = tokio::time::timeout(PATIENCE, left).await;
        assert!(left.expect("nobody waits").unwrap().is_some());
    }
    // What is refused is refused alone.
    let (refused, taken) = tokio::join!(take(&other, "c"), take(&one, "d"));
    assert!(refused.unwrap().is_none(), "it is held");
    assert!(taken.unwrap().is_some(), "it was free: who asked was gone");
}

#[tokio::test]
async fn several_who_want_a_delivery_permit_to_the_same_receiver_at_once_get_one_each_in_one_transaction()
 {
    let world = World::new().await;
    let (org, now) = (world.org(1).await.id, world.cloud.clock.now());
    let settings = world.settings.clone();
    let environment = Environment::new(move |name| settings.get(name).cloned());
    let faults = Faults::default();
    let cloud = Cloud::new(environment, faults.client(world.http.clone()));
    let store = cloud.store().unwrap().with_write_batches();
    let webhook = new_webhook(&world, now);
    let sender = sender(&store, &org, now).await;
    let take = async |holder: &str| {
        let wanted = wanted(holder, now);
        let taken = store.take_delivery_permit((&sender, &webhook), &[0, 1, 2, 3], &wanted);
        taken.await.unwrap()
    };
    faults.disarm();
    let taken = tokio::join!(take("a"), take("b"), take("c"), take("d"));
    let (Some(a), Some(b), Some(c), Some(d)) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!((faults.seen().len(), faults.refused()), (1, 0));
    // One gives its delivery permit back as two others want one: the delivery permit is for one of them.
    faults.disarm();
    let (_, e, f) = tokio::join!(store.leave_delivery_permit(c), take("e"), take("f"));
    let held = [Some(a), Some(b), Some(d), e, f];
    let held: Vec<_> = held
        .into_iter()
        .flatten()
        .map(|delivery_permit| format!("{delivery_permit:?}"))
        .collect();
    let different: std::collections::BTreeSet<_> = held.iter().collect();
    assert!(held.len() <= 4 && different.len() == held.len(), "{held:?}");
}

#[tokio::test]
async fn a_delivery_permit_is_taken_with_the_attempt_in_it_or_neither_is() {
    let world = World::new().await;
    let alone = world.store.clone();
    for store in [alone.clone(), alone.clone().with_write_batches()] {
        let (cloud, org) = (&world.cloud, world.org(1).await.id);
        let now = cloud.clock.now();
        let webhook = new_webhook(&world, now);
        let due = due(&alone, &org, &webhook, now).await;
        let wanted = |holder: &str| wanted(holder, now);
        let sender = sender(&alone, &org, now).await;
        let to = (&sender, &webhook);
        let taken = alone
            .take_delivery_permit(to, &[0], &wanted("other"))
            .await
            .unwrap();
        assert!(taken.is_some());
        let begin = async |delivery_permits: &[u32], holder: &str| {
            let id = AttemptId::new(now, cloud.mint.random(now));
            let begun = due.after(DeliveryEvent::Begun(id, now)).unwrap();
            store
                .begin_in_delivery_permit((&sender, begun), delivery_permits, &wanted(holder))
                .await
        };
        // Its delivery permit is held: the attempt is not noted.
        let busy = begin(&[0], "a").await.unwrap();
        assert!(matches!(busy, BeginOutcome::Busy), "{busy:?}");
        let found = alone.delivery(&org, &webhook, &due.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(&due));
        // Of two who make the same attempt beside each other, one has the delivery permit and the attempt.
        let (one, other) = tokio::join!(begin(&[0, 1], "b"), begin(&[2], "c"));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(has(&one) != has(&other), "{one:?} {other:?}");
        let found = alone.delivery(&org, &webhook, &due.id).await.unwrap();
        assert_eq!(found.expect("a delivery").progress.attempts.len(), 1);
        // And the other has not taken its delivery permit.
        let delivery_permit = if has(&one) { 2 } else { 1 };
        let free = alone
            .take_delivery_permit(to, &[delivery_permit], &wanted("d"))
            .await
            .unwrap();
        assert!(free.is_some(), "delivery_permit {delivery_permit}");
    }
}

#[tokio::test]
async fn who_finds_a_delivery_permit_held_takes_the_next_and_what_is_made_beside_it_is_made_once() {
    let world = World::new().await;
    let (org, now) = (world.org(1).await.id, world.cloud.clock.now());
    let (one, other) = (new_webhook(&world, now), new_webhook(&world, now));
    let alone = &world.store;
    let sender = sender(alone, &org, now).await;
    let held = alone
        .take_delivery_permit((&sender, &one), &[0], &wanted("a", now))
        .await;
    assert!(held.unwrap().is_some());
    let store = alone.clone().with_write_batches();
    let begin = async |webhook: &WebhookId, delivery_permits: &[u32], holder: &str| {
        let due = due(alone, &org, webhook, now).await;
        let begun = due
            .after(DeliveryEvent::Begun(
                AttemptId::new(now, world.cloud.mint.random(now)),
                now,
            ))
            .unwrap();
        let wanted = wanted(holder, now);
        store
            .begin_in_delivery_permit((&sender, begun), delivery_permits, &wanted)
            .await
            .unwrap()
    };
    let (begun, beside) = tokio::join!(begin(&one, &[0, 1], "b"), begin(&other, &[0], "c"));
    assert!(has(&begun) && has(&beside), "{begun:?} {beside:?}");
    for (webhook, delivery_permits) in [(&one, [0, 1].as_slice()), (&other, &[0])] {
        let wanted = wanted("d", now);
        let taken = alone
            .take_delivery_permit((&sender, webhook), delivery_permits, &wanted)
            .await;
        assert!(taken.unwrap().is_none(), "{delivery_permits:?} are held");
        let id = DeliveryId::new(now, 1);
        let found = alone.delivery(&org, webhook, &id).await.unwrap();
        assert_eq!(found.expect("a delivery").progress.attempts.len(), 1);
    }
}

#[tokio::test]
async fn a_delivery_permit_that_is_taken_again_since_the_reply_was_lost_is_one_permit() {
    let world = World::new().await;
    let alone = world.store.clone();
    for store in [alone.clone(), alone.clone().with_write_batches()] {
        let (org, now) = (world.org(1).await.id, world.cloud.clock.now());
        let webhook = new_webhook(&world, now);
        let due = due(&alone, &org, &webhook, now).await;
        let begun = due
            .after(DeliveryEvent::Begun(
                AttemptId::new(now, world.cloud.mint.random(now)),
                now,
            ))
            .unwrap();
        let sender = sender(&alone, &org, now).await;
        let begin = async || {
            let wanted = wanted("a", now);
            let begun = (&sender, begun.clone());
            let begun = store.begin_in_delivery_permit(begun, &[0, 1], &wanted);
            begun.await.unwrap()
        };
        let (first, again) = (begin().await, begin().await);
        assert!(has(&first) && has(&again), "{first:?} {again:?}");
        // The same without an attempt.
        let (to, ours, other) = ((&sender, &webhook), wanted("b", now), wanted("c", now));
        for _ in 0..2 {
            let taken = store.take_delivery_permit(to, &[2, 3], &ours).await;
            assert!(taken.unwrap().is_some());
        }
        for left in [1, 3] {
            let free = alone.take_delivery_permit(to, &[left], &other).await;
            assert!(
                free.unwrap().is_some(),
                "delivery_permit {left} was taken, too"
            );
        }
    }
}

#[tokio::test]
async fn a_delivery_permit_that_is_given_back_is_gone_and_one_that_expired_is_its_new_holders() {
    let world = World::new().await;
    let (org, now) = (world.org(1).await.id, world.cloud.clock.now());
    let (webhook, store) = (new_webhook(&world, now), &world.store);
    let sender = sender(store, &org, now).await;
    let take = async |holder: &str, now: Timestamp| {
        let wanted = wanted(holder, now);
        store
            .take_delivery_permit((&sender, &webhook), &[0], &wanted)
            .await
    };
    let delivery_permit = take("a", now).await.unwrap().expect("it is free");
    let later = now.plus_ms(HELD_MS);
    let taken_over = take("b", later).await.unwrap().expect("it has expired");
    store.leave_delivery_permit(delivery_permit).await;
    assert!(take("c", later).await.unwrap().is_none(), "it is held");
    store.leave_delivery_permit(taken_over).await;
    let all = everything_of(&rules::client(&world.cloud), &org).await;
    let left: Vec<_> = all
        .iter()
        .filter(|item| item.contains("#delivery_permit"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
