//! An agent's request for children. The run's newest commit is pushed first, since children begin
//! from it; then all requested children are created, or none.

use awo_domain::control::{Children, ChildrenAnswer, MAX_BODY_BYTES, Outcome, RunnerEvent};
use awo_domain::profile::GitMode;
use awo_domain::usage::sum_by_model;
use serde_json::Value;
use tokio::time::sleep;

use super::steps::{MAX_REASON_BYTES, agent_failed};
use super::{Abort, CHILDREN_CHECK, Tally, Verdict, Work};
use crate::agent::Failure;
use crate::control_client::{Backoff, CallError};
use crate::delivery::{self, Delivery};
use crate::output::last_bytes;
use crate::stop::StopOutcome;

impl Work<'_> {
    /// What becomes of an iteration whose agent asks for children: the run waits for them, or the
    /// iteration has failed and the agent gets the reason.
    pub(super) async fn ask(
        &self,
        tally: &mut Tally,
        children: Vec<Value>,
    ) -> Result<Verdict, Abort> {
        let why = match self.open(tally, children).await? {
            Ok(waiting) => return Err(Abort::Waits(waiting)),
            Err(why) => format!("no children were opened: {why}"),
        };
        let iteration = tally.iterations;
        let reason = last_bytes(&why, MAX_REASON_BYTES);
        let refused = RunnerEvent::ChildrenRefused { iteration, reason };
        self.reporter.event(refused).await;
        let failure = Failure {
            reason: why,
            timed_out: false,
        };
        let verdict = agent_failed(tally, iteration, &failure);
        for reported in &mut tally.feedback {
            CHILDREN_CHECK.clone_into(&mut reported.check);
        }
        Ok(verdict)
    }

    /// How the run ends for now, or a sentence for the agent.
    async fn open(
        &self,
        tally: &Tally,
        children: Vec<Value>,
    ) -> Result<Result<Outcome, String>, Abort> {
        let git_ops = &self.spec.profile.git_ops;
        if self.spec.resumption.is_some() {
            let why = "this run has waited for children before, and a run can do so once";
            return Ok(Err(why.to_owned()));
        }
        let deepest = self.spec.profile.execution_limits.max_child_depth;
        if self.spec.depth >= deepest {
            let why = format!(
                "this work order is a child of depth {} (AWO_DEPTH), and the profile's \
                 executionLimits.maxChildDepth is {deepest}",
                self.spec.depth
            );
            return Ok(Err(why));
        }
        if git_ops.mode == GitMode::Local {
            let why = "they begin from the run's branch on the origin, and with the profile's \
                       gitOps.mode local none is pushed";
            return Ok(Err(why.to_owned()));
        }
        let commit = tally.commit.as_ref().unwrap_or(&self.base.commit).clone();
        let branch = self.own_branch();
        let source = &self.spec.source;
        match delivery::deliver(self.repository, source, &commit, &branch).await {
            Delivery::Delivered => {}
            Delivery::NotAllowed(why) | Delivery::Moved(why) | Delivery::Rejected(why) => {
                let what = "they begin from the run's branch on the origin, which was not pushed";
                return Ok(Err(format!("{what}: {why}")));
            }
            Delivery::Stopped => return Err(Abort::Stopped(StopOutcome::default())),
        }
        let asked = Children {
            iteration: tally.iterations,
            commit,
            branch,
            usage: sum_by_model(&tally.usage),
            children,
        };
        if serde_json::to_vec(&asked).is_ok_and(|body| body.len() > MAX_BODY_BYTES) {
            let why = format!("they are larger than {MAX_BODY_BYTES} bytes in all");
            return Ok(Err(why));
        }
        Ok(match self.post(&asked).await? {
            Ok(answer) if answer.errors.is_empty() && !answer.opened.is_empty() => {
                tracing::info!(event = "waiting_for_children", children = ?answer.opened, "the run waits for its children");
                Ok(Outcome::Waiting {
                    base: self.base.commit.clone(),
                    commit: asked.commit,
                    branch: asked.branch,
                    session_id: tally.session_id.clone(),
                })
            }
            Ok(answer) => Err(answer.errors.join("; ")),
            Err(why) => Err(why),
        })
    }

    /// Asks until there is an answer. Where the request itself is refused, and not the runner, the
    /// agent gets; a runner that lost its run learns it from its reports.
    async fn post(&self, asked: &Children) -> Result<Result<ChildrenAnswer, String>, Abort> {
        let mut backoff = Backoff::new();
        loop {
            let sent = tokio::select! {
                biased;
                () = self.processes.stopped() => return Err(Abort::Stopped(StopOutcome::default())),
                () = sleep(self.left()) => return Err(self.out_of_time()),
                sent = self.reporter.ask_for_children(asked) => sent,
            };
            match sent {
                Ok(answer) => return Ok(Ok(answer)),
                Err(refused @ CallError::Refused { .. }) => return Ok(Err(refused.to_string())),
                Err(why) => {
                    tracing::warn!(
                        event = "children_unanswered", %why,
                        "the request for children was not answered; retrying"
                    );
                }
            }
            tokio::select! {
                biased;
                () = self.processes.stopped() => return Err(Abort::Stopped(StopOutcome::default())),
                () = sleep(backoff.pause()) => {}
            }
        }
    }
}
