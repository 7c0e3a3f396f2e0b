//! Every AWS call of a judgement fails in every way, and its delivery still creates one work order of the trigger.

use awo_domain::api_key::ApiKey;
use awo_domain::inbox::{Inbox, InboxContent, InboxKind, InboxSecret, InboxSecrets};
use awo_domain::trigger::{
    OnForeign, Trigger, TriggerAction, TriggerActors, TriggerContent, TriggerEvent, TriggerFilter,
    TriggerLimits, TriggerPermission,
};
use awo_domain::{InboxId, TriggerId};
use awo_tests::crash_part::crash_points;
use awo_tests::faults::Fault;
use awo_tests::seed::Seed;
use awo_tests::world::{Org, World};
use futures::future::join_all;
use serde_json::json;

/// More calls than the judgement of a delivery makes; the test finds the real number itself.
const MAX_CALLS: u32 = 90;
/// Minutes of sweeps after a fault.
const MINUTES: u32 = 3;
/// Sweeps that come at the same time.
const RIVALS: usize = 3;

async fn inbox(world: &World, org: &Org) -> InboxId {
    let now = world.cloud.clock.now();
    let inbox = Inbox {
        id: InboxId::new(now, world.cloud.mint.random(now)),
        org_id: org.id.clone(),
        content: InboxContent {
            name: "Ticks".to_owned(),
            kind: InboxKind::Hmac,
            host: None,
            signature: None,
            duplicates: None,
            enabled: true,
        },
        secrets: InboxSecrets::new(InboxSecret::stored("a-secret-of-senders".to_owned())),
        created_at: now,
        updated_at: None,
    };
    world
        .store
        .create_inbox(&inbox, None)
        .await
        .expect("an inbox");
    inbox.id
}

async fn trigger(world: &World, org: &Org, inbox: &InboxId) -> TriggerId {
    let now = world.cloud.clock.now();
    let order = json!({
        "taskPrompt": "{{pointer:/zen}}",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 10 },
    });
    let trigger = Trigger {
        id: TriggerId::new(now, world.cloud.mint.random(now)),
        content: TriggerContent {
            name: "Ticks".to_owned(),
            inbox_id: inbox.clone(),
            events: vec![TriggerEvent::Received],
            repositories: Vec::new(),
            filter: TriggerFilter::default(),
            who: TriggerActors {
                permission: TriggerPermission::Write,
                users: Vec::new(),
                exclude_users: Vec::new(),
                bots: Vec::new(),
            },
            action: TriggerAction::Create,
            on_foreign: OnForeign::Ignore,
            work_order: order.to_string(),
            settle_seconds: 0,
            limits: TriggerLimits {
                per_subject: 20,
                per_hour: 20,
            },
            enabled: true,
        },
        created_by: ApiKey::parse(&org.key).unwrap().id(),
        created_at: now,
        updated_at: None,
        last_fired_at: None,
        consecutive_refusals: 0,
        paused: None,
        recent: Vec::new(),
    };
    let created = world.store.create_trigger(&org.id, &trigger, None).await;
    created.expect("a trigger");
    trigger.id
}

/// A judgement with this fault; false if none of its calls met it. Then the sweep goes on.
async fn judges_once(world: &World, nth: u32, fault: Fault) -> bool {
    while world.deliver_notifications(&world.sound).await {}
    let org = world.org(1_000).await;
    let inbox = inbox(world, &org).await;
    let trigger = trigger(world, &org, &inbox).await;
    let seed = Seed::of(&world.cloud, &org.id);
    let delivery = seed.unprocessed_delivery(&inbox, InboxKind::Hmac).await;
    let faults = world.faults.clone();
    let part = json!("inboxes");
    // The sweep leaves a new delivery to the function that took it.
    world.cloud.clock.advance(61_000);
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
    let log = store.inbox_delivery(&org.id, &inbox, &delivery.id).await;
    let log = log.expect("a read").expect("a delivery");
    let [result] = &log.triggers[..] else {
        panic!("{fault:?} {nth}: {log:#?}")
    };
    let order = result.work_order_id.as_ref().expect("a work order");
    assert_eq!(
        (&result.trigger_id, orders[0]["id"].as_str()),
        (&trigger, Some(order.as_str()))
    );
    assert_eq!(log.outcome.as_str(), "created");
    world.lose_wake_ups().await;
    fired
}

#[tokio::test]
async fn whatever_call_of_a_judgement_goes_wrong_its_delivery_creates_one_work_order() {
    crash_points("a judgement", MAX_CALLS, 8, judges_once).await;
}
