//! Commits and branches of the origin beyond the one branch that was cloned.
//!
//! A fetch of a branch has no depth limit: it gets all commits between the branch and known
//! commits, so that a merge base can be found even if the clone was cut.

use std::time::Duration;

use awo_domain::source::{Branch, GitSource};

use super::Repository;
use super::cloning::{DEPTH, depth_option};
use crate::git::{Call, GitError};

/// What all fetches have in common.
pub(super) const FETCH: [&str; 5] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
];

impl Repository {
    /// Lets the clone begin at `start` instead of its branch's head, fetching it if need be.
    pub(super) async fn begin_at(
        &self,
        source: &GitSource,
        start: &str,
        depth: Option<u32>,
        limit: Duration,
    ) -> Result<(), GitError> {
        if !is_hash(start) {
            return Err(GitError::Failed(format!("{start:?} is no commit")));
        }
        if !self.has(start).await? {
            let depth = depth.map(|_| depth_option(DEPTH));
            let operands = ["--", source.repository.as_str(), start];
            let args = FETCH.into_iter().chain(depth.as_deref()).chain(operands);
            let mut fetch = self.here(Call::new(args));
            fetch.remote = true;
            fetch.limit = Some(limit);
            self.git.call(fetch).await.map_err(|why| match why {
                GitError::Failed(reported) => GitError::Failed(format!(
                    "the commit {start}, with which the run begins, is not on the branch and \
                     cannot be fetched: {reported}"
                )),
                other => other,
            })?;
        }
        self.point("HEAD", start).await
    }

    /// Fetches a branch and lets the ref `name` point to `commit`, which must be on it.
    pub(crate) async fn fetch_commit(
        &self,
        source: &GitSource,
        branch: &str,
        commit: &str,
        name: &str,
        limit: Duration,
    ) -> Result<(), GitError> {
        // Neither can be an option then, nor another refspec.
        Branch::parse(branch)
            .map_err(|why| GitError::Failed(format!("the branch {branch:?} {why}")))?;
        if !is_hash(commit) {
            return Err(GitError::Failed(format!("{commit:?} is no commit")));
        }
        let refspec = format!("+refs/heads/{branch}:{name}");
        let operands = ["--", source.repository.as_str(), &refspec];
        let mut fetch = self.here(Call::new(FETCH.into_iter().chain(operands)));
        fetch.remote = true;
        fetch.limit = Some(limit);
        self.git.call(fetch).await?;
        if !self.has(commit).await? || !self.is_ancestor(commit, name).await? {
            return Err(GitError::Failed(format!(
                "the branch {branch} of the origin does not have the commit {commit}"
            )));
        }
        self.point(name, commit).await
    }

    /// Lets a ref point to a commit; `HEAD` stands for the branch that it names, if any.
    pub(super) async fn point(&self, name: &str, commit: &str) -> Result<(), GitError> {
        let call = Call::new(["update-ref", name, commit]);
        self.git.call(self.here(call)).await.map(drop)
    }

    pub(super) async fn has(&self, commit: &str) -> Result<bool, GitError> {
        let object = format!("{commit}^{{commit}}");
        let call = Call::new(["cat-file", "-e", &object]);
        Ok(self.git.answer(self.here(call)).await?.success)
    }

    pub(super) async fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        let call = Call::new(["merge-base", "--is-ancestor", commit, of]);
        Ok(self.git.answer(self.here(call)).await?.success)
    }
}

/// A whole hash, as git writes it.
pub(super) fn is_hash(text: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    matches!(text.len(), 40 | 64) && text.bytes().all(digit)
}
