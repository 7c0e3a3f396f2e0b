//! Commit statuses and comments of Gitea and Forgejo.

use http::Method;
use serde_json::{Value, json};

use super::github::{is_own, page};
use super::{CommentPlace, CommitCheck, StickyComment, VerdictWords, is_same};
use crate::Fault;
use crate::gitea::Gitea;

const STATES: VerdictWords = VerdictWords {
    in_progress: "pending",
    success: "success",
    failure: "failure",
    cancelled: "error",
};

impl Gitea {
    /// A status of the commit, unless the newest one of that name is the same.
    pub(super) async fn post_status(
        &self,
        check: &CommitCheck<'_>,
    ) -> Result<Option<String>, Fault> {
        let body = check.status(&STATES);
        let path = self.own(&format!("commits/{}/statuses", check.commit));
        let mut newest: Option<Value> = None;
        self.pages(&path, &[("sort", "recentupdate")], |status| {
            let is_of_name = status["context"] == check.name;
            if is_of_name {
                newest = Some(status.clone());
            }
            is_of_name
        })
        .await?;
        let is_posted = newest.is_some_and(|status| is_same(&status, "status", &body));
        if !is_posted {
            let path = format!("statuses/{}", check.commit);
            self.send(Method::POST, &path, &body).await?;
        }
        Ok(None)
    }

    pub(super) async fn post_comment(
        &self,
        comment: &StickyComment<'_>,
    ) -> Result<Option<String>, Fault> {
        // There a pull request is an issue.
        let (CommentPlace::PullRequest(number) | CommentPlace::Issue(number)) = comment.place;
        let path = format!("issues/{number}/comments");
        let body = json!({ "body": comment.body });
        // The list of an issue's comments has no pages.
        let shown = self.get_own(&path).await?;
        let mut comments = shown.as_array().into_iter().flatten();
        let Some(own) = comments.find(|one| is_own(one, comment)) else {
            let made = self.send(Method::POST, &path, &body).await?;
            return Ok(page(&made));
        };
        if own["body"] == comment.body {
            return Ok(page(own));
        }
        let path = format!("issues/comments/{}", own["id"]);
        let changed = self.send(Method::PATCH, &path, &body).await?;
        Ok(page(&changed))
    }
}
