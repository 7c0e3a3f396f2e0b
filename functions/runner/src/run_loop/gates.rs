//! Runs of `verify` orders: one verification of a commit, by the plan of the base branch. There is no
//! agent, no commit and no delivery.

use std::path::Path;

use awo_domain::control::{GateComparison, Outcome};
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::verification::{BaselineComparison, Check, Status};

use super::protection::names;
use super::services::FIRST_PATIENCE;
use super::{Abort, Tally, Verdict, Work, fail};
use crate::git::GitError;
use crate::plan::PLAN_FILE;
use crate::repository::{Change, Head};
use crate::stop::StopOutcome;
use crate::toolchains::Manifest;
use crate::verify::subject::Reference;
use crate::verify::{self, NotPrepared};

/// The warning about files of the gate that the commit changed.
const GATE_CHANGED: &str = "gate changed";
/// The warning about a commit that lacks commits of the base.
const BEHIND: &str = "behind the base";

impl Work<'_> {
    /// Verifies the commit of a `verify` order.
    pub(super) async fn verify_head(
        &mut self,
        tally: &mut Tally,
        head: &Head,
    ) -> Result<Outcome, Abort> {
        let environment = self.environment.of_run.as_ref();
        if let Some(environment) = environment {
            self.services_answer(environment, FIRST_PATIENCE).await?;
        }
        // A setup in the checkout may bring what is missing.
        if environment.is_none_or(|environment| environment.setup.is_empty()) {
            self.check_tools().await?;
        }
        self.report_workspace().await;
        tally.commit = Some(head.commit.clone());
        tally.iterations = 1;
        self.begin(1).await?;
        self.write_prompt()?;
        tally.gate = Some(GateComparison {
            base_commit: self.base.commit.clone(),
            commit: head.commit.clone(),
            behind: head.behind,
            gate_changed: self.gate_changed(head).await?,
        });
        match self.verify(tally).await? {
            Verdict::Passed => self.check_required(tally)?,
            Verdict::NotPassed(..) if self.left().is_zero() => return Err(self.out_of_time()),
            Verdict::NotPassed(_, error) => return Err(Abort::Failed(error)),
        }
        Ok(Outcome::Succeeded {
            commit: Some(head.commit.clone()),
            branch: None,
            pr_url: None,
        })
    }

    /// The commit against which the newest one is held.
    pub(super) fn reference(&self) -> Reference<'_> {
        let commit = &self.base.commit;
        match &self.base.head {
            None => Reference {
                commit,
                since: commit,
                restores: true,
            },
            Some(head) => Reference {
                commit,
                since: &head.merge_base,
                restores: self.protects(),
            },
        }
    }

    /// True if the base's protected files count, and not the commit's.
    fn protects(&self) -> bool {
        self.spec.gate.as_ref().is_some_and(|gate| gate.protect)
    }

    /// The error of a verification that did not pass.
    pub(super) fn not_passed(
        &self,
        iteration: u32,
        summary: &str,
        baseline: Option<&BaselineComparison>,
    ) -> RunError {
        let (code, mut message) = match &self.base.head {
            None => (
                RunErrorCode::MaxIterationsReached,
                format!(
                    "no iteration passed verification; in the last one, number {iteration}, {summary}"
                ),
            ),
            Some(head) => (
                RunErrorCode::VerificationFailed,
                format!(
                    "the commit {} was held against the plan of {}: {summary}",
                    head.commit, self.base.branch
                ),
            ),
        };
        if baseline.is_some_and(|baseline| baseline.only_pre_existing) {
            message.push_str("; every failing check fails on the base commit, too");
        }
        RunError::new(code, &message)
    }

    /// Names of files that decide how the commit is judged, and that it changed.
    async fn gate_changed(&self, head: &Head) -> Result<Vec<String>, Abort> {
        let changes = self.repository.changes(&head.merge_base, &head.commit);
        let changes = changes.await.map_err(not_compared)?;
        let guard = self.guard(self.verification_limit());
        let protected = match guard.protected(&changes).await {
            Ok(protected) => protected,
            Err(NotPrepared::Git(why)) => return Err(not_compared(why)),
            // The verification reports it, and does not pass.
            Err(NotPrepared::Check(_)) => Vec::new(),
        };
        let manifests: Vec<&str> = self.frozen.manifests.iter().map(Manifest::path).collect();
        let is_gate = |change: &&Change| {
            let is_named = |name: &str| change.path == Path::new(name);
            let is_protected = protected.iter().any(|one| std::ptr::eq(*one, *change));
            is_protected || is_named(PLAN_FILE) || manifests.iter().any(|name| is_named(name))
        };
        Ok(names(changes.iter().filter(is_gate)))
    }
}

/// Warnings about a commit that changed its own gate, or that is behind the base.
pub(super) fn remarks(gate: Option<&GateComparison>) -> Vec<Check> {
    let Some(gate) = gate else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if !gate.gate_changed.is_empty() {
        let message = format!(
            "the commit changed files that decide how it is judged; have a person read these changes: {}",
            gate.gate_changed.join(", ")
        );
        warnings.push(verify::check(GATE_CHANGED, Status::Warning, &message));
    }
    if gate.behind > 0 {
        let message = format!(
            "the commit lacks {} commits of the base, whose plan counted: merge the base to verify both \
             together",
            gate.behind
        );
        warnings.push(verify::check(BEHIND, Status::Warning, &message));
    }
    warnings
}

fn not_compared(why: GitError) -> Abort {
    match why {
        GitError::Stopped => Abort::Stopped(StopOutcome::default()),
        why => {
            let message = format!("the commit could not be compared with its base: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        }
    }
}
