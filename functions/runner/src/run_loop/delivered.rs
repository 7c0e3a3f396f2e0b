//! The steps after the push of the result's branch.

use awo_domain::control::RunnerEvent;
use awo_domain::profile::GitMode;
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run::RunErrorCode;

use super::{Abort, Tally, Work, fail};
use crate::delivery::forges;
use crate::delivery::result::{OpenFailure, PushedResult};
use crate::stop::StopOutcome;

impl Work<'_> {
    /// The branch that is pushed.
    pub(super) fn result_branch(&self) -> String {
        let branch = self.base.result_branch.clone();
        branch.unwrap_or_else(|| self.own_branch())
    }

    /// The branch that only this run pushes.
    pub(super) fn own_branch(&self) -> String {
        let prefix = &self.spec.profile.git_ops.branch_prefix;
        format!("{prefix}{}", self.spec.run_id)
    }

    /// The branch that a clean checkout is on: the one that is pushed, or that a verified head is from.
    pub(super) fn verified_branch(&self) -> String {
        if self.base.head.is_none() {
            return self.result_branch();
        }
        let branch = self.spec.source.branch.as_ref();
        branch.map_or_else(
            || self.base.branch.clone(),
            |branch| branch.as_str().to_owned(),
        )
    }

    /// Opens the pull request, where the profile wants one of a run that is no part of another, and reports the delivery.
    pub(super) async fn delivered(
        &self,
        tally: &Tally,
        commit: &str,
        branch: &str,
    ) -> Result<Option<PullRequestUrl>, Abort> {
        // The next turn goes on from the branch even if the pull request is refused.
        self.record_delivered(commit, None).await?;
        let delivered = |pr_url| RunnerEvent::Delivered {
            branch: branch.to_owned(),
            commit: commit.to_owned(),
            pr_url,
        };
        // What a child did that began at its parent's commit is delivered by the parent.
        let by_parent = self.spec.start_commit.is_some();
        if self.spec.profile.git_ops.mode != GitMode::PullRequest || by_parent {
            self.reporter.event(delivered(None)).await;
            return Ok(None);
        }
        let pushed = PushedResult {
            spec: &self.spec,
            base: &self.base,
            commit,
            branch,
            iterations: tally.iterations,
            verified: tally.verified,
            tests_changed: &tally.tests_changed,
            gate_changed: tally
                .gate
                .as_ref()
                .map_or(&[], |gate| gate.gate_changed.as_slice()),
        };
        let opening = forges::open(self.hosts, self.credentials, &pushed);
        let opened = self.repository.unless_stopped(opening).await;
        match opened.map_err(|_| Abort::Stopped(StopOutcome::default()))? {
            Ok(opened) => {
                self.record_delivered(commit, Some(opened.url.clone()))
                    .await?;
                self.reporter
                    .event(delivered(Some(opened.url.clone())))
                    .await;
                for note in opened.notes {
                    self.skip_delivery(&note).await;
                }
                Ok(Some(opened.url))
            }
            Err(OpenFailure::NotPossible(why)) => {
                self.reporter.event(delivered(None)).await;
                self.skip_delivery(&format!("no pull request was opened: {why}"))
                    .await;
                Ok(None)
            }
            Err(OpenFailure::Refused(why) | OpenFailure::Unauthorized(why)) => {
                self.reporter.event(delivered(None)).await;
                let message = format!(
                    "the result is on the origin as {branch}, and its pull request could not be \
                     opened: {why}"
                );
                Err(fail(RunErrorCode::DeliveryFailed, &message))
            }
        }
    }
}
