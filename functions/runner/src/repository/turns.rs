//! Commits and trees of a thread's earlier turns, fetched from the origin.

use std::time::Duration;

use awo_domain::source::{Branch, GitSource};

use super::Repository;
use super::branches::{FETCH, is_hash};
use crate::git::{Call, GitError};

/// Complaint of git about a branch that the origin does not have.
const NO_BRANCH: &str = "couldn't find remote ref";

impl Repository {
    /// Head of a branch of the origin, to which the ref `name` points then; `None` without the branch.
    pub(crate) async fn branch_head(
        &self,
        source: &GitSource,
        branch: &str,
        name: &str,
        limit: Duration,
    ) -> Result<Option<String>, GitError> {
        // Neither can be an option then, nor another refspec.
        Branch::parse(branch)
            .map_err(|why| GitError::Failed(format!("the branch {branch:?} {why}")))?;
        let refspec = format!("+refs/heads/{branch}:{name}");
        let operands = ["--", source.repository.as_str(), &refspec];
        let mut fetch = self.here(Call::new(FETCH.into_iter().chain(operands)));
        fetch.remote = true;
        fetch.limit = Some(limit);
        let answer = self.git.answer(fetch).await?;
        if answer.success {
            return self.hash_of(&format!("{name}^{{commit}}")).await.map(Some);
        }
        if answer.stderr.contains(NO_BRANCH) {
            return Ok(None);
        }
        Err(GitError::Failed(answer.stderr))
    }

    /// Fetches a commit by its id, unless it is here.
    pub(crate) async fn fetch_by_id(
        &self,
        source: &GitSource,
        commit: &str,
        limit: Duration,
    ) -> Result<(), GitError> {
        if !is_hash(commit) {
            return Err(GitError::Failed(format!("{commit:?} is no commit")));
        }
        if self.has(commit).await? {
            return Ok(());
        }
        let operands = ["--", source.repository.as_str(), commit];
        let mut fetch = self.here(Call::new(FETCH.into_iter().chain(operands)));
        fetch.remote = true;
        fetch.limit = Some(limit);
        self.git.call(fetch).await.map(drop)
    }

    /// The tree of a commit.
    pub(crate) async fn tree(&self, commit: &str) -> Result<String, GitError> {
        self.hash_of(&format!("{commit}^{{tree}}")).await
    }

    /// True if `commit` is here and is, or is an ancestor of, `newer`.
    pub(crate) async fn contains(&self, newer: &str, commit: &str) -> Result<bool, GitError> {
        Ok(is_hash(commit) && self.has(commit).await? && self.is_ancestor(commit, newer).await?)
    }

    async fn hash_of(&self, name: &str) -> Result<String, GitError> {
        let args = ["rev-parse", "--verify", "--end-of-options", name];
        let reported = self.git.call(self.here(Call::new(args))).await?;
        let hash = String::from_utf8_lossy(&reported).trim().to_owned();
        if is_hash(&hash) {
            Ok(hash)
        } else {
            Err(GitError::Failed(format!("git rev-parse printed: {hash}")))
        }
    }
}
