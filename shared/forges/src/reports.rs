//! Checks of commits and comments. Each call looks for what is there before it writes, so that a repeated report makes
//! no second one.

mod gitea;
mod github;
mod gitlab;

use awo_domain::RunId;
use awo_domain::run_report::CheckVerdict;
use serde_json::{Value, json};

use crate::{Fault, Forge};

/// Longest description of a commit status, in characters: that of GitHub, the shortest of all.
const MAX_DESCRIPTION: usize = 140;
/// Length of a page of comments.
const PER_PAGE: usize = 100;
/// Most pages of comments that are searched.
const MAX_PAGES: usize = 20;

/// A check of a commit.
#[derive(Debug, Clone)]
pub struct CommitCheck<'a> {
    /// The name.
    pub name: &'a str,
    /// The commit.
    pub commit: &'a str,
    /// The run that has verified the commit.
    pub run: &'a RunId,
    /// The verdict.
    pub verdict: CheckVerdict,
    /// The title, a line.
    pub title: &'a str,
    /// The line that a commit status shows instead.
    pub description: &'a str,
    /// Markdown.
    pub summary: &'a str,
    /// Faults in lines of files, at most 50.
    pub annotations: &'a [Annotation],
}

/// A fault in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The path of the file in the repository.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// The name of the failing test.
    pub title: String,
    /// The message of the failing test.
    pub message: String,
}

/// A pull request or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPlace {
    /// The pull request of this number.
    PullRequest(u64),
    /// The issue of this number.
    Issue(u64),
}

/// A comment of which there is one at a place, and which is edited.
#[derive(Debug, Clone)]
pub struct StickyComment<'a> {
    /// The place.
    pub place: CommentPlace,
    /// A text in it by which it is found again.
    pub marker: &'a str,
    /// The login of the account that writes it.
    pub author: &'a str,
    /// Markdown, with the marker.
    pub body: &'a str,
}

/// The words of one forge for a verdict.
struct VerdictWords {
    in_progress: &'static str,
    success: &'static str,
    failure: &'static str,
    cancelled: &'static str,
}

impl VerdictWords {
    /// The word; a neutral verdict is a success whose description says more.
    fn word(&self, verdict: CheckVerdict) -> &'static str {
        match verdict {
            CheckVerdict::InProgress => self.in_progress,
            CheckVerdict::Success | CheckVerdict::Neutral => self.success,
            CheckVerdict::Failure => self.failure,
            CheckVerdict::Cancelled => self.cancelled,
        }
    }
}

impl CommitCheck<'_> {
    /// The description of a commit status.
    fn description(&self) -> String {
        self.description.chars().take(MAX_DESCRIPTION).collect()
    }

    /// A commit status of GitHub and Gitea.
    fn status(&self, words: &VerdictWords) -> Value {
        json!({
            "state": words.word(self.verdict), "context": self.name,
            "description": self.description(),
        })
    }
}

impl Forge {
    /// Posts a check: a Check Run at a GitHub whose token is an App's, as `is_app` says, else a commit status. The
    /// answer is the address of its page, if there is one.
    ///
    /// # Errors
    /// A [`Fault`] of a call.
    pub async fn post_check(
        &self,
        check: &CommitCheck<'_>,
        is_app: bool,
    ) -> Result<Option<String>, Fault> {
        match (self, is_app) {
            (Forge::Github(forge), true) => forge.post_check_run(check).await,
            (Forge::Github(forge), false) => forge.post_status(check).await,
            (Forge::Gitlab(forge), _) => forge.post_status(check).await,
            (Forge::Gitea(forge), _) => forge.post_status(check).await,
        }
    }

    /// Writes a sticky comment, or edits it. The answer is the address of the comment, if the forge names one.
    ///
    /// # Errors
    /// A [`Fault`] of a call.
    pub async fn post_comment(&self, comment: &StickyComment<'_>) -> Result<Option<String>, Fault> {
        match self {
            Forge::Github(forge) => forge.post_comment(comment).await,
            Forge::Gitlab(forge) => forge.post_comment(comment).await,
            Forge::Gitea(forge) => forge.post_comment(comment).await,
        }
    }
}

/// True if a status that the forge shows is the one that is to be posted. `state` is the forge's name for its state.
fn is_same(shown: &Value, state: &str, status: &Value) -> bool {
    shown[state] == status["state"] && shown["description"] == status["description"]
}
