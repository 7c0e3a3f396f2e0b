//! Selects the changes of a run that affect files an agent must not change, and those that decide what
//! the plan's commands do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::verification::Check;
use tokio::time::Instant;

use super::error;
use super::subject::Reference;
use crate::contained_process::ContainedProcesses;
use crate::git::GitError;
use crate::inspection::{Answer, Bytes, Files, GatePart, Inspector, MEMORY_MB, Paths, Task};
use crate::layout::Layout;
use crate::plan::{FrozenPlan, PLAN_FILE, is_test_change};
use crate::repository::{Change, Repository};
use crate::stop::StopOutcome;
use crate::toolchains::gates::Class;

/// The check that stands for patterns that could not be compared with what changed.
const NAME: &str = "protected files";

/// Why there is no checkout to verify.
#[derive(Debug)]
pub(crate) enum NotPrepared {
    Git(GitError),
    /// The plan is such that nothing can be verified by it.
    Check(Check),
}

impl From<GitError> for NotPrepared {
    fn from(why: GitError) -> NotPrepared {
        NotPrepared::Git(why)
    }
}

impl From<StopOutcome> for NotPrepared {
    fn from(_: StopOutcome) -> NotPrepared {
        NotPrepared::Git(GitError::Stopped)
    }
}

/// Most files whose parts are compared, and the largest; others are compared as wholes.
const MAX_COMPARED: usize = 100;
const MAX_COMPARED_BYTES: u64 = 262_144;

/// The plan of a run, where it is held against what the run changed.
pub(crate) struct Guard<'a> {
    pub(crate) frozen: &'a FrozenPlan,
    pub(crate) repository: &'a Repository,
    pub(crate) processes: &'a ContainedProcesses,
    pub(crate) layout: &'a Layout,
    /// True if test files of the base are protected, too.
    pub(crate) protect_tests: bool,
    /// True if files that decide what commands do are put back.
    pub(crate) protect_gate: bool,
    /// Time for the inspection.
    pub(crate) limit: Duration,
}

/// Changes that are held against the plan.
pub(crate) struct GuardedChanges<'c> {
    /// Changes of protected files.
    pub(crate) protected: Vec<&'c Change>,
    /// Changes of files that decide what commands do.
    pub(crate) gate: Vec<&'c Change>,
    /// Content of files that are put back in part alone.
    pub(crate) merged: Vec<MergedFile>,
    protect_gate: bool,
}

/// A file with the base's parts that decide, and the others of the commit.
#[derive(Debug, Clone)]
pub(crate) struct MergedFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl<'c> GuardedChanges<'c> {
    /// Changes of files that are put back as wholes.
    pub(crate) fn put_back(&self) -> Vec<&'c Change> {
        let is_whole = |change: &&&Change| {
            let mut merged = self.merged.iter();
            self.protect_gate && !merged.any(|file| file.path == change.path)
        };
        let gate = self.gate.iter().filter(is_whole);
        let gate = gate.filter(|change| !contains(&self.protected, change));
        self.protected.iter().chain(gate).copied().collect()
    }

    /// True if nothing is put back.
    pub(crate) fn leaves_all(&self) -> bool {
        self.merged.is_empty() && self.put_back().is_empty()
    }
}

/// True if `change` is one of `changes`.
pub(crate) fn contains(changes: &[&Change], change: &Change) -> bool {
    changes.iter().any(|other| std::ptr::eq(*other, change))
}

impl Guard<'_> {
    /// Holds the changes of a commit against the plan.
    pub(crate) async fn hold<'c>(
        &self,
        changes: &'c [Change],
        reference: Reference<'_>,
        commit: &str,
    ) -> Result<GuardedChanges<'c>, NotPrepared> {
        let mut protected = self.protected_by_plan(changes).await?;
        if self.protect_tests {
            let tests = changes.iter().filter(|change| is_test_change(change));
            let new: Vec<&Change> = tests.filter(|test| !contains(&protected, test)).collect();
            protected.extend(new);
        }
        let mut gate: Vec<&Change> = Vec::new();
        let mut by_parts: Vec<&Change> = Vec::new();
        for change in changes {
            match self.frozen.gate_class(change) {
                Class::Free => {}
                Class::ByParts if by_parts.len() < MAX_COMPARED => by_parts.push(change),
                Class::Decisive | Class::ByParts => gate.push(change),
            }
        }
        let mut merged = Vec::new();
        let parts = self.compared(&by_parts, reference, commit).await?;
        for (change, part) in by_parts.into_iter().zip(parts) {
            if part.differs {
                gate.push(change);
                merged.extend(part.merged.map(|text| MergedFile {
                    path: change.path.clone(),
                    text,
                }));
            }
        }
        if !self.protect_gate {
            merged.clear();
        }
        merged.retain(|file| protected.iter().all(|change| change.path != file.path));
        Ok(GuardedChanges {
            protected,
            gate,
            merged,
            protect_gate: self.protect_gate,
        })
    }

    /// Compares the parts of files that decide.
    async fn compared(
        &self,
        changes: &[&Change],
        reference: Reference<'_>,
        commit: &str,
    ) -> Result<Vec<GatePart>, NotPrepared> {
        let mut tasks = Vec::new();
        for change in changes {
            let path = &change.path;
            let content = async |commit: &str| {
                let content = self.repository.content(commit, path, MAX_COMPARED_BYTES);
                content.await.map(|bytes| bytes.map(Bytes))
            };
            let before = content(reference.since).await?;
            let base = if reference.commit == reference.since {
                before.clone()
            } else {
                content(reference.commit).await?
            };
            tasks.push(Task::Gate {
                path: Paths(vec![path.clone()]),
                before,
                base,
                after: content(commit).await?,
            });
        }
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + self.limit;
        let dir = self.layout.verify_root();
        let (home, tmp) = (self.layout.home(), self.layout.tmp());
        let inspector = self.inspector(&dir, &home, &tmp);
        let answers = inspector.inspect(Files::default(), tasks, deadline).await?;
        let parts = answers.into_iter().map(|answer| match answer {
            Ok(Answer::Gate(part)) => part,
            // What cannot be compared differs.
            _ => GatePart {
                differs: true,
                merged: None,
            },
        });
        Ok(parts.collect())
    }

    fn inspector<'i>(&'i self, dir: &'i Path, home: &'i Path, tmp: &'i Path) -> Inspector<'i> {
        Inspector {
            processes: self.processes,
            dir,
            home,
            tmp,
            request: self.layout.inspection(),
            memory_mb: MEMORY_MB,
        }
    }

    async fn protected_by_plan<'c>(
        &self,
        changes: &'c [Change],
    ) -> Result<Vec<&'c Change>, NotPrepared> {
        let Some(globs) = self.frozen.plan.protected() else {
            let is_plan = |change: &&Change| change.path == Path::new(PLAN_FILE);
            return Ok(changes.iter().filter(is_plan).collect());
        };
        if globs.is_empty() || changes.is_empty() {
            return Ok(Vec::new());
        }
        let paths = changes.iter().map(|change| change.path.clone()).collect();
        let task = Task::Match {
            globs: globs.to_vec(),
            paths: Paths(paths),
        };
        let dir = self.layout.verify_root();
        let (home, tmp) = (self.layout.home(), self.layout.tmp());
        let deadline = Instant::now() + self.limit;
        let inspector = self.inspector(&dir, &home, &tmp);
        let answer = inspector.one(Files::default(), task, deadline).await?;
        match answer {
            Ok(Answer::Matching(numbers)) => Ok(numbers
                .into_iter()
                .filter_map(|number| changes.get(number))
                .collect()),
            Ok(_) => Err(NotPrepared::Check(error(NAME, "could not be judged"))),
            Err(fault) => Err(NotPrepared::Check(fault.check(NAME))),
        }
    }
}
