//! Every call to AWS of a deliverer goes wrong in every way, and no delivery is lost, none has an
//! attempt too many, and none is written twice. Afterwards nobody comes back and every message is
//! lost: time and the sweep alone bring it to its end.

use awo_domain::webhook::address::Reach;
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::webhook::{DeliveryStatus, EventType};
use awo_domain::{WebhookId, webhook::schedule::MAX_ATTEMPTS};
use awo_store::deliveries::Delivery;
use awo_store::errands::Errand;
use awo_store::webhooks::{Content, Webhook};
use awo_tests::faults::Fault;
use awo_tests::receiver::{Answer, Receiver};
use awo_tests::world::{Org, World};
use serde_json::json;

use crate::http_api::order;

/// More calls than a batch makes; the test finds the real number itself.
const MAX_CALLS: u32 = 40;
/// Minutes after which every delivery is over: all delays, each with a lost message.
const MINUTES: u32 = 200;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    FanOut,
    Attempt,
}

struct Told {
    org: Org,
    webhook: WebhookId,
}

/// An organization whose one webhook is to be told of one event.
async fn told(world: &World, receiver: &Receiver) -> Told {
    let (cloud, org) = (&world.cloud, world.org(10_000).await);
    let now = cloud.clock.now();
    let webhook = WebhookId::new(now, cloud.mint.random(now));
    let content = Content {
        url: WebhookUrl::parse(&receiver.url, Reach::PublicAndLoopback).unwrap(),
        events: vec![EventType::RunCreated],
        description: None,
    };
    let secret = cloud.mint.webhook_secret();
    let made = Webhook::new(webhook.clone(), content, secret, now);
    world
        .store
        .create_webhook(&org.id, &made, None)
        .await
        .unwrap();
    let created = world.sound.create(&org, &order(), None).await;
    assert_eq!(created.status, 201, "{}", created.text);
    Told { org, webhook }
}

impl Told {
    async fn deliveries(&self, world: &World) -> Vec<Delivery> {
        let (org, webhook) = (&self.org.id, &self.webhook);
        let found = world
            .store
            .deliveries(org, webhook, None, (10, 0), None)
            .await;
        found.unwrap().0.items
    }

    async fn comes_to_its_end(&self, world: &World, case: &str) -> Delivery {
        for _ in 0..MINUTES {
            let mut found = self.deliveries(world).await;
            assert!(found.len() <= 1, "{case}: {found:#?}");
            if let Some(over) = found.pop().filter(|found| found.status.is_terminal()) {
                return over;
            }
            world.cloud.clock.advance(61_000);
            world.sound.sweep().await.unwrap();
            while world.deliver_errands(&world.sound).await {}
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
    let told = told(world, receiver).await;
    if step == Step::Attempt {
        assert!(world.deliver_errands(&world.sound).await, "the outbox");
    }
    world.faults.arm(nth, fault);
    let batch = world.deliver_errands(&world.faulty);
    world.faults.until_crash(batch).await;
    let fired = world.faults.disarm();
    world.lose_bells().await;
    let case = format!("{step:?}, call {nth}: {fault:?}");
    let over = told.comes_to_its_end(world, &case).await;
    assert_eq!(over.status, DeliveryStatus::Delivered, "{case}: {over:#?}");
    assert!(
        over.attempts.len() <= 2,
        "{case}: one fault uses up one attempt: {over:#?}"
    );
    let heard = receiver.heard();
    let heard = heard
        .iter()
        .filter(|heard| heard.body["id"] == over.event_id.as_str());
    let heard = heard.count();
    assert!(
        (1..=over.attempts.len()).contains(&heard),
        "{case}: {heard} of {over:#?}"
    );
    let left = world.store.outbox(&told.org.id, 10).await.unwrap();
    assert!(left.items.is_empty(), "{case}: {left:?}");
    fired
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
async fn a_deliverer_that_always_breaks_off_uses_up_five_attempts() {
    let world = World::new().await;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let told = told(&world, &receiver).await;
    while told.deliveries(&world).await.is_empty() {
        world.deliver_errands(&world.sound).await;
    }
    let receiver_heard = || receiver.heard().len();
    for minute in 0..MINUTES {
        let found = told.deliveries(&world).await;
        if found[0].status.is_terminal() {
            break;
        }
        assert!(minute + 1 < MINUTES, "{found:#?}");
        world.cloud.clock.advance(61_000);
        world.sound.sweep().await.unwrap();
        // Two reads, the lane, the claim: it breaks off before it notes the end.
        world.faults.arm(5, Fault::CrashBefore);
        let batch = world.deliver_errands(&world.faulty);
        world.faults.until_crash(batch).await;
        world.faults.disarm();
        world.lose_bells().await;
    }
    let over = &told.deliveries(&world).await[0];
    assert_eq!(over.status, DeliveryStatus::Abandoned, "{over:#?}");
    assert_eq!(over.attempts.len(), MAX_ATTEMPTS as usize);
    assert_eq!(receiver_heard(), MAX_ATTEMPTS as usize);
}

#[tokio::test]
async fn of_a_batch_what_is_no_errand_comes_back_alone() {
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
        let told = told(&world, &receiver).await;
        let errand = Errand::Outbox(told.org.id.clone());
        records.push(record(number, serde_json::to_string(&errand).unwrap()));
        all.push(told);
    }
    records.insert(4, record(9, "no errand".to_owned()));
    let answer = world.sound.deliver(&records).await.unwrap();
    let failed = json!([{ "itemIdentifier": "9" }]);
    assert_eq!(answer["batchItemFailures"], failed, "{answer}");
    for told in &all {
        assert_eq!(told.deliveries(&world).await.len(), 1);
        let left = world.store.outbox(&told.org.id, 10).await.unwrap();
        assert!(left.items.is_empty(), "{left:?}");
    }
}
