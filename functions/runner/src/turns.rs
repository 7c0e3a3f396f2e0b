//! Start of a run that continues a thread, or that begins on an existing branch: the commit with which it
//! begins, and the reference against which it is held.

use std::time::Duration;

use awo_domain::control::{RunSpec, RunThread, TurnDelivery, TurnOrigin};
use awo_domain::source::{Branch, GitSource};
use tokio::time::Instant;

use crate::gate;
use crate::git::GitError;
use crate::repository::{Base, Point, Repository, ThreadBase};
use crate::turn_files::{TurnFile, TurnFiles};
use crate::workspace::NoWorkspace;

/// Refs in the runner's repository: the thread's branch, and the branch from which it came. The second is
/// what conflict markers name, without `refs/`.
const TURN: &str = "refs/awo/turn";
pub(crate) const TARGET: &str = "awo/target";

/// The source of the clone: of a turn the thread's target branch, of a run with a result branch that branch.
pub(crate) fn source(spec: &RunSpec) -> GitSource {
    let branch = match (continued(spec), &spec.result_branch) {
        (Some((thread, _)), _) => {
            let target = thread.target.as_deref();
            target.and_then(|target| Branch::parse(target).ok())
        }
        (None, Some(branch)) => Some(branch.clone()),
        (None, None) => None,
    };
    match branch {
        None => gate::source(spec),
        Some(branch) => GitSource {
            repository: spec.source.repository.clone(),
            branch: Some(branch),
            commit: None,
        },
    }
}

/// The thread that the run continues, with the commit with which its first turn began.
pub(crate) fn continued(spec: &RunSpec) -> Option<(&RunThread, &str)> {
    let thread = spec.thread.as_deref()?;
    let base = thread.base_commit.as_deref()?;
    spec.gate.is_none().then_some((thread, base))
}

/// Places an existing branch onto which the result goes, which is not the repository's default branch.
pub(crate) async fn on_result_branch(
    repository: &Repository,
    spec: &RunSpec,
    base: Base,
    limit: Duration,
) -> Result<Base, NoWorkspace> {
    let Some(branch) = &spec.result_branch else {
        return Ok(base);
    };
    let default_branch = repository.default_branch(&spec.source, limit).await;
    let refused = match default_branch {
        None => {
            "the repository's default branch is not known, so resultBranch could be it: have HEAD of the \
             repository name a branch"
        }
        Some(default_branch) if default_branch == branch.as_str() => {
            "resultBranch is the repository's default branch, onto which no result is pushed: name another \
             branch"
        }
        Some(default_branch) => {
            let (source, reference) = (&spec.source, format!("refs/{TARGET}"));
            let head = repository.branch_head(source, &default_branch, &reference, limit);
            return Ok(Base {
                branch_head: head.await.map_err(not_begun)?,
                branch: default_branch,
                result_branch: Some(branch.as_str().to_owned()),
                ..base
            });
        }
    };
    Err(NoWorkspace::Failed(refused.to_owned()))
}

/// Results of earlier turns, as far as a turn can begin with them.
#[derive(Clone, Copy)]
pub(crate) struct EarlierWork<'a> {
    /// Files of earlier turns.
    pub(crate) files: &'a TurnFiles,
    /// True if the thread's pull request is merged or closed.
    pub(crate) is_over: bool,
}

impl EarlierWork<'_> {
    pub(crate) fn new(files: &TurnFiles, is_over: bool) -> EarlierWork<'_> {
        EarlierWork { files, is_over }
    }
}

/// Chooses the commit with which a turn begins, makes the reference, and fills the workspace with it.
pub(crate) async fn begin(
    repository: &Repository,
    spec: &RunSpec,
    earlier: EarlierWork<'_>,
    base: Base,
    limit: Duration,
) -> Result<Base, NoWorkspace> {
    let Some((thread, first)) = continued(spec) else {
        return on_result_branch(repository, spec, base, limit).await;
    };
    let turn = Turn {
        repository,
        spec,
        earlier,
        thread,
        first,
        deadline: Instant::now() + limit,
    };
    turn.begin(base).await
}

struct Turn<'a> {
    repository: &'a Repository,
    spec: &'a RunSpec,
    earlier: EarlierWork<'a>,
    thread: &'a RunThread,
    /// The commit with which the first turn began.
    first: &'a str,
    deadline: Instant,
}

/// The commit with which a turn begins.
struct Start {
    origin: TurnOrigin,
    commit: String,
}

impl Turn<'_> {
    async fn begin(&self, base: Base) -> Result<Base, NoWorkspace> {
        let target = self.head(&base.branch, &format!("refs/{TARGET}")).await?;
        let target = target.ok_or_else(|| no_target(&base.branch))?;
        let mut start = self.start(&target).await?;
        // It was chosen before the run waited for its children, and others may have pushed since.
        if let Some(resumption) = &self.spec.resumption {
            self.fetch(&resumption.base).await?;
            start.commit.clone_from(&resumption.base);
        }
        let delivered = self.last_delivery(&start.commit).await?;
        let merged = self.spec.merge_target.then(|| target.clone());
        let mut points = self.earlier_points(&start.commit).await?;
        let tree = self.repository.tree(&start.commit).await;
        let tree = tree.map_err(not_begun)?;
        // A stored workspace has nobody's work but the agent's.
        let by_others = start.origin != TurnOrigin::Workspace && delivered != tree;
        if by_others || merged.is_some() {
            points.push(Point {
                delivered: if by_others { &delivered } else { &tree }.clone(),
                present: tree,
                target: merged.clone(),
            });
        }
        let made = self.repository.make_reference(self.first, &points).await;
        let reference = made.map_err(not_begun)?;
        // The plan is read there.
        let filled = self.repository.go_on_at(&reference).await;
        filled.map_err(not_begun)?;
        let is_on_branch = start.origin == TurnOrigin::Branch;
        Ok(Base {
            commit: start.commit,
            branch_head: Some(target),
            result_branch: self.thread.branch.clone().filter(|_| is_on_branch),
            thread: Some(ThreadBase {
                commit: self.first.to_owned(),
                reference,
                points,
                origin: start.origin,
                delivered_tree: by_others.then_some(delivered),
                merged,
            }),
            ..base
        })
    }

    /// The thread's branch; where it is gone or nothing was delivered, the stored work of the turn before; else the
    /// branch from which the thread came, as after a pull request that is merged or closed.
    async fn start(&self, target: &str) -> Result<Start, NoWorkspace> {
        let branch = self.thread.branch.as_ref();
        if let Some(branch) = branch.filter(|_| !self.earlier.is_over)
            && let Some(commit) = self.head(branch, TURN).await?
        {
            return Ok(Start {
                origin: TurnOrigin::Branch,
                commit,
            });
        }
        if !self.earlier.is_over
            && let Some(commit) = self.undelivered().await?
        {
            return Ok(Start {
                origin: TurnOrigin::Workspace,
                commit,
            });
        }
        Ok(Start {
            origin: branch.map_or(TurnOrigin::Base, |_| TurnOrigin::Target),
            commit: target.to_owned(),
        })
    }

    /// The stored work of the turn before. Work that does not fit the origin any more counts as expired.
    async fn undelivered(&self) -> Result<Option<String>, NoWorkspace> {
        let run = self.thread.other_turns_run.as_ref();
        let file = run.and_then(|run| self.earlier.files.file(run, TurnFile::Work));
        let Some(file) = file else {
            return Ok(None);
        };
        match self.repository.unbundle(&file).await {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::Stopped) => Err(NoWorkspace::Stopped),
            Err(why) => {
                tracing::warn!(event = "undelivered_not_read", %why, "the work of the turn before could not be read");
                Ok(None)
            }
        }
    }

    /// Tree of the thread's last delivery, or of its base. One that its runner could not confirm counts if
    /// the branch has it.
    async fn last_delivery(&self, start: &str) -> Result<String, NoWorkspace> {
        for delivery in self.thread.deliveries.iter().rev() {
            let has = self.repository.contains(start, &delivery.commit).await;
            if delivery.confirmed || has.map_err(not_begun)? {
                self.fetch(&delivery.commit).await?;
                return Ok(delivery.tree.clone());
            }
        }
        self.repository.tree(self.first).await.map_err(not_begun)
    }

    /// Points of earlier turns, whose content is here then.
    async fn earlier_points(&self, start: &str) -> Result<Vec<Point>, NoWorkspace> {
        let mut points = Vec::new();
        for point in &self.thread.points {
            self.fetch(&point.start_commit).await?;
            let is_of = |delivery: &&TurnDelivery| delivery.tree == point.delivered_tree;
            if let Some(delivery) = self.thread.deliveries.iter().find(is_of) {
                self.fetch(&delivery.commit).await?;
            }
            // A merge that was never delivered is in no later turn.
            let target = match &point.merged {
                None => None,
                Some(merged) => {
                    let has = self.repository.contains(start, merged).await;
                    has.map_err(not_begun)?.then(|| merged.clone())
                }
            };
            points.push(Point {
                delivered: point.delivered_tree.clone(),
                present: point.start_tree.clone(),
                target,
            });
        }
        Ok(points)
    }

    async fn head(&self, branch: &str, name: &str) -> Result<Option<String>, NoWorkspace> {
        let source = &self.spec.source;
        let head = self
            .repository
            .branch_head(source, branch, name, self.left());
        head.await.map_err(not_begun)
    }

    async fn fetch(&self, commit: &str) -> Result<(), NoWorkspace> {
        let source = &self.spec.source;
        let fetched = self.repository.fetch_by_id(source, commit, self.left());
        fetched.await.map_err(|why| match why {
            GitError::Stopped => NoWorkspace::Stopped,
            why => NoWorkspace::Failed(format!(
                "the commit {commit} of an earlier turn cannot be fetched, so it is not known what others \
                 changed since: {why}. Create a work order with resultBranch to go on from the branch as it is"
            )),
        })
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

fn no_target(branch: &str) -> NoWorkspace {
    NoWorkspace::Failed(format!(
        "the origin has no branch {branch}, from which the thread came: push it, or create a new work order"
    ))
}

fn not_begun(why: GitError) -> NoWorkspace {
    match why {
        GitError::Stopped => NoWorkspace::Stopped,
        why => NoWorkspace::Failed(format!("the turn could not be begun: {why}")),
    }
}
