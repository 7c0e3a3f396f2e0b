//! The commit that a `verify` order is about, and how it stands to the base branch that judges it.

use std::ffi::OsStr;
use std::time::Duration;

use awo_domain::source::{Branch, GitSource};
use tokio::time::Instant;

use super::Repository;
use super::branches::{FETCH, is_hash};
use crate::git::{Call, GitError};

/// The ref of the commit in the runner's repository.
const HEAD: &str = "refs/awo/head";
/// Longest question for the default branch: without an answer there are only fewer caches.
const DEFAULT_BRANCH_LIMIT: Duration = Duration::from_secs(20);

/// A commit to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) commit: String,
    /// The newest commit that it has in common with the base; the base itself if they have none.
    pub(crate) merge_base: String,
    /// The number of commits of the base that it does not have.
    pub(crate) behind: u64,
}

impl Repository {
    /// Fetches the commit `id`, or else the head of the source's branch, and compares it with `base`,
    /// which is here.
    pub(crate) async fn fetch_head(
        &self,
        source: &GitSource,
        id: Option<&str>,
        base: &str,
        limit: Duration,
    ) -> Result<Head, GitError> {
        let deadline = Instant::now() + limit;
        let left = || deadline.saturating_duration_since(Instant::now());
        let url = source.repository.as_str();
        match id {
            Some(id) => {
                if !is_hash(id) {
                    return Err(GitError::Failed(format!("{id:?} is no commit")));
                }
                if !self.has(id).await? {
                    self.fetch(["--", url, id], left()).await?;
                }
                self.point(HEAD, id).await?;
            }
            None => {
                let branch = source.branch.as_ref().map(Branch::as_str);
                let name = branch.map_or("HEAD".to_owned(), |name| format!("refs/heads/{name}"));
                let refspec = format!("+{name}:{HEAD}");
                self.fetch(["--", url, &refspec], left()).await?;
            }
        }
        let commit = self.line(["rev-parse", HEAD]).await?;
        let merge_base = match self.merge_base(base, &commit).await? {
            Some(merge_base) => Some(merge_base),
            None if self.line(["rev-parse", "--is-shallow-repository"]).await? == "true" => {
                self.fetch(["--unshallow", "--", url], left()).await?;
                self.merge_base(base, &commit).await?
            }
            None => None,
        };
        let missing = format!("{commit}..{base}");
        let behind = self.line(["rev-list", "--count", &missing]).await?;
        Ok(Head {
            merge_base: merge_base.unwrap_or_else(|| base.to_owned()),
            behind: behind.parse().unwrap_or(0),
            commit,
        })
    }

    /// Name of the branch that HEAD of the remote names, if it says so.
    pub(crate) async fn default_branch(
        &self,
        source: &GitSource,
        limit: Duration,
    ) -> Option<String> {
        let args = ["ls-remote", "--symref", "--quiet", "--"];
        let operands = [source.repository.as_str(), "HEAD"];
        let mut list = Call::new(args.into_iter().chain(operands));
        list.remote = true;
        list.limit = Some(limit.min(DEFAULT_BRANCH_LIMIT));
        let listed = self.git.call(list).await.ok()?;
        let listed = String::from_utf8(listed).ok()?;
        let name = listed.lines().find_map(|line| {
            let name = line.strip_prefix("ref: refs/heads/")?;
            name.strip_suffix("\tHEAD")
        });
        name.map(str::to_owned)
    }

    async fn fetch<const N: usize>(
        &self,
        operands: [&str; N],
        limit: Duration,
    ) -> Result<(), GitError> {
        let mut fetch = self.here(Call::new(FETCH.into_iter().chain(operands)));
        fetch.remote = true;
        fetch.limit = Some(limit);
        self.git.call(fetch).await.map(drop)
    }

    async fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let call = Call::new(["merge-base", one, other]);
        let answer = self.git.answer(self.here(call)).await?;
        Ok(answer.success.then(|| trimmed(&answer.stdout)))
    }

    async fn line(
        &self,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<String, GitError> {
        let call = self.here(Call::new(args));
        self.git.call(call).await.map(|bytes| trimmed(&bytes))
    }
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
