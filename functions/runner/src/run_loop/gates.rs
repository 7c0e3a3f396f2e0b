//! Runs of `verify` orders: one verification of a commit, by the plan of the base branch. There is no
//! agent, no commit and no delivery.

use awo_domain::control::{GateComparison, MAX_NAMED_FILES, Outcome};
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::verification::{BaselineComparison, Check, Status};

use super::services::FIRST_PATIENCE;
use super::{Abort, Tally, Verdict, Work};
use crate::repository::Head;
use crate::verify;
use crate::verify::subject::Reference;

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
            behind: Some(head.behind),
            gate_changed: Vec::new(),
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
        let commit = self.base.reference();
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

    /// Notes files that decide what commands do, and that the verified commit changed, or that were put
    /// back in it.
    pub(super) fn note_gate(&self, tally: &mut Tally, changed: Vec<String>) {
        if let Some(gate) = tally.gate.as_mut().filter(|_| self.base.head.is_some()) {
            gate.gate_changed = changed;
            return;
        }
        let mut all = changed;
        for name in &tally.gate_restored {
            if !all.contains(name) && all.len() < MAX_NAMED_FILES {
                all.push(name.clone());
            }
        }
        tally.gate = (!all.is_empty()).then(|| GateComparison {
            base_commit: self.base.commit.clone(),
            commit: tally
                .commit
                .clone()
                .unwrap_or_else(|| self.base.commit.clone()),
            behind: None,
            gate_changed: all,
        });
    }

    /// True if files that decide what commands do are put back to the base's content.
    pub(super) fn protects_gate(&self) -> bool {
        match self.base.head {
            None => self.spec.profile.verification.protect_tests,
            Some(_) => self.protects(),
        }
    }
}

/// Warnings about a commit that changed its own gate, or that is behind the base.
pub(super) fn remarks(gate: Option<&GateComparison>, restored: &[String]) -> Vec<Check> {
    let Some(gate) = gate else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if !gate.gate_changed.is_empty() {
        let subject = if gate.behind.is_some() {
            "the commit"
        } else {
            "the run"
        };
        let mut message = format!(
            "{subject} changed files that decide what the commands do; have a person read these changes: {}",
            gate.gate_changed.join(", ")
        );
        if !restored.is_empty() {
            message.push_str("; the base's content was put back: ");
            message.push_str(&restored.join(", "));
        }
        warnings.push(verify::check(GATE_CHANGED, Status::Warning, &message));
    }
    let behind = gate.behind.filter(|behind| *behind > 0);
    if let Some(behind) = behind {
        let message = format!(
            "the commit lacks {behind} commits of the base, whose plan counted: merge the base to verify both \
             together"
        );
        warnings.push(verify::check(BEHIND, Status::Warning, &message));
    }
    warnings
}
