//! The delivery of a run that ends.

use awo_domain::run::RunEnd;
use awo_domain::run_report::{ReportKind, RunReport};

use super::End;
use crate::engine::change::Change;
use crate::engine::transaction::Transaction;
use crate::pull_requests::PullRequestDelivery;
use crate::reports::attribute;

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

    /// The reports to the forge that follow: a check of the commit, if there is one at the origin that was
    /// verified, and a comment.
    fn reports(&self) -> Vec<ReportKind> {
        let is_verify = self.order.terms.agent.kind.is_verification();
        let has_commit = if is_verify {
            self.run.base.is_some()
        } else {
            self.ending.branch.is_some() && self.commit().is_some()
        };
        let kinds = self.run.report_kinds.iter().copied();
        let follows = |kind: &ReportKind| match kind {
            ReportKind::Check | ReportKind::Status => has_commit,
            ReportKind::Comment => true,
        };
        kinds.filter(follows).collect()
    }

    /// Puts the reports there, and shows them at the run.
    pub(super) fn add_reports(
        &self,
        transaction: Transaction,
        ended: Change,
    ) -> (Transaction, Change) {
        let both = (transaction, ended);
        self.reports()
            .into_iter()
            .fold(both, |(transaction, ended), kind| {
                (
                    transaction.report(self.org, &self.run.run_id, kind, self.now),
                    ended.set(attribute(kind), RunReport::pending(kind)),
                )
            })
    }

    /// The delivery to a pull request, if there is one.
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
