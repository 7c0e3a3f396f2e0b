//! Restores protected files in the agent's commit, so that the delivered commit is the verified
//! one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::agent::Feedback;
use awo_domain::control::{MAX_FILE_NAME, MAX_NAMED_FILES, RunnerEvent};
use awo_domain::run::RunErrorCode;

use super::{Abort, Tally, Work, fail};
use crate::git::GitError;
use crate::output::printable;
use crate::repository::{Change, Commit, LeftOut};
use crate::stop::StopOutcome;
use crate::verify::{Guard, NotPrepared};

/// The addition to a delivered commit's message where nothing was verified.
pub(super) const UNVERIFIED: &str = "Unverified: no test is known to have run and passed.";

impl Work<'_> {
    /// The plan, where it is held against what the run changed.
    pub(super) fn guard(&self, limit: Duration) -> Guard<'_> {
        Guard {
            frozen: &self.frozen,
            repository: self.repository,
            processes: self.processes,
            layout: self.layout,
            protect_tests: self.spec.profile.verification.protect_tests,
            protect_gate: self.protects_gate(),
            limit,
        }
    }

    /// The commit without what the agent did to protected files; nothing if it did nothing else.
    pub(super) async fn restored(
        &self,
        tally: &mut Tally,
        commit: Commit,
    ) -> Result<Option<Commit>, Abort> {
        let base = self.base.reference();
        let changes = self.repository.changes(base, &commit.hash).await;
        let changes = changes.map_err(not_restored)?;
        let guard = self.guard(self.verification_limit());
        let held = match guard.hold(&changes, self.reference(), &commit.hash).await {
            Ok(held) => held,
            Err(NotPrepared::Git(why)) => return Err(not_restored(why)),
            // Its verification reports it, and does not pass.
            Err(NotPrepared::Check(_)) => return Ok(Some(commit)),
        };
        if held.leaves_all() {
            return Ok(Some(commit));
        }
        let back = held.put_back();
        let merged: Vec<(&Path, &str)> = held
            .merged
            .iter()
            .map(|file| (file.path.as_path(), file.text.as_str()))
            .collect();
        let restored = self.repository.restore(base, &commit.hash, &back, &merged);
        let restored = restored.await.map_err(not_restored)?;
        let newest = match &restored {
            Some(commit) => &commit.hash,
            None => tally.commit.as_ref().unwrap_or(&self.base.commit),
        };
        let filled = self.repository.fill_workspace(newest).await;
        self.give_workspace(filled).await?;
        if guard.protect_gate {
            tally.gate_restored = names(held.gate.iter().copied());
        }
        let merged = held.merged.iter().map(|file| &file.path);
        tally.restored = path_names(back.iter().map(|change| &change.path).chain(merged));
        let event = RunnerEvent::ProtectedRestored {
            iteration: tally.iterations,
            files: tally.restored.clone(),
        };
        self.reporter.event(event).await;
        Ok(restored)
    }

    /// How long a verification may take.
    pub(super) fn verification_limit(&self) -> Duration {
        let limit = Duration::from_millis(self.spec.profile.verification.timeout_ms);
        limit.min(self.left())
    }
}

/// The agent's message about restored protected files, once.
pub(super) fn restored_feedback(tally: &mut Tally) -> Option<Feedback> {
    let files = std::mem::take(&mut tally.restored);
    (!files.is_empty()).then(|| Feedback {
        level: None,
        check: "protected files".to_owned(),
        message: format!(
            "these files are protected, and the iteration's changes to them were undone: {}",
            files.join(", ")
        ),
    })
}

/// The agent's message about files of its own that no commit takes.
pub(super) fn left_out_feedback(left_out: &LeftOut) -> Vec<Feedback> {
    let LeftOut { ignored, litter } = left_out;
    let kinds = [
        (
            "ignored files",
            ignored,
            "git ignores these files, so they are in no commit and not verified; use other names, \
             or change .gitignore",
        ),
        (
            "files left out",
            litter,
            "these are caches, dependencies or build output, and were not committed; add them to \
             .gitignore",
        ),
    ];
    let named = kinds.into_iter().filter(|(_, paths, _)| !paths.is_empty());
    named
        .map(|(check, paths, message)| Feedback {
            level: None,
            check: check.to_owned(),
            message: format!("{message}: {}", path_names(paths).join(", ")),
        })
        .collect()
}

/// Names as an event shows them: they are untrusted text.
pub(super) fn names<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<String> {
    let paths = changes.map(|change| &change.path);
    path_names(paths)
}

/// The same of paths.
pub(super) fn path_names<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<String> {
    let name = |path: &PathBuf| {
        let name = printable(&path.to_string_lossy()).replace('\n', " ");
        name.chars().take(MAX_FILE_NAME).collect()
    };
    paths.into_iter().take(MAX_NAMED_FILES).map(name).collect()
}

fn not_restored(why: GitError) -> Abort {
    match why {
        GitError::Stopped => Abort::Stopped(StopOutcome::default()),
        why => {
            let message = format!("protected files could not be restored: {why}");
            fail(RunErrorCode::WorkspaceFailed, &message)
        }
    }
}
