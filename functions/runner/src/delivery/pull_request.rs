//! A pull request for a branch of the origin.
//!
//! A branch has one open pull request, however often this runs and whatever response is lost:
//! before a create, the open ones are listed, and an existing one is updated.

use std::time::Duration;

use awo_domain::control::RunSpec;
use awo_domain::pull_request::PullRequestUrl;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::forge_repository::{ForgeRepository, Hosts};
use super::github::{Fault, Github};
use super::texts;
use crate::repository::Base;

/// Longest that everything takes together, waiting for limits of calls included; the last call may
/// come to its own end after it.
const LIMIT: Duration = Duration::from_secs(180);
/// Tries of one step.
const MAX_TRIES: u32 = 5;
/// The first pause between two of them; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How many pull requests of one branch GitHub is asked for.
const PER_PAGE: &str = "10";

/// A result that is on the origin.
pub(crate) struct Pushed<'a> {
    pub(crate) spec: &'a RunSpec,
    pub(crate) base: &'a Base,
    pub(crate) commit: &'a str,
    pub(crate) branch: &'a str,
    pub(crate) iterations: u32,
    pub(crate) verified: bool,
    /// Test files of the base that the run changed or removed.
    pub(crate) tests_changed: &'a [String],
}

/// A pull request that is there.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) url: PullRequestUrl,
    /// What the profile asks for and was not done, and why.
    pub(crate) notes: Vec<String>,
}

/// Why there is none.
#[derive(Debug, Clone)]
pub(crate) enum Unopened {
    /// Nobody can: there is no GitHub, or no token for it.
    NotPossible(String),
    /// It was tried, and GitHub did not do it.
    Refused(String),
}

/// Opens the pull request, or brings the one that is open up to date.
///
/// # Errors
/// Why there is none, without any secret.
pub(crate) async fn open(hosts: &Hosts, pushed: &Pushed<'_>) -> Result<Opened, Unopened> {
    let spec = pushed.spec;
    let repository = spec.source.repository.as_str();
    let place = ForgeRepository::of(repository, hosts).map_err(Unopened::NotPossible)?;
    let mut credentials = spec.git_credentials.iter();
    let Some(credential) = credentials.find(|one| one.host == place.host) else {
        return Err(Unopened::NotPossible(format!(
            "the organization has no token for {0}: have the operator set the secret git:{0}",
            place.host
        )));
    };
    let github = Github::new(hosts, place, credential.token.trim()).map_err(Unopened::Refused)?;
    let opening = Opening {
        github,
        pushed,
        deadline: Instant::now() + LIMIT,
    };
    opening.open().await
}

/// A pull request as GitHub knows it.
#[derive(Debug)]
struct ExistingPullRequest {
    number: u64,
    url: PullRequestUrl,
}

struct Opening<'a> {
    github: Github,
    pushed: &'a Pushed<'a>,
    deadline: Instant,
}

impl Opening<'_> {
    async fn open(&self) -> Result<Opened, Unopened> {
        let draft = self.pushed.spec.profile.git_ops.draft;
        let mut notes = Vec::new();
        let mut known = self.patiently(async || self.upsert(draft).await).await;
        if let Err(Fault::Refused(status, why)) = &known
            && draft
            && is_about_drafts(*status, why)
        {
            notes.push(format!("the pull request is not a draft: {why}"));
            known = self.patiently(async || self.upsert(false).await).await;
        }
        let known = known.map_err(|fault| self.unopened(fault))?;
        notes.extend(self.label(&known).await);
        notes.extend(self.request_reviews(&known).await);
        let url = known.url;
        tracing::info!(
            event = "pull_request_opened",
            url = url.as_str(),
            "a pull request is open"
        );
        Ok(Opened { url, notes })
    }

    /// The one that is open, as it should be; else a new one.
    async fn upsert(&self, draft: bool) -> Result<ExistingPullRequest, Fault> {
        let mut body = json!({
            "title": texts::title(&self.pushed.spec.task_prompt),
            "body": texts::body(self.pushed),
            "base": self.target(),
        });
        if let Some(known) = self.find().await? {
            let path = format!("pulls/{}", known.number);
            let patch = self.github.call(Method::PATCH, &path, &[], Some(&body));
            return patch.await.map(|_| known);
        }
        body["head"] = json!(self.pushed.branch);
        body["draft"] = json!(draft);
        let post = self.github.call(Method::POST, "pulls", &[], Some(&body));
        match post.await {
            Ok(made) => read(&made).ok_or_else(unreadable),
            // Made by a call whose answer was lost, and not in the list yet.
            Err(Fault::Refused(status, why)) if is_there_already(status, &why) => {
                Err(Fault::Again(why, None))
            }
            Err(fault) => Err(fault),
        }
    }

    async fn find(&self) -> Result<Option<ExistingPullRequest>, Fault> {
        let branch = self.pushed.branch;
        let head = format!("{}:{branch}", self.github.place.owner);
        let query = [("state", "open"), ("head", &*head), ("per_page", PER_PAGE)];
        let list = self.github.call(Method::GET, "pulls", &query, None).await?;
        let list = list.as_array().ok_or_else(unreadable)?;
        let mut ours = list.iter().filter(|one| one["head"]["ref"] == branch);
        let ours = ours.next().map(|one| read(one).ok_or_else(unreadable));
        ours.transpose()
    }

    /// Where it wants to be merged: the profile's branch, else that of the source, else what the
    /// origin's HEAD was when it was cloned.
    fn target(&self) -> &str {
        let target = self.pushed.spec.profile.git_ops.target_branch.as_ref();
        target.map_or(&self.pushed.base.branch, |branch| branch.as_str())
    }

    /// Why there are no labels, if there should be some.
    async fn label(&self, known: &ExistingPullRequest) -> Option<String> {
        let labels = &self.pushed.spec.profile.git_ops.labels;
        if labels.is_empty() {
            return None;
        }
        let path = format!("issues/{}/labels", known.number);
        let why = self.add(&path, &json!({ "labels": labels })).await?;
        Some(format!("the pull request has no labels: {why}"))
    }

    /// Why nobody was asked to review, if somebody should have been.
    async fn request_reviews(&self, known: &ExistingPullRequest) -> Option<String> {
        let reviewers = &self.pushed.spec.profile.git_ops.reviewers;
        if reviewers.is_empty() {
            return None;
        }
        let reviewers = reviewers.iter().map(|one| reviewer(one));
        let names = |teams: bool| -> Vec<&str> {
            let wanted = reviewers.clone().filter(|one| one.is_team == teams);
            wanted.map(|one| one.name).collect()
        };
        let path = format!("pulls/{}/requested_reviewers", known.number);
        let body = json!({ "reviewers": names(false), "team_reviewers": names(true) });
        let why = self.add(&path, &body).await?;
        Some(format!("no review was requested: {why}"))
    }

    /// Adds something to the pull request, which stands without it; why that failed, if it did.
    async fn add(&self, path: &str, body: &Value) -> Option<String> {
        let add = async || self.github.call(Method::POST, path, &[], Some(body)).await;
        self.patiently(add).await.err().map(Fault::into_words)
    }

    /// Tries until it is done, refused, or no time is left for another try.
    async fn patiently<T>(&self, attempt: impl AsyncFn() -> Result<T, Fault>) -> Result<T, Fault> {
        let mut pause = FIRST_PAUSE;
        let mut tries = 1;
        loop {
            let (why, wanted) = match attempt().await {
                Err(Fault::Again(why, wanted)) => (why, wanted),
                done => return done,
            };
            let wait = wanted.unwrap_or(pause);
            if tries == MAX_TRIES || Instant::now() + wait > self.deadline {
                return Err(Fault::Again(format!("{why} (try {tries})"), wanted));
            }
            tracing::warn!(
                event = "github_call_failed",
                why,
                tries,
                "a call of GitHub failed; retrying"
            );
            sleep(wait).await;
            pause *= 2;
            tries += 1;
        }
    }

    fn unopened(&self, fault: Fault) -> Unopened {
        let place = &self.github.place;
        let (host, owner, name) = (&place.host, &place.owner, &place.name);
        Unopened::Refused(match fault {
            Fault::NoGithub(why) => {
                return Unopened::NotPossible(format!("{host} is not a GitHub host: {why}"));
            }
            Fault::Again(why, Some(wait)) => format!(
                "GitHub's rate limit is reached for {} s: {why}",
                wait.as_secs()
            ),
            Fault::Again(why, None) => format!("GitHub could not be reached for {host}: {why}"),
            Fault::Refused(StatusCode::UNAUTHORIZED, why) => format!(
                "GitHub does not accept the organization's token for {host} ({why}): have the \
                 operator set one that is valid"
            ),
            Fault::Refused(status @ (StatusCode::FORBIDDEN | StatusCode::NOT_FOUND), why) => {
                format!(
                    "GitHub does not let the organization's token open pull requests in \
                     {owner}/{name} ({status}: {why}): it needs contents and pull requests, read \
                     and write, for this repository"
                )
            }
            Fault::Refused(status, why) => format!("GitHub answered {status}: {why}"),
        })
    }
}

/// Some plans know no drafts in private repositories.
fn is_about_drafts(status: StatusCode, why: &str) -> bool {
    status == StatusCode::UNPROCESSABLE_ENTITY && why.to_ascii_lowercase().contains("draft")
}

fn is_there_already(status: StatusCode, why: &str) -> bool {
    status == StatusCode::UNPROCESSABLE_ENTITY && why.contains("already exists")
}

fn read(pull_request: &Value) -> Option<ExistingPullRequest> {
    let url = pull_request["html_url"].as_str()?;
    Some(ExistingPullRequest {
        number: pull_request["number"].as_u64()?,
        url: PullRequestUrl::parse(url).ok()?,
    })
}

fn unreadable() -> Fault {
    let why = "its answer is not a pull request with a number and an https URL";
    Fault::Refused(StatusCode::OK, why.to_owned())
}

#[derive(Debug, PartialEq, Eq)]
struct Reviewer<'a> {
    name: &'a str,
    is_team: bool,
}

/// `login`, or a team as `team:slug` or as `organization/slug`; either with an `@` before it.
fn reviewer(text: &str) -> Reviewer<'_> {
    let text = text.trim().trim_start_matches('@');
    let team = text.strip_prefix("team:");
    let team = team.or_else(|| text.contains('/').then_some(text));
    let name = team.and_then(|team| team.rsplit('/').next());
    Reviewer {
        name: name.unwrap_or(text),
        is_team: team.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reviewer_is_a_user_or_a_team_by_the_way_it_is_written() {
        for (text, name, is_team) in [
            ("octocat", "octocat", false),
            ("@octocat", "octocat", false),
            ("team:core", "core", true),
            ("team:acme/core", "core", true),
            ("acme/core", "core", true),
            ("@acme/core", "core", true),
        ] {
            assert_eq!(reviewer(text), Reviewer { name, is_team }, "{text}");
        }
    }

    #[test]
    fn a_pull_request_without_a_number_or_with_another_url_is_none() {
        let good = json!({"number": 7, "html_url": "https://github.com/a/b/pull/7"});
        assert_eq!(read(&good).unwrap().number, 7);
        for bad in [
            json!({"number": -7, "html_url": "https://github.com/a/b/pull/7"}),
            json!({"number": 7, "html_url": "javascript:alert(1)"}),
            json!({"html_url": "https://github.com/a/b/pull/7"}),
            json!([]),
        ] {
            assert!(read(&bad).is_none(), "{bad}");
        }
    }
}
