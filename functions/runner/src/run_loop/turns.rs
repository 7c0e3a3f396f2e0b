//! A turn of a thread: the record of its start and of its delivery, and what others push to its branch
//! meanwhile.

use awo_domain::agent::RequestThread;
use awo_domain::control::{
    MAX_TURN_SUMMARY, RunSpec, RunnerEvent, TurnContext, TurnEnd, TurnRecord,
};
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run::RunErrorCode;
use awo_domain::usage::PricedUsage;
use tokio::time::sleep;

use super::{Abort, Tally, Verdict, Work, fail};
use crate::agent::Attempt;
use crate::agent_sessions::AgentSessions;
use crate::backoff::Backoff;
use crate::control_client::CallError;
use crate::delivery::{self, Delivery};
use crate::git::GitError;
use crate::layout::Layout;
use crate::prompt;
use crate::repository::{Merge, Point, ThreadBase};
use crate::settings::Settings;
use crate::stop::StopOutcome;
use crate::turn_files::TurnFile;
use crate::workspace;

/// Number of times that a result is merged with what others pushed and verified again.
const MAX_ROUNDS: u32 = 3;
/// Name of the new head in the runner's repository, without `refs/`.
const MOVED: &str = "awo/moved";

impl Tally {
    /// Stores the agent's summary, as far as a later turn is shown it.
    pub(super) fn note_summary(&mut self, summary: Option<&str>) {
        if let Some(summary) = summary {
            self.summary = Some(summary.chars().take(MAX_TURN_SUMMARY).collect());
        }
    }

    /// Takes up the session of the turn before, if it is stored. A run that goes on after its children is in the
    /// middle of its own turn, of which that session knows nothing.
    pub(super) async fn restore_session(
        &mut self,
        settings: &Settings,
        spec: &RunSpec,
        layout: &Layout,
    ) {
        if spec.resumption.is_some() {
            return;
        }
        let sessions = AgentSessions::of(settings, &spec.org_id);
        self.session_id = sessions.restore(spec, layout).await;
        self.resumes_session = self.session_id.is_some();
    }

    /// Drops the session of the turn before if the agent's first attempt shows that it cannot go on in it: it failed
    /// without a call to a model. True if it did.
    pub(super) fn begins_anew_after(&mut self, attempt: &Attempt) -> bool {
        let tokens = |used: &PricedUsage| used.usage.input_tokens + used.usage.output_tokens;
        let is_unused = attempt.usage.iter().all(|used| tokens(used) == 0);
        let begins_anew = std::mem::take(&mut self.resumes_session) && is_unused;
        if begins_anew {
            self.session_id = None;
        }
        begins_anew
    }

    /// The end of the turn, of a run in a thread.
    pub(super) fn turn_end(&self) -> Option<TurnEnd> {
        self.in_thread.then(|| TurnEnd {
            summary: self.summary.clone(),
            ..TurnEnd::default()
        })
    }
}

impl Work<'_> {
    /// Records the start of a turn, and reports it from the second on. The next turn relies on it, so the
    /// agent does not begin without.
    pub(super) async fn begin_turn(&self, tally: &Tally) -> Result<(), Abort> {
        let Some(thread) = self.spec.thread.as_deref() else {
            return Ok(());
        };
        // It is recorded and reported before a run waits for its children.
        if self.spec.resumption.is_some() || self.spec.gate.is_some() {
            return Ok(());
        }
        let base = self.base.thread.as_ref();
        let tree = self.tree(&self.base.commit).await?;
        let record = TurnRecord::Begun {
            commit: self.base.commit.clone(),
            tree,
            delivered_tree: base.and_then(|base| base.delivered_tree.clone()),
            merged: base.and_then(|base| base.merged.clone()),
            target: self.base.branch.clone(),
        };
        self.record(record, RunErrorCode::WorkspaceFailed).await?;
        if let Some(base) = base.filter(|_| thread.turn > 1) {
            let ready = RunnerEvent::FollowupReady {
                turn: thread.turn,
                from: base.origin,
                commit: self.base.commit.clone(),
                context: match tally.session_id {
                    Some(_) => TurnContext::Session,
                    None => TurnContext::Summary,
                },
            };
            self.reporter.event(ready).await;
        }
        Ok(())
    }

    /// The thread as an agent's request has it.
    pub(super) fn request_thread(&self) -> Option<RequestThread> {
        let thread = self.spec.thread.as_deref()?;
        (thread.turn > 1).then(|| RequestThread {
            thread_id: thread.thread_id.clone(),
            turn: thread.turn,
            turns: thread.turns.clone(),
        })
    }

    /// Text about earlier turns; none for an agent that goes on in a session of this turn, and no tasks and
    /// summaries for one that goes on in that of the turn before.
    pub(super) fn earlier_turns(&self, tally: &Tally) -> String {
        let thread = self.spec.thread.as_deref();
        let thread = thread.filter(|thread| thread.turn > 1);
        match (thread, &self.base.thread) {
            (Some(thread), Some(base)) => match tally.session_id {
                None => prompt::threads::text(thread, base.origin),
                Some(_) if tally.iterations == 1 => {
                    prompt::threads::resumed_text(thread, base.origin)
                }
                Some(_) => String::new(),
            },
            _ => String::new(),
        }
    }

    /// Pushes the result, and never forces it. Where others have pushed to the branch, their work is merged,
    /// and the whole is verified again before it is pushed.
    pub(super) async fn push(
        &mut self,
        tally: &mut Tally,
        commit: &mut String,
        branch: &str,
    ) -> Result<Delivery, Abort> {
        let mut head = self.base.commit.clone();
        let mut rounds = 0;
        loop {
            self.record_delivering(commit, branch).await?;
            let source = &self.spec.source;
            let pushed = delivery::deliver(self.repository, source, commit, branch).await;
            let Delivery::Moved(why) = pushed else {
                return Ok(pushed);
            };
            if self.base.result_branch.is_none() {
                return Ok(Delivery::Moved(why));
            }
            if rounds == MAX_ROUNDS {
                return Ok(Delivery::Rejected(format!(
                    "others pushed to {branch} each of the {rounds} times that the result was merged with \
                     it and verified: {why}"
                )));
            }
            rounds += 1;
            self.follow(tally, branch, &mut head).await?;
            if let Some(newest) = &tally.commit {
                newest.clone_into(commit);
            }
        }
    }

    /// Merges what others have pushed since `head`, and verifies the merge.
    async fn follow(
        &mut self,
        tally: &mut Tally,
        branch: &str,
        head: &mut String,
    ) -> Result<(), Abort> {
        let name = format!("refs/{MOVED}");
        let source = self.spec.source.clone();
        let fetched = self
            .repository
            .branch_head(&source, branch, &name, self.left());
        let moved = fetched.await.map_err(|why| not_followed(branch, why))?;
        let moved = moved.ok_or_else(|| {
            let message = format!("the branch {branch} was deleted while the run was under way");
            fail(RunErrorCode::DeliveryFailed, &message)
        })?;
        self.count_as_others(head, &moved).await?;
        *head = moved;
        let prefix = &self.spec.profile.git_ops.commit_message_prefix;
        let message = prompt::branch_message(prefix, branch);
        let ours = tally.commit.as_ref().unwrap_or(&self.base.commit).clone();
        let merge = self.repository.merge(&ours, MOVED, &message).await;
        match merge.map_err(|why| not_followed(branch, why))? {
            Merge::Nothing => return Ok(()),
            Merge::Merged(commit) => self.report_commit(tally, &commit).await,
            Merge::Conflict(conflict) => {
                let files = super::protection::path_names(&conflict.files);
                let message = format!(
                    "others pushed to {branch} while the run was under way, and the result conflicts with \
                     that in {}: create a follow-up, which begins with their work",
                    files.join(", ")
                );
                return Err(fail(RunErrorCode::DeliveryFailed, &message));
            }
        }
        match self.verify(tally).await? {
            Verdict::Passed => self.check_required(tally),
            Verdict::NotPassed(_, error) => {
                let message = format!(
                    "others pushed to {branch} while the run was under way, and the result does not pass \
                     with that: {}",
                    error.message
                );
                Err(fail(RunErrorCode::DeliveryFailed, &message))
            }
        }
    }

    /// Brings what others changed between two heads of the branch into the reference, and freezes the plan
    /// anew.
    async fn count_as_others(&mut self, before: &str, moved: &str) -> Result<(), Abort> {
        let (delivered, present) = (self.tree(before).await?, self.tree(moved).await?);
        if delivered == present {
            return Ok(());
        }
        if self.spec.thread.is_some() {
            let record = TurnRecord::Moved {
                commit: moved.to_owned(),
                tree: present.clone(),
                delivered_tree: delivered.clone(),
            };
            self.record(record, RunErrorCode::DeliveryFailed).await?;
        }
        let commit = self.base.commit.clone();
        let own = || ThreadBase::beginning_at(commit);
        let thread = self.base.thread.get_or_insert_with(own);
        thread.points.push(Point {
            delivered,
            present,
            target: None,
        });
        let made = self
            .repository
            .make_reference(&thread.commit, &thread.points);
        thread.reference = made.await.map_err(not_recorded)?;
        let reference = thread.reference.clone();
        let limit = self.verification_limit();
        let frozen = workspace::freeze(
            self.repository,
            self.processes,
            self.layout,
            &reference,
            limit,
        );
        self.frozen = frozen.await.map_err(|why| match why {
            workspace::NoWorkspace::Stopped => Abort::Stopped(StopOutcome::default()),
            workspace::NoWorkspace::Failed(why) | workspace::NoWorkspace::NoChild(why) => {
                fail(RunErrorCode::DeliveryFailed, &why)
            }
        })?;
        Ok(())
    }

    async fn record_delivering(&self, commit: &str, branch: &str) -> Result<(), Abort> {
        if self.spec.thread.is_none() {
            return Ok(());
        }
        let record = TurnRecord::Delivering {
            commit: commit.to_owned(),
            tree: self.tree(commit).await?,
            branch: branch.to_owned(),
        };
        self.record(record, RunErrorCode::DeliveryFailed).await
    }

    /// Stores the newest commit for the next turn, in case that it is not delivered. A run does not fail because
    /// that did.
    pub(super) async fn store_undelivered(&self, commit: &str) {
        if self.spec.thread.is_none() {
            return;
        }
        let thread = self.base.thread.as_ref();
        let first = thread.map_or(&self.base.commit, |thread| &thread.commit);
        let merged = thread.and_then(|thread| thread.merged.clone());
        let published = [first].into_iter().chain(&merged).map(String::as_str);
        let published: Vec<&str> = published.collect();
        let parents = [self.base.commit.clone()].into_iter().chain(merged.clone());
        let parents: Vec<String> = parents.collect();
        let stored = async {
            let file = self
                .turn_files
                .file_to_write(&self.spec.run_id, TurnFile::Work)?;
            let bundle = self.repository.bundle(commit, &parents, &published, &file);
            bundle.await
        };
        if let Err(why) = stored.await {
            tracing::warn!(event = "undelivered_not_stored", %why, "the work could not be stored for the next turn");
        }
    }

    /// Records that the result is on the origin.
    pub(super) async fn record_delivered(
        &self,
        commit: &str,
        pull_request: Option<PullRequestUrl>,
    ) -> Result<(), Abort> {
        if self.spec.thread.is_none() {
            return Ok(());
        }
        self.turn_files.remove(&self.spec.run_id, TurnFile::Work);
        let record = TurnRecord::Delivered {
            commit: commit.to_owned(),
            pull_request,
        };
        self.record(record, RunErrorCode::DeliveryFailed).await
    }

    /// Stores a record of the turn; without an answer it is sent again, for as long as the run may take.
    async fn record(&self, record: TurnRecord, code: RunErrorCode) -> Result<(), Abort> {
        let mut backoff = Backoff::new();
        loop {
            let sent = tokio::select! {
                biased;
                () = self.processes.stopped() => return Err(Abort::Stopped(StopOutcome::default())),
                () = sleep(self.left()) => return Err(self.out_of_time()),
                sent = self.reporter.turn(&record) => sent,
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(refused @ CallError::Refused { .. }) => {
                    let message =
                        format!("the turn of the thread could not be recorded: {refused}");
                    return Err(fail(code, &message));
                }
                Err(why) => {
                    tracing::warn!(event = "turn_unanswered", %why, "the record of a turn was not answered; retrying");
                }
            }
            tokio::select! {
                biased;
                () = self.processes.stopped() => return Err(Abort::Stopped(StopOutcome::default())),
                () = sleep(backoff.pause()) => {}
            }
        }
    }

    async fn tree(&self, commit: &str) -> Result<String, Abort> {
        self.repository.tree(commit).await.map_err(not_recorded)
    }
}

fn not_followed(branch: &str, why: GitError) -> Abort {
    match why {
        GitError::Stopped => Abort::Stopped(StopOutcome::default()),
        why => {
            let message = format!("what others pushed to {branch} could not be merged: {why}");
            fail(RunErrorCode::DeliveryFailed, &message)
        }
    }
}

fn not_recorded(why: GitError) -> Abort {
    match why {
        GitError::Stopped => Abort::Stopped(StopOutcome::default()),
        why => {
            let message = format!("the content of the thread could not be read: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        }
    }
}
