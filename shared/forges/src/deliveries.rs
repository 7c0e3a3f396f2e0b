//! The state of a pull request as a delivery of its forge reports it.

use awo_domain::Timestamp;
use awo_domain::forge::ForgeKind;
use awo_domain::pull_request::{PullRequestState, PullRequestStatus, PullRequestUrl};
use serde_json::Value;

use crate::github;

/// The pull request that the body of a delivery shows, with its state; none if it shows none.
#[must_use]
pub fn delivered_state(
    kind: ForgeKind,
    body: &Value,
) -> Option<(PullRequestUrl, PullRequestState)> {
    match kind {
        ForgeKind::Github | ForgeKind::Gitea => {
            let shown = &body["pull_request"];
            let url = PullRequestUrl::parse(shown["html_url"].as_str()?).ok()?;
            Some((url, github::state(shown)?))
        }
        ForgeKind::Gitlab => {
            let shown = &body["object_attributes"];
            if body["object_kind"] != "merge_request" {
                return None;
            }
            let url = PullRequestUrl::parse(shown["url"].as_str()?).ok()?;
            Some((url, merge_request(shown)?))
        }
    }
}

/// The state of a merge request. A delivery has no time of the merge, but that of the last change.
fn merge_request(shown: &Value) -> Option<PullRequestState> {
    let status = match shown["state"].as_str()? {
        "merged" => PullRequestStatus::Merged,
        "closed" => PullRequestStatus::Closed,
        "opened" | "locked" => PullRequestStatus::Open,
        _ => return None,
    };
    let updated_at = time(shown["updated_at"].as_str());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let head = text(&shown["last_commit"]["id"]);
    let commit = text(&shown["merge_commit_sha"]).or(head.clone());
    Some(PullRequestState {
        status,
        merged_at: updated_at.filter(|_| status == PullRequestStatus::Merged),
        closed_at: updated_at.filter(|_| status == PullRequestStatus::Closed),
        merged_commit: commit.filter(|_| status == PullRequestStatus::Merged),
        head,
        updated_at,
    })
}

/// A time of GitLab, whose deliveries also write `2026-11-20 07:00:00 UTC`.
fn time(text: Option<&str>) -> Option<Timestamp> {
    let text = text?;
    let zoned = text.strip_suffix(" UTC");
    let zoned = zoned.map(|text| format!("{}Z", text.replacen(' ', "T", 1)));
    Timestamp::parse(zoned.as_deref().unwrap_or(text)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_is_read_from_the_delivery_of_each_forge() {
        let pull = json!({ "pull_request": {
            "html_url": "https://git.example/a/b/pull/1", "state": "closed", "merged": true,
            "merged_at": "2026-11-20T07:00:00Z", "merge_commit_sha": "m1", "head": { "sha": "c1" },
        } });
        let merge_request = json!({ "object_kind": "merge_request", "object_attributes": {
            "url": "https://git.example/a/b/pull/1", "state": "merged", "merge_commit_sha": "m1",
            "updated_at": "2026-11-20 07:00:00 UTC", "last_commit": { "id": "c1" },
        } });
        for (kind, body) in [
            (ForgeKind::Github, &pull),
            (ForgeKind::Gitea, &pull),
            (ForgeKind::Gitlab, &merge_request),
        ] {
            let (url, state) = delivered_state(kind, body).unwrap();
            assert_eq!(url.as_str(), "https://git.example/a/b/pull/1");
            assert_eq!(state.status, PullRequestStatus::Merged);
            let merged_at = Timestamp::parse("2026-11-20T07:00:00Z").unwrap();
            assert_eq!(state.merged_at, Some(merged_at), "{kind:?}");
            assert_eq!(state.merged_commit.as_deref(), Some("m1"));
            assert_eq!(state.head.as_deref(), Some("c1"));
        }
    }

    #[test]
    fn a_delivery_about_something_else_reports_no_pull_request() {
        for body in [
            json!({}),
            json!({ "pull_request": { "html_url": "x" } }),
            json!([]),
        ] {
            for kind in ForgeKind::ALL {
                assert!(delivered_state(kind, &body).is_none(), "{kind:?} {body}");
            }
        }
    }
}
