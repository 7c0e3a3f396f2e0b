//! The check of a run's chain, against an honest and a dishonest API.

use awo_domain::audit::{Snapshot, changes};
use awo_domain::profile::Profile;
use awo_domain::{RunId, SnapshotId, Timestamp};
use serde_json::{Value, json};

use crate::call::{CallOutput, at};
use crate::double::{Double, ReceivedRequest, Reply};

const RUN: &str = "run_01k0000000000000000000000b";

/// What the API says of a run whose profile changed once.
fn served() -> (Value, Value) {
    let now = Timestamp::parse("2026-11-20T08:00:00.000Z").unwrap();
    let id = |number| SnapshotId::new(now, number);
    let mut profile = Profile::default_profile();
    let (first, head) = Snapshot::take(id(1), 1, &profile, None, now).unwrap();
    profile.git_ops.draft = true;
    let before = Some((&first, &head));
    let (second, head) = Snapshot::take(id(2), 2, &profile, before, now).unwrap();
    let items = [first, second];
    let audit = json!({
        "runId": RunId::parse(RUN).unwrap(), "workOrderId": "wo_01k0000000000000000000000a",
        "iterations": 2, "snapshotsCount": 2, "changes": changes(&items),
        "initialConfig": items[0].config, "finalConfig": items[1].config,
        "configHash": items[1].config_hash, "chainHead": head.chain_head,
    });
    (audit, json!({ "items": items, "total": 2 }))
}

/// Verifies the answers of an API that alters both of them.
async fn verified(alter: fn(&mut Value, &mut Value), more: &[&str]) -> CallOutput {
    let (mut audit, mut snapshots) = served();
    alter(&mut audit, &mut snapshots);
    let double = Double::start(move |seen: &ReceivedRequest, _| {
        let data = match seen.target.as_str() {
            path if path.ends_with(&format!("/audit/runs/{RUN}")) => &audit,
            path if path.ends_with("/snapshots") => &snapshots,
            other => panic!("{other}"),
        };
        Reply::of(
            200,
            json!({ "success": true, "data": data, "requestId": "r" }).to_string(),
        )
    })
    .await;
    at(&double.url, &[&["audit", "verify", RUN], more].concat()).await
}

#[tokio::test]
async fn a_whole_chain_is_shown_link_by_link() {
    let (audit, snapshots) = served();
    let called = verified(|_, _| {}, &[]).await;
    assert_eq!(called.code, 0, "{called:?}");
    let head = audit["chainHead"].as_str().unwrap();
    for part in [
        "intact",
        head,
        "2026-11-20T08:00:00Z",
        snapshots["items"][1]["previousHash"].as_str().unwrap(),
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    let json = verified(|_, _| {}, &["--json", "--head", head])
        .await
        .json();
    let wanted = json!({ "runId": RUN, "intact": true, "snapshots": 2, "chainHead": head });
    assert_eq!(json, wanted);
}

#[tokio::test]
async fn a_broken_link_is_named_and_reported_by_the_exit_code() {
    let alter =
        |_: &mut Value, snapshots: &mut Value| snapshots["items"][0]["iteration"] = json!(7);
    let called = verified(alter, &[]).await;
    assert_eq!(called.code, 1, "{called:?}");
    for part in ["broken at previousHash of snapshot 2", "expected", "found"] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    let called = verified(alter, &["--json"]).await;
    assert_eq!(called.code, 1, "{called:?}");
    let verdict: Value = serde_json::from_str(&called.out).unwrap();
    let (_, snapshots) = served();
    assert_eq!(verdict["intact"], false);
    assert_eq!(verdict["broken"]["snapshot"], 2);
    assert_eq!(verdict["broken"]["field"], "previousHash");
    assert_eq!(
        verdict["broken"]["found"],
        snapshots["items"][1]["previousHash"]
    );
    let head = |audit: &mut Value, _: &mut Value| audit["chainHead"] = json!("x\u{1b}[2J");
    let called = verified(head, &[]).await;
    assert!(
        called
            .out
            .contains("broken at chainHead of the run's audit"),
        "{called:?}"
    );
    assert!(!called.out.contains('\u{1b}'), "{called:?}");
    let other = "0".repeat(64);
    let called = verified(|_, _| {}, &["--head", &other]).await;
    assert_eq!(called.code, 1, "{called:?}");
}
