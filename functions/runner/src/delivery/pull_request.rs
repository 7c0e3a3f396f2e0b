//! A pull request for a branch of the origin, at one forge.
//!
//! A branch has one open pull request, however often this runs and whatever response is lost:
//! before a create, the open ones are listed, and an existing one is updated.

use std::time::Duration;

use awo_forges::{ExistingPullRequest, Fault, Forge, Proposal};
use http::StatusCode;
use tokio::time::{Instant, sleep};

use super::result::{OpenFailure, OpenPullRequest, PushedResult};
use super::texts;
use crate::backoff::Backoff;

/// Longest that everything takes together, waiting for limits of calls included; the last call may
/// come to its own end after it.
pub(super) const LIMIT: Duration = Duration::from_secs(180);
/// Tries of one step.
const MAX_TRIES: u32 = 5;
/// The first pause between two of them; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// A pull request on its way to one forge.
pub(super) struct Opening<'a> {
    pub(super) forge: Forge,
    /// The git host.
    pub(super) host: &'a str,
    /// Where the repository is on the host.
    pub(super) path: String,
    pub(super) pushed: &'a PushedResult<'a>,
    pub(super) deadline: Instant,
}

impl Opening<'_> {
    pub(super) async fn open(&self) -> Result<OpenPullRequest, OpenFailure> {
        let draft = self.pushed.spec.profile.git_ops.draft;
        let mut notes = Vec::new();
        let mut known = self.patiently(async || self.upsert(draft).await).await;
        if let Err(Fault::Refused(status, why)) = &known
            && draft
            && self.forge.is_about_drafts(*status, why)
        {
            notes.push(format!("the pull request is not a draft: {why}"));
            known = self.patiently(async || self.upsert(false).await).await;
        }
        let known = known.map_err(|fault| self.not_opened(fault))?;
        notes.extend(self.label(&known).await);
        notes.extend(self.request_reviews(&known).await);
        let url = known.url;
        tracing::info!(
            event = "pull_request_opened",
            url = url.as_str(),
            "a pull request is open"
        );
        Ok(OpenPullRequest { url, notes })
    }

    /// The one that is open, as it should be; else a new one.
    async fn upsert(&self, draft: bool) -> Result<ExistingPullRequest, Fault> {
        let proposal = Proposal {
            title: &texts::title(self.pushed.spec),
            body: &texts::body(self.pushed),
            branch: self.pushed.branch,
            target: self.target(),
            draft,
        };
        let Some(known) = self.forge.find(proposal.branch).await? else {
            return self.forge.create(&proposal).await;
        };
        self.forge.update(&known, &proposal).await?;
        Ok(known)
    }

    /// Where it wants to be merged: the profile's branch, else that of the source, else what the
    /// origin's HEAD was when it was cloned.
    fn target(&self) -> &str {
        let target = self.pushed.spec.profile.git_ops.target_branch.as_ref();
        target.map_or(&self.pushed.base.branch, |branch| branch.as_str())
    }

    /// Why there are no labels, if there should be some. The pull request stands without them.
    async fn label(&self, known: &ExistingPullRequest) -> Option<String> {
        let labels = &self.pushed.spec.profile.git_ops.labels;
        if labels.is_empty() {
            return None;
        }
        let label = async || self.forge.label(known.number, labels).await;
        let why = self.patiently(label).await.err()?.into_words();
        Some(format!("the pull request has no labels: {why}"))
    }

    /// Why no review was requested, if one should have been. The pull request stands
    /// without it.
    async fn request_reviews(&self, known: &ExistingPullRequest) -> Option<String> {
        let reviewers = &self.pushed.spec.profile.git_ops.reviewers;
        if reviewers.is_empty() {
            return None;
        }
        let request = async || self.forge.request_reviews(known.number, reviewers).await;
        let why = self.patiently(request).await.err()?.into_words();
        Some(format!("no review was requested: {why}"))
    }

    /// Tries until it is done, refused, or no time is left for another try.
    async fn patiently<T>(&self, attempt: impl AsyncFn() -> Result<T, Fault>) -> Result<T, Fault> {
        let mut backoff = Backoff::doubling(FIRST_PAUSE, LIMIT);
        let mut tries = 1;
        loop {
            let (why, wanted) = match attempt().await {
                Err(Fault::Again(why, wanted)) => (why, wanted),
                done => return done,
            };
            let own = backoff.pause();
            let wait = wanted.unwrap_or(own);
            if tries == MAX_TRIES || Instant::now() + wait > self.deadline {
                return Err(Fault::Again(format!("{why} (try {tries})"), wanted));
            }
            tracing::warn!(
                event = "forge_call_failed",
                forge = self.forge.name(),
                why,
                tries,
                "a call of a forge failed; retrying"
            );
            sleep(wait).await;
            tries += 1;
        }
    }

    fn not_opened(&self, fault: Fault) -> OpenFailure {
        let (name, host, path) = (self.forge.name(), self.host, &self.path);
        let why = match fault {
            Fault::OtherForge(why) => {
                return OpenFailure::NotPossible(format!(
                    "{host} is not a {name} host: {why}; if it is another forge, have the operator \
                     name it with awo admin set-forge --host {host}"
                ));
            }
            Fault::Again(why, Some(wait)) => format!(
                "{name}'s rate limit is reached for {} s: {why}",
                wait.as_secs()
            ),
            Fault::Again(why, None) => format!("{name} could not be reached for {host}: {why}"),
            Fault::Refused(StatusCode::UNAUTHORIZED, why) => {
                return OpenFailure::Unauthorized(format!(
                    "{name} does not accept the organization's token for {host} ({why}): have the \
                 operator set one that is valid"
                ));
            }
            Fault::Refused(status @ (StatusCode::FORBIDDEN | StatusCode::NOT_FOUND), why) => {
                format!(
                    "{name} does not let the organization's token open pull requests in {path} \
                     ({status}: {why}): it needs {} for this repository",
                    self.forge.permissions()
                )
            }
            Fault::Refused(status, why) => format!("{name} answered {status}: {why}"),
        };
        OpenFailure::Refused(why)
    }
}
