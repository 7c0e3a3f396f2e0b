//! The result of an iteration's commit: it is verified, and delivered if it passes.

use awo_domain::agent::Feedback;
use awo_domain::control::{Outcome, RunnerEvent};
use awo_domain::environment::SecretPhase;
use awo_domain::plugin::{Plugin, applicable};
use awo_domain::profile::GitMode;
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::verification::{Check, Evidence, Level, Status};

use super::baselines::{BASELINE_CHECK, with_baseline};
use super::gates::remarks;
use super::protection::{UNVERIFIED, names, path_names, restored_feedback};
use super::submodules::unpublished_check;
use super::tools::missing_tool;
use super::{Abort, Tally, Work, fail};
use crate::delivery::Delivery;
use crate::git::GitError;
use crate::layout;
use crate::plan::Plan;
use crate::prompt;
use crate::stop::StopOutcome;
use crate::verify::subject::{self, Candidate, Reference};
use crate::verify::{self, Judgement, NotPrepared, Subject, Tree, Verification};

/// The check that stands for the environment's setup.
const SETUP_CHECK: &str = "environment";

/// End of an iteration, if the run goes on or fails with it.
pub(super) enum Verdict {
    Passed,
    /// With the number of failing checks, and what to say if it was the last one.
    NotPassed(usize, RunError),
}

/// A judgement, and names of files that the commit changed of what it is judged by.
pub(super) struct JudgedCommit {
    pub(super) judgement: Judgement,
    tests_changed: Vec<String>,
    gate_changed: Vec<String>,
}

impl From<Judgement> for JudgedCommit {
    fn from(judgement: Judgement) -> JudgedCommit {
        JudgedCommit {
            judgement,
            tests_changed: Vec::new(),
            gate_changed: Vec::new(),
        }
    }
}

impl Work<'_> {
    pub(super) async fn verify(&self, tally: &mut Tally) -> Result<Verdict, Abort> {
        let iteration = tally.iterations;
        let plugins = self.plugins();
        let mut levels: Vec<Level> = plugins.iter().map(|plugin| plugin.level).collect();
        levels.dedup();
        let started = RunnerEvent::VerificationStarted {
            iteration,
            levels: levels.clone(),
        };
        self.reporter.event(started).await;
        let JudgedCommit {
            mut judgement,
            tests_changed,
            gate_changed,
        } = self.judge(tally, &plugins).await?;
        self.note_gate(tally, gate_changed);
        let baseline = self.compared(tally, &judgement, &plugins).await?;
        if baseline.is_some() {
            self.forgiven(tally, &mut judgement, &plugins).await?;
        }
        verify::remark(
            &mut judgement,
            remarks(tally.gate.as_ref(), &tally.gate_restored),
        );
        let outcome = judgement.outcome();
        let verified = outcome.is_verified();
        let Judgement {
            result, missing, ..
        } = judgement;
        tally.verified = verified;
        tally.evidence = outcome.evidence;
        tally.tests_changed.clone_from(&tests_changed);
        tally.feedback = with_baseline(verify::feedback(&result), baseline.as_ref());
        if !tally.feedback.is_empty() {
            let restored = restored_feedback(tally);
            tally.feedback.extend(restored);
        }
        let failing = verify::failing(&result);
        let verdict = if result.overall_status.passes() {
            Verdict::Passed
        } else {
            Verdict::NotPassed(
                failing,
                self.not_passed(iteration, &result.summary, baseline.as_ref()),
            )
        };
        let finished = RunnerEvent::VerificationFinished {
            iteration,
            levels,
            overall_status: result.overall_status,
            summary: result.summary,
            results: result.results,
            plan_hash: self.plan_hash(),
            gate: tally.gate.clone(),
            baseline,
            verified,
            evidence: outcome.evidence,
            tests: outcome.tests,
            tests_changed,
            ignored: path_names(&tally.left_out.ignored),
            litter: path_names(&tally.left_out.litter),
        };
        self.reporter.event(finished).await;
        match missing {
            Some(missing) => Err(missing_tool(&missing)),
            None => Ok(verdict),
        }
    }

    /// Holds the plan against the base, where the profile wants that, before the agent begins: its
    /// feedback is the result.
    pub(super) async fn baseline(&self, tally: &mut Tally) -> Result<(), Abort> {
        let profile = &self.spec.profile;
        let is_wanted = profile.verification.baseline.is_eager();
        if !is_wanted || self.spec.resumption.is_some() {
            return Ok(());
        }
        self.write_prompt()?;
        let judgement = self.judge(tally, &self.plugins()).await?.judgement;
        let result = judgement.result;
        // A later turn of a thread begins with what earlier ones made of its base.
        if self.base.thread.is_none() {
            self.store_base(&result.results).await;
            tally.base.clone_from(&result.results);
        }
        tally.feedback = verify::feedback(&result);
        if tally.feedback.is_empty() {
            tally.feedback.push(Feedback {
                level: None,
                check: BASELINE_CHECK.to_owned(),
                message: result.summary.clone(),
            });
        }
        let finished = RunnerEvent::BaselineFinished {
            overall_status: result.overall_status,
            summary: result.summary,
            results: result.results,
        };
        self.reporter.event(finished).await;
        match judgement.missing {
            Some(missing) => Err(missing_tool(&missing)),
            None => Ok(()),
        }
    }

    /// Writes the file with the task that custom plugins read.
    pub(super) fn write_prompt(&self) -> Result<(), Abort> {
        let text = prompt::task(&self.spec.task_prompt);
        layout::write_anew(&self.layout.prompt(), text.as_bytes()).map_err(|why| {
            let message = format!("the prompt could not be written: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        })
    }

    pub(super) fn plugins(&self) -> Vec<Plugin> {
        let profile = &self.spec.profile;
        let chosen = &profile.verification.plugin_ids;
        applicable(self.spec.plugins.clone(), &profile.levels(), chosen)
    }

    /// Judgement of the newest commit, with its changes of tests and gate.
    async fn judge(&self, tally: &Tally, plugins: &[Plugin]) -> Result<JudgedCommit, Abort> {
        if let Some(check) = unpublished_check(&tally.unpublished) {
            let result = verify::not_judged(plugins, check);
            return Ok(JudgedCommit::from(Judgement::from(result)));
        }
        if let Some(commit) = &tally.commit
            && let Some(check) = self.workflows_check(commit).await?
        {
            let result = verify::not_judged(plugins, check);
            return Ok(JudgedCommit::from(Judgement::from(result)));
        }
        let commit = tally.commit.as_ref().unwrap_or(&self.base.commit);
        let reference = self.reference();
        self.judge_at((commit.as_str(), reference), tally.iterations, plugins)
            .await
    }

    /// Verifies a commit, held against a reference, in the clean checkout of this number.
    pub(super) async fn judge_at(
        &self,
        of: (&str, Reference<'_>),
        number: u32,
        plugins: &[Plugin],
    ) -> Result<JudgedCommit, Abort> {
        self.judge_plan(&self.frozen.plan, of, number, plugins)
            .await
    }

    /// Judges a commit as [`Work::judge_at`] does, by another plan than the run's.
    pub(super) async fn judge_plan(
        &self,
        plan: &Plan,
        (commit, reference): (&str, Reference<'_>),
        number: u32,
        plugins: &[Plugin],
    ) -> Result<JudgedCommit, Abort> {
        let profile = &self.spec.profile;
        let limit = self.verification_limit();
        let guard = self.guard(limit);
        let candidate = Candidate {
            commit,
            branch: &self.verified_branch(),
            base: &self.base,
            reference,
            source: &self.spec.source,
            number,
        };
        let made = subject::prepare(self.repository, self.layout, &guard, &candidate);
        let subject = match made.await {
            Ok(subject) => subject,
            Err(NotPrepared::Git(GitError::Stopped)) => {
                return Err(Abort::Stopped(StopOutcome::default()));
            }
            Err(NotPrepared::Git(why)) => {
                let message = format!("the commit could not be checked out to be verified: {why}");
                return Err(fail(RunErrorCode::WorkspaceFailed, &message));
            }
            Err(NotPrepared::Check(check)) => {
                let result = verify::not_judged(plugins, check);
                return Ok(JudgedCommit::from(Judgement::from(result)));
            }
        };
        let tests_changed = names(subject.tests_changed.iter());
        let gate_changed = names(subject.gate_changed.iter());
        if let Some(check) = self.setup_check(&subject, commit, number).await? {
            return Ok(JudgedCommit {
                judgement: Judgement::from(verify::not_judged(plugins, check)),
                tests_changed,
                gate_changed,
            });
        }
        let tree = Tree {
            repository: self.repository,
            index: subject::index(self.layout, number),
        };
        let install = self.installs();
        let verification = Verification::new(self.processes, plan, &subject, limit)
            .of_commit(tree)
            .installing(&install)
            .of_base(&self.frozen)
            .with(self.environment.variables(SecretPhase::Verify))
            .within(&profile.execution_limits)
            .retrying(profile.verification.retry_flaky);
        let result = verification.run(plugins).await;
        let layout = self.layout.clone();
        // No step waits for it: the next one has a folder of its own.
        tokio::task::spawn_blocking(move || subject::remove(&layout, number));
        let mut judgement = result?;
        judgement.result = self.environment.masks.all_texts(judgement.result);
        Ok(JudgedCommit {
            judgement,
            tests_changed,
            gate_changed,
        })
    }

    /// Sets the checkout up: a failing check where the agent can repair what failed.
    async fn setup_check(
        &self,
        subject: &Subject,
        commit: &str,
        number: u32,
    ) -> Result<Option<Check>, Abort> {
        let is_agents = self.may_be_repaired(commit, number);
        let set_up = self.set_up_checkout(subject, is_agents).await;
        if !matches!(set_up, Ok(None)) {
            subject::remove(self.layout, number);
        }
        Ok(set_up?.map(|why| verify::check(SETUP_CHECK, Status::Failed, &why)))
    }

    /// True for a commit of the agent's, while iterations are left.
    fn may_be_repaired(&self, commit: &str, iteration: u32) -> bool {
        let most = self.spec.profile.max_iterations(self.spec.asked_iterations);
        self.base.head.is_none() && commit != self.base.commit && iteration < most
    }

    /// Ends a run whose profile requires more evidence of tests than there is.
    pub(super) fn check_required(&self, tally: &Tally) -> Result<(), Abort> {
        match self.lacks_evidence(tally) {
            None => Ok(()),
            Some(message) => Err(fail(RunErrorCode::NotVerified, &message)),
        }
    }

    pub(super) async fn deliver(&mut self, tally: &mut Tally) -> Result<Outcome, Abort> {
        let git_ops = &self.spec.profile.git_ops;
        self.check_required(tally)?;
        if !tally.verified
            && let Some(commit) = tally.commit.clone()
        {
            self.mark_unverified(tally, &commit).await?;
        }
        let Some(mut commit) = tally.commit.clone() else {
            self.skip_delivery("nothing to deliver: nothing was changed")
                .await;
            return Ok(Outcome::Succeeded {
                commit: None,
                branch: None,
                pr_url: None,
            });
        };
        if git_ops.mode == GitMode::Local {
            let commit = Some(commit);
            return Ok(Outcome::Succeeded {
                commit,
                branch: None,
                pr_url: None,
            });
        }
        self.reporter.event(RunnerEvent::DeliveryStarted {}).await;
        let branch = self.result_branch();
        let mut pr_url = None;
        let pushed = self.push(tally, &mut commit, &branch).await?;
        let branch = match pushed {
            Delivery::Delivered => {
                pr_url = self.delivered(tally, &commit, &branch).await?;
                Some(branch)
            }
            Delivery::NotAllowed(why) => {
                self.skip_delivery(&why).await;
                None
            }
            Delivery::Moved(why) | Delivery::Rejected(why) => {
                return Err(fail(RunErrorCode::DeliveryFailed, &why));
            }
            Delivery::Stopped => return Err(Abort::Stopped(StopOutcome::default())),
        };
        Ok(Outcome::Succeeded {
            commit: Some(commit),
            branch,
            pr_url,
        })
    }

    /// The reason why the result may not be delivered, if the profile requires more evidence of tests.
    fn lacks_evidence(&self, tally: &Tally) -> Option<String> {
        let required = self.spec.profile.verification.required;
        // Without a verification that passed there is no evidence.
        let evidence = if tally.verified {
            tally.evidence
        } else {
            Evidence::None
        };
        if required.is_met_by(evidence) {
            return None;
        }
        Some(match evidence {
            Evidence::None => "nothing was verified, and the profile's verification.required \
                               demands it: no test is known to have run and passed. Add tests \
                               that run, or name the command in verify.yaml"
                .to_owned(),
            _ => "no test was counted, and the profile's verification.required is `counted`: the \
                  commands of the plan passed by their exit codes alone. Have a test runner print \
                  its summary, or write a report"
                .to_owned(),
        })
    }

    /// Adds to the message of the delivered commit that nothing was verified.
    async fn mark_unverified(&self, tally: &mut Tally, commit: &str) -> Result<(), Abort> {
        // A commit that is on the origin already stays what it is.
        let resumption = self.spec.resumption.as_ref();
        if resumption.is_some_and(|resumption| resumption.commit == commit) {
            return Ok(());
        }
        match self.repository.annotate(commit, UNVERIFIED).await {
            Ok(hash) => {
                tally.commit = Some(hash);
                Ok(())
            }
            Err(GitError::Stopped) => Err(Abort::Stopped(StopOutcome::default())),
            Err(why) => {
                let message = format!("the commit could not be marked as unverified: {why}");
                Err(fail(RunErrorCode::WorkspaceFailed, &message))
            }
        }
    }

    pub(super) async fn skip_delivery(&self, reason: &str) {
        let reason = reason.to_owned();
        self.reporter
            .event(RunnerEvent::DeliverySkipped { reason })
            .await;
    }
}
