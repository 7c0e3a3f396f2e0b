//! What becomes of an iteration's commit: it is judged, and the one that passes is delivered.

use std::time::Duration;

use awo_domain::control::{Outcome, RunnerEvent};
use awo_domain::plugin::{Plugin, applicable};
use awo_domain::profile::GitMode;
use awo_domain::run::{RunError, RunErrorCode};
use awo_domain::verification::{CombinedResult, Level};

use super::{Abort, Tally, Verdict, Work, fail};
use crate::delivery::{self, Delivery};
use crate::git::GitError;
use crate::stop::Stopped;
use crate::verify::{self, Tree, Verification, subject};

impl Work<'_> {
    pub(super) async fn verify(&self, tally: &mut Tally) -> Result<Verdict, Abort> {
        let iteration = tally.iterations;
        let profile = &self.spec.profile;
        let chosen = &profile.verification.plugin_ids;
        let plugins = applicable(self.spec.plugins.clone(), &profile.levels(), chosen);
        let mut levels: Vec<Level> = plugins.iter().map(|plugin| plugin.level).collect();
        levels.dedup();
        let started = RunnerEvent::VerificationStarted {
            iteration,
            levels: levels.clone(),
        };
        self.reporter.event(started).await;
        let result = self.judge(tally, &plugins).await?;
        tally.feedback = verify::feedback(&result);
        let failing = verify::failing(&result);
        let verdict = if result.overall_status.passes() {
            Verdict::Passed
        } else {
            let message = format!(
                "no iteration passed verification; in the last one, number {iteration}, {}",
                result.summary
            );
            let code = RunErrorCode::MaxIterationsReached;
            Verdict::NotPassed(failing, RunError::new(code, &message))
        };
        let finished = RunnerEvent::VerificationFinished {
            iteration,
            levels,
            overall_status: result.overall_status,
            summary: result.summary,
            results: result.results,
        };
        self.reporter.event(finished).await;
        Ok(verdict)
    }

    async fn judge(&self, tally: &Tally, plugins: &[Plugin]) -> Result<CombinedResult, Abort> {
        let number = tally.iterations;
        let commit = tally.commit.as_ref().unwrap_or(&self.base.commit);
        let base = &self.base.commit;
        let made = subject::prepare(
            self.repository,
            self.layout,
            self.frozen,
            base,
            commit,
            number,
        );
        let subject = made.await.map_err(|why| match why {
            GitError::Stopped => Abort::Stopped(Stopped::default()),
            why => {
                let message = format!("the commit could not be checked out to be verified: {why}");
                fail(RunErrorCode::WorkspaceFailed, &message)
            }
        })?;
        let profile = &self.spec.profile;
        let limit = Duration::from_millis(profile.verification.timeout_ms);
        let limit = limit.min(self.left());
        let plan = &self.frozen.plan;
        let tree = Tree {
            repository: self.repository,
            index: subject::index(self.layout, number),
        };
        let verification = Verification::new(self.supervised, plan, &subject, limit)
            .of_commit(tree)
            .within(&profile.execution_limits)
            .retrying(profile.verification.retry_flaky);
        let result = verification.run(plugins).await;
        let layout = self.layout.clone();
        // Nobody waits for it: the next one has a folder of its own.
        tokio::task::spawn_blocking(move || subject::remove(&layout, number));
        Ok(result?)
    }

    pub(super) async fn deliver(&self, tally: &Tally) -> Result<Outcome, Abort> {
        let git_ops = &self.spec.profile.git_ops;
        let Some(commit) = tally.commit.clone() else {
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
        let branch = format!("{}{}", git_ops.branch_prefix, self.spec.run_id);
        let source = &self.spec.source;
        let mut pr_url = None;
        let branch = match delivery::deliver(self.repository, source, &commit, &branch).await {
            Delivery::Delivered => {
                pr_url = self.delivered(tally.iterations, &commit, &branch).await?;
                Some(branch)
            }
            Delivery::NotAllowed(why) => {
                self.skip_delivery(&why).await;
                None
            }
            Delivery::Rejected(why) => return Err(fail(RunErrorCode::DeliveryFailed, &why)),
            Delivery::Stopped => return Err(Abort::Stopped(Stopped::default())),
        };
        Ok(Outcome::Succeeded {
            commit: Some(commit),
            branch,
            pr_url,
        })
    }

    pub(super) async fn skip_delivery(&self, reason: &str) {
        let reason = reason.to_owned();
        self.reporter
            .event(RunnerEvent::DeliverySkipped { reason })
            .await;
    }
}
