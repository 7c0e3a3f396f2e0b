//! The base commit's own failures. The first time that a check fails, the same check runs on the base, in a
//! clean checkout, once in a run; the run learns which failures were there before.

use std::collections::BTreeSet;

use awo_domain::agent::Feedback;
use awo_domain::plugin::Plugin;
use awo_domain::profile::Baseline;
use awo_domain::verification::{BaselineComparison, Evidence, PluginResult, Status};

use super::steps::MAX_REASON_BYTES;
use super::{Abort, Tally, Work};
use crate::output::last_bytes;
use crate::plan::Command;
use crate::verify::baseline::{self, compare, forgive, is_of_command, unjudged};
use crate::verify::subject::Reference;
use crate::verify::{self, Judgement};

/// Name of the feedback about the base.
pub(super) const BASELINE_CHECK: &str = "baseline";
/// Most checks that are remembered as asked for.
const MAX_ASKED: usize = 1_000;
/// Checkouts of the base have numbers of their own, beyond those of iterations.
const BASE_NUMBERS: u32 = 1_000_000;

impl Work<'_> {
    /// Compares a verification with the base's, if the profile wants that and something failed; or,
    /// with an eager baseline, in any case.
    pub(super) async fn compared(
        &self,
        tally: &mut Tally,
        judgement: &Judgement,
        plugins: &[Plugin],
    ) -> Result<Option<BaselineComparison>, Abort> {
        let policy = self.spec.profile.verification.baseline;
        let results = &judgement.result.results;
        let mut checks = results.iter().flat_map(|result| &result.checks);
        let has_failed = checks.any(|check| check.status == Status::Failed);
        let is_wanted = match policy {
            Baseline::Off => false,
            Baseline::Lazy => has_failed,
            Baseline::Eager | Baseline::Before => has_failed || !tally.base.is_empty(),
        };
        if !is_wanted || judgement.missing.is_some() {
            return Ok(None);
        }
        if tally.commit.is_none() && self.base.thread.is_none() {
            // Nothing was changed: it is the base that was verified.
            tally.base.clone_from(results);
        }
        if !unjudged(results, &tally.base).is_empty() && !tally.knows_stored_base {
            tally.knows_stored_base = true;
            baseline::add(&mut tally.base, self.stored_base().await);
        }
        let mut missing = unjudged(results, &tally.base);
        missing.retain(|(_, check)| !tally.asked_of_base.contains(*check));
        if !missing.is_empty() && !self.left().is_zero() {
            let judged = self.judge_base(tally, &missing, plugins).await?;
            self.store_base(&judged).await;
            baseline::add(&mut tally.base, judged);
            let names = missing.iter().map(|(_, check)| (*check).to_owned());
            tally.asked_of_base.extend(names.take(MAX_ASKED));
        }
        let base = self.base.baseline();
        Ok(Some(compare(results, &tally.base, base, policy.is_eager())))
    }

    /// The results of these checks, by plugin and name, on the base; those that could not be judged say
    /// nothing.
    async fn judge_base(
        &self,
        tally: &Tally,
        failing: &[(&str, &str)],
        plugins: &[Plugin],
    ) -> Result<Vec<PluginResult>, Abort> {
        let ids: BTreeSet<&str> = failing.iter().map(|(plugin, _)| *plugin).collect();
        let is_failing = |plugin: &&Plugin| ids.contains(plugin.id.to_string().as_str());
        let plugins: Vec<Plugin> = plugins.iter().filter(is_failing).cloned().collect();
        let checks: Vec<&str> = failing.iter().map(|(_, check)| *check).collect();
        let whole = &self.frozen.plan;
        let is_install = |command: &Command| {
            checks
                .iter()
                .any(|check| is_of_command(check, command.name()))
        };
        let plan = if self.installs().iter().any(is_install) {
            whole.clone()
        } else {
            whole.narrowed(&checks, is_of_command)
        };
        let commit = self.base.baseline();
        let base = Reference {
            commit,
            since: commit,
            restores: true,
        };
        let number = BASE_NUMBERS + tally.iterations;
        let of_base = (commit, base);
        match self.judge_plan(&plan, of_base, number, &plugins).await {
            Ok(judged) => Ok(judged.judgement.result.results),
            Err(Abort::Failed(why)) => {
                tracing::warn!(event = "base_not_verified", why = ?why.code, "the base could not be verified");
                Ok(Vec::new())
            }
            Err(other) => Err(other),
        }
    }

    /// Lets named tests that the base fails, too, leave the verdict alone, if the profile wants that;
    /// the levels above, which these had closed, run then.
    pub(super) async fn forgiven(
        &self,
        tally: &Tally,
        judgement: &mut Judgement,
        plugins: &[Plugin],
    ) -> Result<(), Abort> {
        if !self.spec.profile.verification.forgive || judgement.result.overall_status.passes() {
            return Ok(());
        }
        let has_passed = forgive(&mut judgement.result.results, &tally.base);
        verify::recombined(judgement);
        if !judgement.result.overall_status.passes() {
            return Ok(());
        }
        let closed: Vec<Plugin> = plugins
            .iter()
            .filter(|plugin| {
                let id = plugin.id.to_string();
                let mut results = judgement.result.results.iter();
                results.any(|result| result.plugin_id == id && result.is_not_run())
            })
            .cloned()
            .collect();
        if closed.is_empty() {
            judgement.evidence = counted(judgement.evidence, has_passed);
            verify::recombined(judgement);
            return Ok(());
        }
        let commit = tally.commit.as_ref().unwrap_or(&self.base.commit);
        let number = 2 * BASE_NUMBERS + tally.iterations;
        let judged = self.judge_at((commit.as_str(), self.reference()), number, &closed);
        let more = judged.await?.judgement;
        let results = &mut judgement.result.results;
        results.retain(|result| !result.is_not_run());
        results.extend(more.result.results);
        let evidence = judgement.evidence.max(more.evidence);
        judgement.evidence = counted(evidence, has_passed);
        judgement.tests.add(more.tests);
        judgement.missing = more.missing;
        verify::recombined(judgement);
        Ok(())
    }
}

/// The evidence of a verdict that forgives failures: a counted test that passed, or none.
fn counted(evidence: Evidence, has_passed: bool) -> Evidence {
    if evidence == Evidence::Counted || has_passed {
        Evidence::Counted
    } else {
        Evidence::None
    }
}

/// The feedback of a verification, with what the agent must know of the base: at each failure that the
/// base has, too, and once for all.
pub(super) fn with_baseline(
    mut feedback: Vec<Feedback>,
    comparison: Option<&BaselineComparison>,
) -> Vec<Feedback> {
    let Some(comparison) = comparison.filter(|comparison| !comparison.pre_existing.is_empty())
    else {
        return feedback;
    };
    let names = &comparison.pre_existing;
    for entry in feedback
        .iter_mut()
        .filter(|entry| names.contains(&entry.check))
    {
        entry.message = format!("(fails on the base commit, too) {}", entry.message);
    }
    if feedback.is_empty() {
        return feedback;
    }
    let rest = if comparison.only_pre_existing {
        "nothing else fails"
    } else {
        "what else fails is not known to fail there"
    };
    let message = format!(
        "these checks fail on the base commit, too, without any change of this run: {}; {rest}",
        names.join(", ")
    );
    feedback.push(Feedback {
        level: None,
        check: BASELINE_CHECK.to_owned(),
        message: last_bytes(&message, MAX_REASON_BYTES),
    });
    feedback
}
