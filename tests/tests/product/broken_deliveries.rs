//! Every AWS call of a deliverer fails in every way; no delivery is lost, none has an additional
//! attempt, and none is written twice. Afterwards no caller returns and every message is lost: time
//! and the sweep alone finish it.

use std::collections::BTreeSet;
use std::time::Duration;

use awo_domain::WebhookId;
use awo_domain::webhook::WebhookContent;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::delivery::BEGIN_MS;
use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::schedule::MAX_ATTEMPTS;
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::webhook::{DeliveryStatus, EventType, WebhookKind};
use awo_store::webhooks::Webhook;
use awo_store::webhooks::deliveries::Delivery;
use awo_store::webhooks::notifications::Notification;
use awo_tests::faults::Fault;
use awo_tests::receiver::{Answer, Receiver};
use awo_tests::world::{Org, World};
use serde_json::json;

use crate::http_api::order;

/// More calls than a batch makes; the test finds the real number itself.
const MAX_CALLS: u32 = 40;
/// Events of one look into the outbox. The first is sent at once, the next alone, to see what the
/// receiver is like, and the others together.
const TOGETHER: usize = 4;
/// Messages of one batch.
const BATCH: usize = 10;
/// Minutes after which every delivery is over: all delays, each with a lost message.
const MINUTES: u32 = 200;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    FanOut,
    Attempt,
    Together,
}

impl Step {
    fn events(self) -> usize {
        match self {
            Step::FanOut => 1,
            Step::Attempt => 2,
            Step::Together => TOGETHER,
        }
    }
}

struct WebhookOrg {
    org: Org,
    webhook: WebhookId,
}

/// An organization whose one webhook is to get so many events.
async fn with_events(world: &World, receiver: &Receiver, events: usize) -> WebhookOrg {
    let (cloud, org) = (&world.cloud, world.org(10_000).await);
    let now = cloud.clock.now();
    let webhook = WebhookId::new(now, cloud.mint.random(now));
    let content = WebhookContent {
        url: WebhookUrl::parse(&receiver.url, Reach::PublicAndLoopback).unwrap(),
        events: vec![EventType::RunCreated],
        description: None,
        kind: WebhookKind::Events,
        headers: SecretHeaders::default(),
    };
    let secret = cloud.mint.webhook_secret();
    let made = Webhook::new(webhook.clone(), content, secret, now);
    world
        .store
        .create_webhook(&org.id, &made, None)
        .await
        .unwrap();
    for _ in 0..events {
        let created = world.sound.create(&org, &order(), None).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }
    WebhookOrg { org, webhook }
}

impl WebhookOrg {
    async fn deliveries(&self, world: &World) -> Vec<Delivery> {
        let (org, webhook) = (&self.org.id, &self.webhook);
        let found = world
            .store
            .deliveries(org, webhook, None, (10, 0), None)
            .await;
        found.unwrap().0.items
    }

    async fn come_to_their_end(&self, world: &World, events: usize, case: &str) -> Vec<Delivery> {
        for _ in 0..MINUTES {
            let found = self.deliveries(world).await;
            assert!(found.len() <= events, "{case}: {found:#?}");
            let are_over = found
                .iter()
                .all(|found| found.progress.status.is_terminal());
            if found.len() == events && are_over {
                return found;
            }
            world.cloud.clock.advance(61_000);
            world.sound.sweep().await.unwrap();
            while world.deliver_notifications(&world.sound).await {}
        }
        panic!("{case}: {:#?}", self.deliveries(world).await);
    }
}

/// One call goes wrong. False if there was no such call.
async fn goes_wrong(
    world: &World,
    receiver: &Receiver,
    step: Step,
    (nth, fault): (u32, Fault),
) -> bool {
    let events = step.events();
    let subscriber = with_events(world, receiver, events).await;
    if step != Step::FanOut {
        assert!(
            world.deliver_notifications(&world.sound).await,
            "the outbox"
        );
        assert_eq!(subscriber.deliveries(world).await.len(), events);
    }
    world.faults.arm(nth, fault);
    let batch = world.deliver_notifications(&world.faulty);
    world.faults.until_crash(batch).await;
    let fired = world.faults.disarm();
    world.lose_wake_ups().await;
    let case = format!("{step:?}, call {nth}: {fault:?}");
    for over in subscriber.come_to_their_end(world, events, &case).await {
        assert_eq!(
            over.progress.status,
            DeliveryStatus::Delivered,
            "{case}: {over:#?}"
        );
        assert!(
            over.progress.attempts.len() <= 2,
            "{case}: one fault uses up one attempt: {over:#?}"
        );
        let heard = heard_of(receiver, &over);
        assert!(
            (1..=over.progress.attempts.len()).contains(&heard),
            "{case}: {heard} of {over:#?}"
        );
    }
    let left = world.store.outbox(&subscriber.org.id, 10).await.unwrap();
    assert!(left.items.is_empty(), "{case}: {left:?}");
    fired
}

/// How often the receiver heard of what is delivered.
fn heard_of(receiver: &Receiver, delivery: &Delivery) -> usize {
    let heard = receiver.heard();
    let id = delivery.event_id.as_str();
    heard.iter().filter(|heard| heard.body["id"] == id).count()
}

async fn each_call_goes_wrong(step: Step) {
    let world = World::new().await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    for fault in Fault::ALL {
        let mut calls = 0;
        for nth in 1..=MAX_CALLS {
            if !goes_wrong(&world, &receiver, step, (nth, fault)).await {
                break;
            }
            calls = nth;
        }
        assert!((1..MAX_CALLS).contains(&calls), "{step:?}: {calls} calls");
    }
}

#[tokio::test]
async fn no_event_is_lost_or_doubled_on_its_way_out_of_the_outbox() {
    each_call_goes_wrong(Step::FanOut).await;
}

#[tokio::test]
async fn no_delivery_is_lost_and_none_gets_an_attempt_too_many() {
    each_call_goes_wrong(Step::Attempt).await;
}

#[tokio::test]
async fn of_deliveries_that_are_attempted_together_none_is_lost_or_gets_an_attempt_too_many() {
    each_call_goes_wrong(Step::Together).await;
}

#[tokio::test]
async fn an_event_is_sent_by_the_deliverer_that_takes_it_out_of_the_outbox_and_has_a_message_if_that_fails()
 {
    let world = World::new().await;
    let receiver = Receiver::start(&[Answer::Status(200), Answer::Status(503)]).await;
    let one = with_events(&world, &receiver, 1).await;
    assert!(
        world.deliver_notifications(&world.sound).await,
        "the outbox"
    );
    let found = &one.deliveries(&world).await[0];
    assert_eq!(
        found.progress.status,
        DeliveryStatus::Delivered,
        "{found:#?}"
    );
    assert_eq!(receiver.heard().len(), 1);
    assert!(
        !world.deliver_notifications(&world.sound).await,
        "no message"
    );
    let other = with_events(&world, &receiver, 1).await;
    assert!(
        world.deliver_notifications(&world.sound).await,
        "the outbox"
    );
    assert!(
        world.deliver_notifications(&world.sound).await,
        "the delivery"
    );
    let found = &other.deliveries(&world).await[0];
    assert_eq!(found.progress.status, DeliveryStatus::Pending, "{found:#?}");
    assert_eq!(
        (found.progress.attempts.len(), receiver.heard().len()),
        (1, 2)
    );
}

#[tokio::test]
async fn deliverers_with_the_same_messages_make_each_attempt_once() {
    let world = World::new().await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let subscriber = with_events(&world, &receiver, BATCH).await;
    assert!(
        world.deliver_notifications(&world.sound).await,
        "the outbox"
    );
    let notifications: Vec<Notification> = subscriber
        .deliveries(&world)
        .await
        .iter()
        .map(due)
        .collect();
    assert_eq!(notifications.len(), BATCH);
    // Each deliverer has a batch of all, beside the messages that are there.
    let queue = world.cloud.notification_queue().unwrap();
    queue.send(&notifications).await.unwrap();
    let batch = || world.deliver_notifications(&world.sound);
    assert_eq!(tokio::join!(batch(), batch()), (true, true));
    for over in subscriber.come_to_their_end(&world, BATCH, "rivals").await {
        assert_eq!(over.progress.attempts.len(), 1, "{over:#?}");
        assert_eq!(heard_of(&receiver, &over), 1, "{over:#?}");
    }
}

fn due(delivery: &Delivery) -> Notification {
    Notification::Delivery(delivery.at())
}

#[tokio::test]
async fn what_waits_behind_a_slow_delivery_is_not_shown_as_tried_before_it_is() {
    let world = World::new().await;
    // The second is quick, so that the others are noted together; then no time is left for the last.
    let slow = Duration::from_millis(BEGIN_MS.unsigned_abs() + 200);
    let quick = Answer::Status(200);
    let answers = [quick, quick, Answer::Late(slow, 200), quick];
    let receiver = Receiver::start(&answers).await;
    let subscriber = with_events(&world, &receiver, TOGETHER).await;
    assert!(
        world.deliver_notifications(&world.sound).await,
        "the outbox"
    );
    assert!(
        world.deliver_notifications(&world.sound).await,
        "the deliveries"
    );
    let over = subscriber.deliveries(&world).await;
    assert_eq!(over.len(), TOGETHER);
    let revisions: BTreeSet<u32> = over.iter().map(|over| over.revision).collect();
    assert_eq!(revisions, BTreeSet::from([2, 3, 5]), "one was taken back");
    for over in over {
        assert_eq!(over.progress.status, DeliveryStatus::Delivered, "{over:#?}");
        assert_eq!(over.progress.attempts.len(), 1, "{over:#?}");
        assert_eq!(heard_of(&receiver, &over), 1, "{over:#?}");
    }
}

#[tokio::test]
async fn a_deliverer_that_always_breaks_off_uses_up_five_attempts() {
    let world = World::new().await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let subscriber = with_events(&world, &receiver, 1).await;
    // Two reads, two calls for the call's permit, the delivery permit, the claim.
    breaks_off(&world, 6).await;
    let receiver_heard = || receiver.heard().len();
    for minute in 0..MINUTES {
        let found = subscriber.deliveries(&world).await;
        if found[0].progress.status.is_terminal() {
            break;
        }
        assert!(minute + 1 < MINUTES, "{found:#?}");
        world.cloud.clock.advance(61_000);
        world.sound.sweep().await.unwrap();
        // One read beside two calls for the permit, the claim with the delivery permit.
        breaks_off(&world, 4).await;
    }
    let over = &subscriber.deliveries(&world).await[0];
    assert_eq!(over.progress.status, DeliveryStatus::Abandoned, "{over:#?}");
    assert_eq!(over.progress.attempts.len(), MAX_ATTEMPTS as usize);
    assert_eq!(receiver_heard(), MAX_ATTEMPTS as usize);
}

#[tokio::test]
async fn of_a_batch_what_is_no_notification_comes_back_alone() {
    let world = World::new().await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let (mut all, mut records) = (Vec::new(), Vec::new());
    let record = |id: usize, body: String| {
        json!({
            "messageId": id.to_string(), "receiptHandle": "unknown", "body": body,
            "eventSource": "aws:sqs", "attributes": { "ApproximateReceiveCount": "1" },
        })
    };
    for number in 0..9 {
        let subscriber = with_events(&world, &receiver, 1).await;
        let notification = Notification::Outbox(subscriber.org.id.clone());
        records.push(record(
            number,
            serde_json::to_string(&notification).unwrap(),
        ));
        all.push(subscriber);
    }
    records.insert(4, record(9, "no notification".to_owned()));
    let answer = world.sound.deliver(&records).await.unwrap();
    let failed = json!([{ "itemIdentifier": "9" }]);
    assert_eq!(answer["batchItemFailures"], failed, "{answer}");
    for subscriber in &all {
        assert_eq!(subscriber.deliveries(&world).await.len(), 1);
        let left = world.store.outbox(&subscriber.org.id, 10).await.unwrap();
        assert!(left.items.is_empty(), "{left:?}");
    }
}

/// A batch whose deliverer breaks off after so many calls, before it notes an end.
async fn breaks_off(world: &World, calls: u32) {
    world.faults.arm(calls + 1, Fault::CrashBefore);
    let batch = world.deliver_notifications(&world.faulty);
    world.faults.until_crash(batch).await;
    world.faults.disarm();
    world.lose_wake_ups().await;
}
