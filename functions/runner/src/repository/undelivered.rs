//! A turn's work that is not on the origin, as a file for the next turn of its thread.
//!
//! The file is a git bundle of one commit, which the runner makes from the tree of its own newest commit: the
//! `.git` of an agent has no part in it. Everything else is on the origin.

use std::path::Path;
use std::time::Duration;

use super::Repository;
use super::branches::is_hash;
use crate::git::{Call, GitError};

/// Name of the commit, in the repository and in the bundle.
const UNDELIVERED: &str = "refs/awo/undelivered";
/// Longest time for writing or reading a bundle.
const LIMIT: Duration = Duration::from_secs(120);

impl Repository {
    /// Writes the tree of `commit` to `file`, as one commit on `parents`. The history of `published`, which the
    /// origin has, is left out.
    pub(crate) async fn bundle(
        &self,
        commit: &str,
        parents: &[String],
        published: &[&str],
        file: &Path,
    ) -> Result<(), GitError> {
        let tree = self.tree(commit).await?;
        let message = b"Work of an earlier turn\n".to_vec();
        let squashed = self.commit_tree(&tree, parents, message).await?;
        self.point(UNDELIVERED, &squashed).await?;
        let mut call = Call::new(["bundle", "create", "--quiet"]);
        call.args.push(file.into());
        call.args.push(UNDELIVERED.into());
        call.args
            .extend(published.iter().map(|known| format!("^{known}").into()));
        call.limit = Some(LIMIT);
        self.git.call(self.here(call)).await.map(drop)
    }

    /// Takes the commit out of a bundle.
    pub(crate) async fn unbundle(&self, file: &Path) -> Result<String, GitError> {
        let mut call = Call::new(["bundle", "unbundle"]);
        call.args.push(file.into());
        call.limit = Some(LIMIT);
        let reported = self.git.call(self.here(call)).await?;
        let reported = String::from_utf8_lossy(&reported);
        let named = reported.lines().find_map(|line| {
            let (hash, name) = line.split_once(' ')?;
            (name == UNDELIVERED && is_hash(hash)).then(|| hash.to_owned())
        });
        let commit =
            named.ok_or_else(|| GitError::Failed("the bundle names no commit".to_owned()))?;
        self.point(UNDELIVERED, &commit).await?;
        Ok(commit)
    }
}
