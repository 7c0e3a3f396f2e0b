//! Commit statuses and notes of GitLab.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{CommentPlace, CommitCheck, MAX_PAGES, PER_PAGE, StickyComment, VerdictWords};
use crate::gitlab::Gitlab;
use crate::{Fault, unreadable};

const STATES: VerdictWords = VerdictWords {
    in_progress: "running",
    success: "success",
    failure: "failed",
    cancelled: "canceled",
};

impl Gitlab {
    /// A status of the commit, unless it has one that is the same.
    pub(super) async fn post_status(
        &self,
        check: &CommitCheck<'_>,
    ) -> Result<Option<String>, Fault> {
        let state = STATES.word(check.verdict);
        let description = check.description();
        let path = format!(
            "{}/repository/commits/{}/statuses",
            self.project, check.commit
        );
        let size = PER_PAGE.to_string();
        let query = [("name", check.name), ("per_page", &size)];
        let shown = self.get(&path, &query).await?;
        let mut statuses = shown.as_array().ok_or_else(unreadable)?.iter();
        let is_same = statuses.any(|status| {
            status["name"] == check.name
                && status["status"] == state
                && status["description"] == *description
        });
        if is_same {
            return Ok(None);
        }
        let path = format!("{}/statuses/{}", self.project, check.commit);
        let body = json!({ "state": state, "name": check.name, "description": description });
        match self.send(Method::POST, &path, &body).await {
            // The one that it has is in this state, with another description.
            Err(Fault::Refused(StatusCode::BAD_REQUEST, why))
                if why.contains("Cannot transition status") =>
            {
                Ok(None)
            }
            answer => answer.map(|_| None),
        }
    }

    pub(super) async fn post_comment(
        &self,
        comment: &StickyComment<'_>,
    ) -> Result<Option<String>, Fault> {
        let path = match comment.place {
            CommentPlace::PullRequest(number) => format!("{}/notes", self.merge_request(number)),
            CommentPlace::Issue(number) => format!("{}/issues/{number}/notes", self.project),
        };
        let body = json!({ "body": comment.body });
        for number in 1..=MAX_PAGES {
            let (number, size) = (number.to_string(), PER_PAGE.to_string());
            let query = [("sort", "asc"), ("per_page", &*size), ("page", &*number)];
            let shown = self.get(&path, &query).await?;
            let notes = shown.as_array().ok_or_else(unreadable)?;
            if let Some(own) = notes.iter().find(|one| is_own(one, comment)) {
                if own["body"] != comment.body {
                    let id = own["id"].as_u64().ok_or_else(unreadable)?;
                    self.send(Method::PUT, &format!("{path}/{id}"), &body)
                        .await?;
                }
                return Ok(None);
            }
            if notes.len() < PER_PAGE {
                break;
            }
        }
        self.send(Method::POST, &path, &body).await?;
        // A note has no page.
        Ok(None)
    }
}

fn is_own(note: &Value, comment: &StickyComment<'_>) -> bool {
    let login = note["author"]["username"].as_str().unwrap_or_default();
    let text = note["body"].as_str().unwrap_or_default();
    login.eq_ignore_ascii_case(comment.author) && text.contains(comment.marker)
}
