//! The delivery of a run that ends.

use awo_domain::run::RunEnd;

use super::End;
use crate::pull_requests::PullRequestDelivery;

impl End<'_> {
    /// True if the run succeeds with a verified result.
    pub(super) fn is_verified(&self) -> bool {
        self.run.verified && self.ending.end == RunEnd::Succeeded
    }

    /// The last commit.
    pub(super) fn commit(&self) -> Option<&str> {
        let commit = self.ending.commit.as_ref().or(self.run.commit.as_ref());
        commit.map(String::as_str)
    }

    /// Its delivery to a pull request, if there is one.
    pub(super) fn delivery(&self) -> Option<PullRequestDelivery<'_>> {
        let url = self.ending.pr_url.as_ref()?;
        Some(PullRequestDelivery {
            order: self.order,
            url,
            verified_commit: self.commit().filter(|_| self.is_verified()),
            now: self.now,
        })
    }
}
