//! Integrates the children's results into the run: they are merged in the order of their creation,
//! up to the first conflict. The workspace then has conflict markers, as after a `git merge`. An
//! iteration of the agent that leaves none concludes the merge, and the remaining ones follow.
//! Verification runs once nothing is left to merge.

use std::collections::VecDeque;
use std::fmt::{self, Write};

use awo_domain::WorkOrderId;
use awo_domain::agent::Feedback;
use awo_domain::control::{MAX_CONFLICT_FILES, Resumption, RunnerEvent};
use awo_domain::run::{RunError, RunErrorCode};

use super::steps::{MAX_REASON_BYTES, agent_failed};
use super::{Abort, CHILDREN_CHECK, Tally, Verdict, Work, fail};
use crate::agent::Failure;
use crate::git::GitError;
use crate::layout;
use crate::output::{last_bytes, printable};
use crate::prompt;
use crate::repository::{Commit, Conflict, Merge};
use crate::resumed;
use crate::stop::StopOutcome;
use crate::turns;

/// Feedback about a branch that is merged has this name.
const TARGET_CHECK: &str = "target branch";
/// Characters of a file's name that are shown.
const MAX_SHOWN_NAME: usize = 200;

/// Work of others that is merged into the run's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Incoming {
    Child(WorkOrderId),
    /// The head of this branch, from which the thread came.
    Target(String),
}

impl Incoming {
    /// Name of its commit in the repository, without `refs/`.
    fn label(&self) -> String {
        match self {
            Incoming::Child(child) => resumed::label(child),
            Incoming::Target(_) => turns::TARGET.to_owned(),
        }
    }

    fn check(&self) -> &'static str {
        match self {
            Incoming::Child(_) => CHILDREN_CHECK,
            Incoming::Target(_) => TARGET_CHECK,
        }
    }

    fn code(&self) -> RunErrorCode {
        match self {
            Incoming::Child(_) => RunErrorCode::ChildrenFailed,
            Incoming::Target(_) => RunErrorCode::WorkspaceFailed,
        }
    }
}

impl fmt::Display for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incoming::Child(child) => write!(f, "the result of the child {child}"),
            Incoming::Target(branch) => write!(f, "the branch {branch}"),
        }
    }
}

/// What is left to merge.
#[derive(Default)]
pub(super) struct Integration {
    /// Results and branches that are not merged, in order.
    rest: VecDeque<Incoming>,
    /// The merge of the first of them, if it is the agent's to resolve.
    open: Option<Conflict>,
}

impl Integration {
    pub(super) fn of(resumption: &Resumption) -> Integration {
        let rest = resumed::with_commits(resumption)
            .map(|(child, _)| Incoming::Child(child.work_order_id.clone()));
        Integration {
            rest: rest.collect(),
            open: None,
        }
    }
}

impl Work<'_> {
    /// Goes on where the run has waited for its children; nothing where it has not.
    pub(super) async fn go_on(&self, tally: &mut Tally) -> Result<Option<Verdict>, Abort> {
        if self.spec.resumption.is_none() {
            return Ok(None);
        }
        let rest = tally.integration.rest.iter();
        let children = rest
            .filter_map(|incoming| match incoming {
                Incoming::Child(child) => Some(child.clone()),
                Incoming::Target(_) => None,
            })
            .collect();
        let started = RunnerEvent::IntegrationStarted { children };
        self.reporter.event(started).await;
        // Custom plugins may want to read it, and no agent was given any yet.
        let text = prompt::task(&self.spec.task_prompt);
        layout::write_anew(&self.layout.prompt(), text.as_bytes()).map_err(|why| {
            let message = format!("the prompt could not be written: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        })?;
        self.integrate(tally).await.map(Some)
    }

    /// Merges what is left, up to a conflict; if there is none, the whole is verified.
    pub(super) async fn integrate(&self, tally: &mut Tally) -> Result<Verdict, Abort> {
        let mut conflict = None;
        let mut merged = None;
        while let Some(child) = tally.integration.rest.front().cloned() {
            match self.merge(tally, &child).await? {
                Merge::Nothing => {}
                Merge::Merged(commit) => {
                    merged = Some(commit.hash.clone());
                    self.report_merge(tally, &child, commit).await;
                }
                Merge::Conflict(found) => {
                    conflict = Some((child, found));
                    break;
                }
            }
            tally.integration.rest.pop_front();
        }
        if let Some(commit) = &merged {
            self.report_diff(tally.iterations, commit.clone()).await;
        }
        let filled = match (&conflict, &merged) {
            (Some((_, conflict)), _) => self.repository.fill_with_conflict(conflict).await,
            (None, Some(commit)) => self.repository.fill_workspace(commit).await,
            (None, None) => return self.verify(tally).await,
        };
        self.give_workspace(filled).await?;
        match conflict {
            Some((child, conflict)) => Ok(self.hand_over(tally, &child, conflict).await),
            None => self.verify(tally).await,
        }
    }

    async fn merge(&self, tally: &Tally, incoming: &Incoming) -> Result<Merge, Abort> {
        let ours = tally.commit.as_ref().unwrap_or(&self.base.commit);
        let (label, message) = (incoming.label(), self.message(incoming));
        let merge = self.repository.merge(ours, &label, &message);
        merge.await.map_err(|why| match why {
            GitError::Stopped => Abort::Stopped(StopOutcome::default()),
            why => {
                let message = format!("{incoming} cannot be merged: {why}");
                fail(incoming.code(), &message)
            }
        })
    }

    fn message(&self, incoming: &Incoming) -> String {
        let prefix = &self.spec.profile.git_ops.commit_message_prefix;
        match incoming {
            Incoming::Child(child) => prompt::merge_message(prefix, child),
            Incoming::Target(branch) => prompt::branch_message(prefix, branch),
        }
    }

    /// What was filled is the agent's, or the run has no workspace any more.
    pub(super) async fn give_workspace(&self, filled: Result<(), GitError>) -> Result<(), Abort> {
        let layout = self.layout.clone();
        let give = move || layout.give_tree(&layout.workspace());
        let filled = match filled {
            Ok(()) => match tokio::task::spawn_blocking(give).await {
                Ok(given) => given.map_err(|why| why.to_string()),
                Err(_) => Err("a thread was lost".to_owned()),
            },
            Err(GitError::Stopped) => return Err(Abort::Stopped(StopOutcome::default())),
            Err(why) => Err(why.to_string()),
        };
        filled.map_err(|why| {
            let message =
                format!("the merged work could not be checked out into the workspace: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        })
    }

    async fn report_merge(&self, tally: &mut Tally, incoming: &Incoming, commit: Commit) {
        self.report_commit(tally, &commit).await;
        let Incoming::Child(child) = incoming else {
            return;
        };
        let merged = RunnerEvent::ChildMerged {
            work_order_id: child.clone(),
            commit: commit.hash,
        };
        self.reporter.event(merged).await;
    }

    /// From now on the conflict is the agent's, if there is another iteration.
    async fn hand_over(
        &self,
        tally: &mut Tally,
        incoming: &Incoming,
        conflict: Conflict,
    ) -> Verdict {
        let (child, branch) = match incoming {
            Incoming::Child(child) => (Some(child.clone()), None),
            Incoming::Target(branch) => (None, Some(branch.clone())),
        };
        let found = RunnerEvent::MergeConflict {
            work_order_id: child,
            branch,
            files: names(&conflict),
        };
        self.reporter.event(found).await;
        tally.feedback = vec![feedback(incoming, &conflict)];
        let verdict = not_resolved(incoming, &names(&conflict));
        tally.integration.open = Some(conflict);
        verdict
    }

    /// Merges the head of the target branch, where the turn wants that, before the agent begins. The
    /// agent gets a conflict as feedback.
    pub(super) async fn merge_target(&self, tally: &mut Tally) -> Result<(), Abort> {
        let thread = self.base.thread.as_ref();
        let is_wanted = thread.is_some_and(|thread| thread.merged.is_some());
        // A run that waited for its children has merged it before.
        if !is_wanted || self.spec.resumption.is_some() {
            return Ok(());
        }
        let target = Incoming::Target(self.base.branch.clone());
        match self.merge(tally, &target).await? {
            Merge::Nothing => Ok(()),
            Merge::Merged(commit) => {
                let filled = self.repository.fill_workspace(&commit.hash).await;
                self.give_workspace(filled).await?;
                self.report_merge(tally, &target, commit).await;
                Ok(())
            }
            Merge::Conflict(conflict) => {
                let filled = self.repository.fill_with_conflict(&conflict).await;
                self.give_workspace(filled).await?;
                let before = std::mem::take(&mut tally.feedback);
                tally.integration.rest.push_front(target.clone());
                self.hand_over(tally, &target, conflict).await;
                tally.feedback.extend(before);
                Ok(())
            }
        }
    }

    /// Commits what the agent made of an iteration, which failed if there is a `failure`; a verdict, if
    /// that is where the iteration ends. A conflict stays open until the agent has done its part.
    pub(super) async fn keep(
        &self,
        tally: &mut Tally,
        failure: Option<Failure>,
    ) -> Result<Option<Verdict>, Abort> {
        let number = tally.iterations;
        let open = tally.integration.open.clone();
        let open = open.zip(tally.integration.rest.front().cloned());
        let Some((conflict, child)) = open else {
            let failure = failure.or(self.commit(tally).await?.err().map(not_committed));
            return Ok(failure.map(|failure| agent_failed(tally, number, &failure)));
        };
        let left = match failure {
            Some(failure) => Err(failure),
            None => match self.conclude(tally, &child, &conflict).await? {
                Ok(left) if left.is_empty() => return Ok(None),
                Ok(left) => Ok(left),
                Err(why) => Err(not_committed(why)),
            },
        };
        let verdict = match &left {
            Err(failure) => agent_failed(tally, number, failure),
            Ok(left) => {
                tally.feedback = vec![Feedback {
                    level: None,
                    check: child.check().to_owned(),
                    message: format!("conflict markers still stand in {}", left.join(", ")),
                }];
                not_resolved(&child, left)
            }
        };
        tally.feedback.push(feedback(&child, &conflict));
        Ok(Some(verdict))
    }

    /// Commits the merge, if no markers are left; else the files that have some.
    async fn conclude(
        &self,
        tally: &mut Tally,
        child: &Incoming,
        conflict: &Conflict,
    ) -> Result<Result<Vec<String>, String>, Abort> {
        let newest = tally.commit.as_ref().unwrap_or(&self.base.commit);
        let concluded = async {
            let left = self.repository.unresolved(conflict).await?;
            if !left.is_empty() {
                return Ok(Err(left));
            }
            let message = self.message(child);
            let commit = self.repository.conclude(newest, &message).await?;
            Ok(Ok(commit))
        };
        match concluded.await {
            Ok(Ok(commit)) => {
                let merge = commit.clone();
                let commit = self.restored(tally, commit).await?.unwrap_or(merge);
                let hash = commit.hash.clone();
                self.report_merge(tally, child, commit).await;
                self.report_diff(tally.iterations, hash).await;
                tally.integration.rest.pop_front();
                tally.integration.open = None;
                Ok(Ok(Vec::new()))
            }
            Ok(Err(left)) => Ok(Ok(left
                .iter()
                .map(|file| shown_name(&file.to_string_lossy()))
                .collect())),
            Err(GitError::Stopped) => Err(Abort::Stopped(StopOutcome::default())),
            Err(why) => Ok(Err(format!("the merge could not be committed: {why}"))),
        }
    }
}

fn not_committed(reason: String) -> Failure {
    Failure {
        reason,
        timed_out: false,
    }
}

/// Names are untrusted text.
fn shown_name(name: &str) -> String {
    printable(name).chars().take(MAX_SHOWN_NAME).collect()
}

fn names(conflict: &Conflict) -> Vec<String> {
    let names = conflict.files.iter().take(MAX_CONFLICT_FILES);
    names
        .map(|file| shown_name(&file.to_string_lossy()))
        .collect()
}

/// The agent's description of a conflict.
fn feedback(incoming: &Incoming, conflict: &Conflict) -> Feedback {
    let label = incoming.label();
    let subject = match incoming {
        Incoming::Child(child) => format!("What the child {child} did"),
        Incoming::Target(branch) => format!("The branch {branch}"),
    };
    let mut message = format!(
        "{subject} conflicts with what is here. The workspace holds both, with \
         conflict markers (<<<<<<< awo/parent, =======, >>>>>>> {label}): bring both sides \
         together and remove the markers; the runner commits the merge. In this repository the \
         other side's commit is {label}. In conflict:"
    );
    for line in conflict.messages.iter().take(MAX_CONFLICT_FILES) {
        // Writing to a string cannot fail.
        let _ = write!(message, "\n{}", shown_name(line));
    }
    message.truncate(message.floor_char_boundary(MAX_REASON_BYTES));
    Feedback {
        level: None,
        check: incoming.check().to_owned(),
        message,
    }
}

/// A conflict is no progress over anything.
fn not_resolved(incoming: &Incoming, files: &[String]) -> Verdict {
    let files = last_bytes(&files.join(", "), MAX_REASON_BYTES / 4);
    let child = match incoming {
        Incoming::Child(child) => child,
        Incoming::Target(branch) => {
            let message = format!(
                "the branch {branch} conflicts with what is here, and no iteration is left to bring them \
                 together: {files}. Raise maxIterations, or merge the branch yourself"
            );
            let error = RunError::new(RunErrorCode::MaxIterationsReached, &message);
            return Verdict::NotPassed(usize::MAX, error);
        }
    };
    let message = format!(
        "what the child {child} did conflicts with what the run and its other children did, and no \
         iteration is left to bring them together: {files}. Raise maxIterations, or let children \
         change different files"
    );
    let error = RunError::new(RunErrorCode::ChildrenFailed, &message);
    Verdict::NotPassed(usize::MAX, error)
}
