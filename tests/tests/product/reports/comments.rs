//! The sticky comment of a thread.

use awo_domain::forge::ForgeKind;
use awo_origins::gitea::Gitea;
use awo_origins::gitlab::Gitlab;
use awo_tests::driven::DrivenRun;
use serde_json::{Value, json};

use super::{RED, Stage, verification};
use crate::outcomes::{TOKEN, set_forge};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_has_one_comment_which_each_turn_edits() {
    let stage = Stage::new(&json!({ "comment": "sticky", "showCost": true })).await;
    let first = stage.delivers("c1", true).await;
    stage.sweep().await;
    let comments = stage.comments();
    assert_eq!(comments.len(), 1, "{comments:#?}");
    let path = format!(
        "/v1/work-orders/{}/follow-ups",
        first["id"].as_str().unwrap()
    );
    let body = json!({ "taskPrompt": "more" });
    let second = stage.service.client.post(&path, &body).await;
    assert_eq!(second.status, 201, "{}", second.text);
    let mut run = DrivenRun::of(&stage.service, &second.body).await;
    run.iterate(1).await;
    run.report(verification("failed", false)).await;
    run.fail().await;
    run.free_slot().await;
    // Somebody else writes the marker.
    let marker = format!("<!-- awo:thread {} -->", first["id"].as_str().unwrap());
    stage.forge.change(|github| {
        let foreign = json!({ "id": 99, "place": "1", "body": marker, "user": { "login": "eve" } });
        github.reports.comments.insert(0, foreign);
    });
    for _ in 0..2 {
        stage.sweep().await;
        stage.advance(300);
    }
    let comments = stage.comments();
    assert_eq!(comments.len(), 2, "{comments:#?}");
    assert_eq!(comments[0]["body"], marker, "another's comment stays");
    let text = comments[1]["body"].as_str().unwrap();
    assert!(text.starts_with(&marker), "{text}");
    for part in [
        "| turn | work order | status | verified | commit | credits |",
        "| 1 | `wo_",
        "| succeeded | yes | `c1` |",
        "| 2 | `wo_",
        "| failed (AGENT_FAILED) | no |",
        &format!("````text\n{RED}\n````"),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let posted = json!([{ "kind": "comment", "state": "posted", "url": comments[1]["html_url"] }]);
    assert_eq!(stage.reports(&second.body).await, posted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_pull_request_or_an_issue_there_is_no_comment() {
    let stage = Stage::new(&json!({ "comment": "sticky" })).await;
    let order = stage.order(&json!({})).await;
    let run = DrivenRun::of(&stage.service, &order).await;
    run.fail().await;
    stage.sweep().await;
    assert!(stage.comments().is_empty());
    assert_eq!(stage.reports(&order).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gitlab_and_gitea_get_one_comment_at_the_pull_request() {
    let (gitlab, gitea) = (Gitlab::new(TOKEN), Gitea::new(TOKEN));
    let ((gitlab_url, _one), (gitea_url, _other)) = (gitlab.start(), gitea.start());
    for (kind, url, place) in [
        (ForgeKind::Gitlab, &gitlab_url, "merge_requests/1"),
        (ForgeKind::Gitea, &gitea_url, "1"),
    ] {
        let stage = Stage::new(&json!({ "comment": "sticky" })).await;
        set_forge(&stage.service, kind, url).await;
        let order = stage.delivers("c1", true).await;
        for _ in 0..2 {
            stage.sweep().await;
            stage.advance(300);
        }
        let comments = match kind {
            ForgeKind::Gitlab => gitlab.change(|state| state.reports.comments.clone()),
            _ => gitea.change(|state| state.reports.comments.clone()),
        };
        assert_eq!(comments.len(), 1, "{kind:?}: {comments:#?}");
        assert_eq!(comments[0]["place"], place);
        assert_eq!(stage.reports(&order).await[0]["state"], "posted");
    }
}
