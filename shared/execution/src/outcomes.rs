//! Pull requests of threads, kept current: by reports that inboxes receive, and by conditional requests of their forge.

use awo_cloud::{Cloud, SetupError};
use awo_domain::pull_request::{PullRequest, PullRequestState, PullRequestUrl};
use awo_domain::source::Repository;
use awo_domain::{Error, OrgId, Timestamp};
use awo_forges::{Forge, StateAnswer};
use awo_store::Store;
use awo_store::pull_requests::{PullRequestRef, StateReport};

use crate::git_access::GitHosts;

/// Applies the state of a pull request as a delivery to an inbox reports it, to each thread of the organization that
/// delivered to it. A report that is older than one that was applied changes nothing, so repeated, late and replayed
/// deliveries do no harm. The caller has checked that the delivery is of the forge that has the pull request.
///
/// # Errors
/// [`Error::Contended`], or internal.
pub async fn apply_reported(
    store: &Store,
    org: &OrgId,
    url: &PullRequestUrl,
    state: &PullRequestState,
    now: Timestamp,
) -> Result<(), Error> {
    let report = StateReport {
        state: Some(state.clone()),
        etag: None,
    };
    for pull in store.pull_requests_at(org, url).await? {
        store.apply_report(org, &pull, &report, now).await?;
    }
    Ok(())
}

/// Asks forges for pull requests.
#[derive(Debug, Clone)]
pub struct PullRequestWatch {
    store: Store,
    git_hosts: GitHosts,
}

impl PullRequestWatch {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing or not valid.
    pub fn new(cloud: &Cloud) -> Result<PullRequestWatch, SetupError> {
        Ok(PullRequestWatch {
            store: cloud.store()?,
            git_hosts: GitHosts::new(cloud)?,
        })
    }

    /// Asks the forge of a pull request for its state, and applies the answer. A forge that does not answer is asked
    /// again at the next time, as one that answers. A pull request whose work order was purged, or whose time is
    /// over, is not asked for again.
    ///
    /// # Errors
    /// [`Error::Contended`], or internal.
    pub async fn check(
        &self,
        org: &OrgId,
        pull: &PullRequestRef,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(current) = self.store.pull_request(org, pull).await? else {
            return Ok(());
        };
        let order = self.store.work_order(org, &current.work_order_id).await?;
        let order = order.filter(|_| current.asked_again_at(now).is_some());
        let Some(order) = order else {
            return self.store.ask_no_more(org, pull, now).await;
        };
        let answer = self.ask(org, &current, &order.source.repository, now).await;
        let report = answer.unwrap_or_else(|why| {
            let url = current.url.as_str();
            tracing::warn!(event = "pull_request_not_read", %org, url, %why, "the state of a pull request is not known");
            StateReport::default()
        });
        self.store.apply_report(org, pull, &report, now).await
    }

    /// The answer of the forge, or why there is none.
    async fn ask(
        &self,
        org: &OrgId,
        current: &PullRequest,
        repository: &Repository,
        now: Timestamp,
    ) -> Result<StateReport, NoAnswer> {
        let forge = self.git_hosts.connect(org, repository, now).await;
        let forge: Forge = forge
            .map_err(NoAnswer::Internal)?
            .ok_or(NoAnswer::NoForge)?;
        let answer = forge.state_since(current.number, current.etag.as_deref());
        let answer = answer
            .await
            .map_err(|fault| NoAnswer::Refused(fault.into_words()))?;
        Ok(match answer {
            StateAnswer::Unchanged => StateReport::default(),
            StateAnswer::State { state, etag } => StateReport {
                state: Some(state),
                etag,
            },
        })
    }
}

/// Reason why the state of a pull request is not known.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    /// The organization has no credential for the host, or the host is no known forge.
    #[error("there is no credential for its host, or the host is no forge")]
    NoForge,
    /// The forge does not answer, or refuses; its words.
    #[error("{0}")]
    Refused(String),
    /// The credential could not be read.
    #[error("its credential could not be read: {0}")]
    Internal(Error),
}
