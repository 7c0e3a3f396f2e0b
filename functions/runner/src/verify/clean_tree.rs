//! Detects files that the commands of a verification left behind: new to git, and not ignored.
//! Reports that the plan names are expected.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::verification::{Check, Status};

use super::contracts::list_some;
use super::findings::is_pattern;
use super::{Verification, check, passed};
use crate::git::GitError;
use crate::litter;
use crate::plan::{Glob, Plan, matching};
use crate::repository::Repository;
use crate::stop::StopOutcome;

const NAME: &str = "clean tree";
/// A command can put things into git's way that keep it waiting.
const LOOK_LIMIT: Duration = Duration::from_secs(20);

/// The clean checkout of a commit, as git sees it.
pub(crate) struct Tree<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) index: PathBuf,
}

/// What differs from the commit; a sentence where it is not known.
pub(super) type Differing = Result<BTreeSet<PathBuf>, String>;

impl Verification<'_> {
    /// What differs from the commit now; nothing where it does not matter.
    pub(super) async fn differing(&self) -> Result<Option<Differing>, StopOutcome> {
        let Some(tree) = self.tree.as_ref().filter(|_| self.plan.has_commands()) else {
            return Ok(None);
        };
        let dir = &self.subject.dir;
        let limit = LOOK_LIMIT.min(self.left());
        match tree.repository.differing(dir, &tree.index, limit).await {
            Ok(paths) => Ok(Some(Ok(paths.into_iter().collect()))),
            Err(GitError::Stopped) => Err(StopOutcome::default()),
            Err(why) => Ok(Some(Err(why.to_string()))),
        }
    }

    /// Compares with what differed before the first command.
    pub(super) async fn clean_tree(&self) -> Result<Option<Check>, StopOutcome> {
        let (Some(before), Some(now)) = (&self.differed_before, self.differing().await?) else {
            return Ok(None);
        };
        Ok(Some(match (before, now) {
            (Ok(before), Ok(now)) => judge(self.plan, &self.subject.dir, before, &now),
            (Err(why), _) => unknown(why),
            (_, Err(why)) => unknown(&why),
        }))
    }
}

fn unknown(why: &str) -> Check {
    check(
        NAME,
        Status::Warning,
        &format!("git could not compare: {why}"),
    )
}

/// The files that are no report by a pattern.
fn without_matches(plan: &Plan, mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let patterns = plan.reports().filter(|path| is_pattern(path));
    let globs: Vec<Glob> = patterns
        .filter_map(|path| Glob::try_from(path.trim_start_matches("./").to_owned()).ok())
        .collect();
    for number in matching(&globs, &files).into_iter().rev() {
        files.remove(number);
    }
    files
}

fn judge(plan: &Plan, dir: &Path, before: &BTreeSet<PathBuf>, now: &BTreeSet<PathBuf>) -> Check {
    let reports: BTreeSet<&Path> = plan.reports().map(Path::new).collect();
    let left: Vec<PathBuf> = now
        .difference(before)
        .filter(|path| !reports.contains(path.as_path()) && !litter::covers(dir, path))
        .cloned()
        .collect();
    let left = without_matches(plan, left);
    if left.is_empty() {
        return passed(NAME, "the commands left nothing behind");
    }
    let left = list_some(&left);
    let message = format!("the commands left behind or changed {left}: have git ignore it");
    check(NAME, Status::Warning, &message)
}
