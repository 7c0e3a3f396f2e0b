//! Every AWS call of a delivery and of a check of its pull request fails in every way, and the change is one event.

use awo_domain::forge::{ApiUrl, ForgeKind, ForgeSetting, GitHostName};
use awo_origins::github::Github;
use awo_tests::crash_part::crash_points;
use awo_tests::faults::Fault;
use awo_tests::world::{Org, World};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{HOST, HOUR_MS, PULL_REQUEST, REPOSITORY, TOKEN, answers, pull};
use crate::story::Step::{Claim, Dispatch, Report, TaskStopped};
use crate::story::Story;

/// More calls than a delivery or a check makes; the test finds the real number itself.
const MAX_CALLS: u32 = 90;
/// Sweeps that come at the same time.
const RIVALS: usize = 3;
/// Rounds of sweeps after a fault.
const ROUNDS: i64 = 2;

/// The call that goes wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Delivery,
    Check,
}

async fn set_forge(world: &World, org: &Org, api_url: &str) {
    let forge = ForgeSetting {
        host: GitHostName::parse(HOST).unwrap(),
        kind: ForgeKind::Github,
        api_url: Some(ApiUrl::parse(api_url).unwrap()),
    };
    world.store.set_forge(&org.id, &forge).await.unwrap();
    let secrets = world.cloud.secrets().unwrap();
    let name = format!("git:{HOST}");
    secrets.set(&org.id, &name, TOKEN).await.unwrap();
}

fn delivery() -> Value {
    json!({
        "events": [{
            "number": 3, "at": "2026-11-20T08:00:02.000Z",
            "event": { "type": "verificationFinished", "iteration": 1, "levels": ["L1"], "verified": true,
                "overallStatus": "passed", "summary": "1 of 1", "results": [] },
        }],
        "outcome": { "type": "succeeded", "commit": "c1", "branch": "awo/run", "prUrl": PULL_REQUEST },
        "iterations": 1,
        "usage": [{ "usage": { "model": "gpt-4o", "inputTokens": 1000, "outputTokens": 100 }, "costUsdNano": 3_500_000 }],
    })
}

/// A delivery and a merge with this fault; false if none of the calls met it.
async fn changes_once(world: &World, broken: Broken, nth: u32, fault: Fault) -> bool {
    while world.deliver_notifications(&world.sound).await {}
    let org = world.org_without_webhooks(1_000).await;
    world.add_webhook(&org).await;
    let forge = Github::new(TOKEN);
    let (api_url, _server) = forge.start();
    set_forge(world, &org, &api_url).await;
    let merged = (200, pull("merged", "c1", "2026-11-21T07:00:00.000Z"));
    answers(&forge, "/pulls/1", &vec![merged; 20]);
    let mut story = Story::of(world, org);
    let body = json!({
        "taskPrompt": "fix it", "limits": { "maxCredits": 10 },
        "workspaceSource": { "type": "git", "repository": REPOSITORY },
    });
    let made = world.sound.create(&story.org, &body, None).await;
    assert_eq!(made.status, 201, "{}", made.text);
    for step in [Dispatch, Claim, Report] {
        story.insist(step).await;
    }
    let faults = world.faults.clone();
    let mut fired = false;
    if broken == Broken::Delivery {
        faults.arm(nth, fault);
        let delivery = delivery();
        let sent = story.sends(&world.faulty, "finish", &delivery);
        faults.until_crash(sent).await;
        fired = faults.disarm();
    }
    assert!(story.sends(&world.sound, "finish", &delivery()).await);
    story.insist(TaskStopped).await;
    let part = json!("outcomes");
    world.cloud.clock.advance(6 * HOUR_MS + 61_000);
    if broken == Broken::Check {
        faults.arm(nth, fault);
        faults.until_crash(world.faulty.sweep_part(&part)).await;
        fired = faults.disarm();
    }
    for _ in 0..ROUNDS {
        let sweeps = (0..RIVALS).map(|_| world.sound.sweep_part(&part));
        join_all(sweeps).await;
        world.cloud.clock.advance(6 * HOUR_MS + 61_000);
    }
    let dump = story.holds(&format!("{fault:?} {nth}")).await;
    let pulls = dump.partition("#pull");
    assert_eq!(pulls.len(), 1, "{fault:?} {nth}: {pulls:#?}");
    assert_eq!(pulls[0]["state"], "merged", "{fault:?} {nth}: {pulls:#?}");
    assert_eq!(pulls[0]["verifiedCommit"], "c1", "{fault:?} {nth}");
    assert!(pulls[0].get("dueAt").is_none(), "{fault:?} {nth}");
    let outbox = dump.partition("#outbox");
    let changes = outbox
        .iter()
        .filter(|event| event["eventType"] == "pull_request.merged");
    assert_eq!(changes.count(), 1, "{fault:?} {nth}: {outbox:#?}");
    world.lose_wake_ups().await;
    fired
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_call_of_a_delivery_goes_wrong_its_pull_request_is_there_once() {
    let story =
        async |world: &World, nth, fault| changes_once(world, Broken::Delivery, nth, fault).await;
    crash_points("a delivery", MAX_CALLS, 2, story).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_call_of_a_check_goes_wrong_its_change_is_one_event() {
    let story =
        async |world: &World, nth, fault| changes_once(world, Broken::Check, nth, fault).await;
    crash_points("a check", MAX_CALLS, 2, story).await;
}
