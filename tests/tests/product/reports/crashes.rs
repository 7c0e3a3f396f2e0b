//! Every AWS call of a report goes wrong in every way, and the forge has one status of the commit.

use awo_domain::forge::{ApiUrl, ForgeKind, ForgeSetting, GitHostName};
use awo_domain::profile::ProfileName;
use awo_origins::github::Github;
use awo_store::settings::profiles::{ProfileChange, StoredProfile};
use awo_tests::crash_part::crash_points;
use awo_tests::faults::Fault;
use awo_tests::world::World;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::outcomes::{HOST, REPOSITORY, TOKEN};
use crate::story::Step::{Claim, Dispatch, Report, TaskStopped};
use crate::story::Story;

/// More calls than an attempt makes; the test finds the real number itself.
const MAX_CALLS: u32 = 60;
/// Sweeps that come at the same time.
const RIVALS: usize = 3;
/// Rounds of sweeps after a fault.
const ROUNDS: u32 = 4;

fn delivery() -> Value {
    json!({
        "events": [{
            "number": 3, "at": "2026-11-20T08:00:02.000Z",
            "event": { "type": "verificationFinished", "iteration": 1, "levels": ["L1"], "verified": true,
                "overallStatus": "passed", "summary": "1 of 1", "results": [], "evidence": "counted",
                "tests": { "passed": 1, "failed": 0, "skipped": 0 } },
        }],
        "outcome": { "type": "succeeded", "commit": "c1", "branch": "awo/run" },
        "iterations": 1, "usage": [],
    })
}

/// A report with this fault; false if none of the calls met it.
async fn reports_once(world: &World, nth: u32, fault: Fault) -> bool {
    while world.deliver_notifications(&world.sound).await {}
    let org = world.org_without_webhooks(1_000).await;
    let forge = Github::new(TOKEN);
    let (api_url, _server) = forge.start();
    let setting = ForgeSetting {
        host: GitHostName::parse(HOST).unwrap(),
        kind: ForgeKind::Github,
        api_url: Some(ApiUrl::parse(&api_url).unwrap()),
    };
    world.store.set_forge(&org.id, &setting).await.unwrap();
    let secrets = world.cloud.secrets().unwrap();
    let name = format!("git:{HOST}");
    secrets.set(&org.id, &name, TOKEN).await.unwrap();
    let profile = StoredProfile {
        name: ProfileName::parse("reporting").unwrap(),
        content: serde_json::from_value(json!({
            "description": "", "gitOps": { "checks": "status" },
        }))
        .unwrap(),
        created_at: world.cloud.clock.now(),
        updated_at: None,
    };
    let set = world.store.profile_set(&org.id).await.unwrap();
    let change = ProfileChange::Create(&profile);
    let made = (world.store).change_profiles(&org.id, &set, change, None, profile.created_at);
    made.await.unwrap().expect("a profile");
    let mut story = Story::of(world, org);
    let body = json!({
        "taskPrompt": "fix it", "limits": { "maxCredits": 10 }, "harness": "reporting",
        "workspaceSource": { "type": "git", "repository": REPOSITORY },
    });
    let made = world.sound.create(&story.org, &body, None).await;
    assert_eq!(made.status, 201, "{}", made.text);
    for step in [Dispatch, Claim, Report] {
        story.insist(step).await;
    }
    assert!(story.sends(&world.sound, "finish", &delivery()).await);
    story.insist(TaskStopped).await;
    let part = json!("reports");
    let faults = world.faults.clone();
    world.cloud.clock.advance(61_000);
    faults.arm(nth, fault);
    faults.until_crash(world.faulty.sweep_part(&part)).await;
    let fired = faults.disarm();
    for _ in 0..ROUNDS {
        // Longer than the pause after an attempt of which nothing was heard, and than the first retry.
        world.cloud.clock.advance(180_000);
        let sweeps = (0..RIVALS).map(|_| world.sound.sweep_part(&part));
        join_all(sweeps).await;
    }
    let dump = story.holds(&format!("{fault:?} {nth}")).await;
    let left = dump.partition("#report");
    assert!(left.is_empty(), "{fault:?} {nth}: {left:#?}");
    let runs = dump.runs();
    assert_eq!(
        runs[0]["checkReport"]["state"], "posted",
        "{fault:?} {nth}: {runs:#?}"
    );
    let statuses = forge.change(|github| github.reports.statuses.clone());
    assert_eq!(statuses.len(), 1, "{fault:?} {nth}: {statuses:#?}");
    world.lose_wake_ups().await;
    fired
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_call_of_a_report_goes_wrong_the_forge_has_it_once() {
    crash_points("a report", MAX_CALLS, 4, reports_once).await;
}
