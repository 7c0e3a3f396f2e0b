//! Check Runs, commit statuses and comments of GitHub.

use awo_domain::run_report::CheckVerdict;
use http::Method;
use serde_json::{Value, json};

use super::{
    Annotation, CommentPlace, CommitCheck, MAX_PAGES, PER_PAGE, StickyComment, VerdictWords,
    is_same,
};
use crate::accounts::reading;
use crate::github::Github;
use crate::{Fault, unreadable};

const STATES: VerdictWords = VerdictWords {
    in_progress: "pending",
    success: "success",
    failure: "failure",
    cancelled: "error",
};

impl Github {
    /// A Check Run of the run and the commit, which is made or changed. One that has its conclusion stays.
    pub(super) async fn post_check_run(
        &self,
        check: &CommitCheck<'_>,
    ) -> Result<Option<String>, Fault> {
        let conclusion = conclusion(check.verdict);
        let body = check_run(check, conclusion);
        let Some(existing) = self.check_run(check).await? else {
            let made = self.send(Method::POST, "check-runs", &body).await?;
            return Ok(page(&made));
        };
        let is_same =
            existing["status"] == body["status"] && existing["conclusion"].as_str() == conclusion;
        if is_same {
            return Ok(page(&existing));
        }
        let id = existing["id"].as_u64().ok_or_else(unreadable)?;
        let path = format!("check-runs/{id}");
        let changed = self.send(Method::PATCH, &path, &body).await?;
        Ok(page(&changed))
    }

    async fn check_run(&self, check: &CommitCheck<'_>) -> Result<Option<Value>, Fault> {
        let path = format!("commits/{}/check-runs", check.commit);
        for number in 1..=MAX_PAGES {
            let (number, size) = (number.to_string(), PER_PAGE.to_string());
            let query = [
                ("check_name", check.name),
                ("filter", "all"),
                ("per_page", &size),
                ("page", &number),
            ];
            let shown = self.list(&path, &query).await?;
            let runs = shown["check_runs"].as_array().ok_or_else(unreadable)?;
            let mut runs_of_run = runs
                .iter()
                .filter(|one| one["external_id"] == check.run.as_str());
            if let Some(run) = runs_of_run.next() {
                return Ok(Some(run.clone()));
            }
            if runs.len() < PER_PAGE {
                break;
            }
        }
        Ok(None)
    }

    /// A status of the commit, unless the newest one of that name is the same.
    pub(super) async fn post_status(
        &self,
        check: &CommitCheck<'_>,
    ) -> Result<Option<String>, Fault> {
        let body = check.status(&STATES);
        let path = format!("commits/{}/statuses", check.commit);
        let size = PER_PAGE.to_string();
        let shown = self.list(&path, &[("per_page", &size)]).await?;
        let mut statuses = shown.as_array().ok_or_else(unreadable)?.iter();
        let newest = statuses.find(|status| status["context"] == check.name);
        let is_posted = newest.is_some_and(|status| is_same(status, "state", &body));
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
        for number in 1..=MAX_PAGES {
            let (number, size) = (number.to_string(), PER_PAGE.to_string());
            let query = [("per_page", &*size), ("page", &*number)];
            let shown = self.list(&path, &query).await?;
            let comments = shown.as_array().ok_or_else(unreadable)?;
            if let Some(own) = comments.iter().find(|one| is_own(one, comment)) {
                if own["body"] == comment.body {
                    return Ok(page(own));
                }
                let id = own["id"].as_u64().ok_or_else(unreadable)?;
                let path = format!("issues/comments/{id}");
                let changed = self.send(Method::PATCH, &path, &body).await?;
                return Ok(page(&changed));
            }
            if comments.len() < PER_PAGE {
                break;
            }
        }
        let made = self.send(Method::POST, &path, &body).await?;
        Ok(page(&made))
    }

    async fn list(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, Fault> {
        let mut call = reading(path);
        call.query = query;
        self.call(call).await
    }
}

/// True for a comment of the account that has the marker. Anybody can write the marker.
pub(super) fn is_own(shown: &Value, comment: &StickyComment<'_>) -> bool {
    let login = shown["user"]["login"].as_str().unwrap_or_default();
    let text = shown["body"].as_str().unwrap_or_default();
    login.eq_ignore_ascii_case(comment.author) && text.contains(comment.marker)
}

/// The address of the page of something.
pub(super) fn page(shown: &Value) -> Option<String> {
    shown["html_url"].as_str().map(str::to_owned)
}

/// The conclusion of a Check Run; none of one that is in progress.
fn conclusion(verdict: CheckVerdict) -> Option<&'static str> {
    match verdict {
        CheckVerdict::InProgress => None,
        CheckVerdict::Success => Some("success"),
        CheckVerdict::Neutral => Some("neutral"),
        CheckVerdict::Failure => Some("failure"),
        CheckVerdict::Cancelled => Some("cancelled"),
    }
}

fn check_run(check: &CommitCheck<'_>, conclusion: Option<&str>) -> Value {
    let annotations: Vec<Value> = check.annotations.iter().map(annotation).collect();
    let mut body = json!({
        "name": check.name, "head_sha": check.commit, "external_id": check.run.as_str(),
        "status": "in_progress",
        "output": { "title": check.title, "summary": check.summary, "annotations": annotations },
    });
    if let Some(conclusion) = conclusion {
        body["status"] = json!("completed");
        body["conclusion"] = json!(conclusion);
    }
    body
}

fn annotation(fault: &Annotation) -> Value {
    json!({
        "path": fault.path, "start_line": fault.line, "end_line": fault.line, "annotation_level": "failure",
        "title": fault.title, "message": fault.message,
    })
}
