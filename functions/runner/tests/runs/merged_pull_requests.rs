//! Turns of a thread whose pull request is merged.

use awo_domain::control::{RunnerEvent as E, TurnOrigin, TurnRecord};
use awo_domain::run::RunErrorCode as Code;
use awo_origins::github::Turn;
use serde_json::json;

use crate::pull_requests::{Stage, url};
use crate::scene::git;

/// The second turn of a thread whose branch is there and whose pull request is merged.
fn after_a_merge() -> Stage {
    let mut stage = Stage::new();
    let repository = stage.host.repository("acme/app.git");
    git(&repository, &["branch", "awo/first", "main"]);
    let base = git(&repository, &["rev-parse", "main"]);
    let page = format!("https://{}/acme/app/pull/7", stage.host.host());
    let thread = json!({
        "threadId": stage.scene.spec.work_order_id, "turn": 2, "baseCommit": base.trim(),
        "branch": "awo/first", "target": "main", "pullRequest": page,
    });
    stage.scene.spec.thread = Some(Box::new(serde_json::from_value(thread).unwrap()));
    let merged = json!({ "number": 7, "state": "closed", "merged": true, "html_url": page });
    stage.next(
        "GET",
        "/pulls/7",
        Turn::Answer(200, None, merged.to_string()),
    );
    stage
}

#[test]
fn a_turn_after_a_merged_pull_request_opens_another_one() {
    let stage = after_a_merge();
    let ended = stage.scene.run();
    assert!(url(&ended).is_some());
    let from = ended.events.iter().find_map(|event| match event {
        E::FollowupReady { from, .. } => Some(*from),
        _ => None,
    });
    assert_eq!(from, Some(TurnOrigin::Target));
    stage.is_pushed();
}

#[test]
fn a_push_whose_pull_request_is_refused_is_recorded_for_the_next_turn() {
    let stage = after_a_merge();
    stage.answers("POST", "/pulls", 403, "Not here");
    let ended = stage.scene.run();
    ended.failed(Code::DeliveryFailed);
    let last = ended.turns.last();
    assert!(
        matches!(
            last,
            Some(TurnRecord::Delivered {
                pull_request: None,
                ..
            })
        ),
        "{last:?}"
    );
}
