//! The runner's own repository, beside the workspace and out of the agent's reach.
//!
//! It uses the workspace only as a work tree: only the files count. The `.git` in the workspace is
//! a copy for the agent, which no call here ever reads.
//!
//! The clone has the whole history of one branch with its tags, or, where that is too large, its
//! last commits: a bounded cost for any repository, and a result that can be pushed, since the
//! origin lacks only the commits made here. A partial clone was rejected: it fetches lazily, so
//! local calls would need the network and credentials at any time.

mod base;
mod branches;
mod checkout;
mod cloning;
mod diffs;
mod heads;
mod ignoring;
mod left_out;
mod lfs;
mod lfs_content;
mod merging;
mod populating;
mod references;
mod restoring;
mod submodule_changes;
mod submodule_urls;
mod submodules;
mod turns;
mod undelivered;
mod untouched;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use awo_domain::source::GitSource;

use crate::git::{Call, Git, GitError};
use crate::git_guard::PutAside;
use crate::layout::Layout;

pub(crate) use base::{Base, ThreadBase};
pub(crate) use checkout::FreshClone;
pub(crate) use heads::Head;
pub(crate) use left_out::LeftOut;
pub(crate) use merging::{Conflict, Merge};
pub(crate) use populating::Objects;
pub(crate) use references::Point;
pub(crate) use submodules::MissingSubmodule;

/// Reports of a commit that would hold what the last one holds.
const NOTHING: [&str; 3] = [
    "nothing to commit",
    "nothing added to commit",
    "no changes added to commit",
];
/// A commit of an iteration.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) hash: String,
    pub(crate) files_changed: u64,
}

/// Outcome of committing a workspace.
#[derive(Debug)]
pub(crate) struct CommitOutcome {
    /// Absent if the workspace holds what the last commit holds.
    pub(crate) commit: Option<Commit>,
    pub(crate) left_out: LeftOut,
    /// Submodules at commits that their remotes do not have.
    pub(crate) unpublished: Vec<MissingSubmodule>,
}

/// A file that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    pub(crate) kind: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Deleted,
    Modified,
}

/// The runner's repository and the workspace that belongs to it.
pub(crate) struct Repository {
    git: Git,
    dir: PathBuf,
    workspace: PathBuf,
    aside: PathBuf,
    modules: PathBuf,
    /// Largest history that is cloned whole, in bytes.
    most_history: u64,
    /// The lines of `packed-refs` for the tags of the base and its ancestors.
    tags: OnceLock<Vec<u8>>,
    /// Set where `git-lfs` is installed.
    lfs: OnceLock<lfs_content::Lfs>,
    /// The submodules of the base, and those that the agent added.
    submodules: Mutex<submodules::Submodules>,
    /// Ignored files of the workspace that are not the agent's.
    present: Mutex<left_out::IgnoredFiles>,
    /// Tracked files that differ from the commit, and that the agent has not touched.
    untouched: Mutex<untouched::Differing>,
}

impl Repository {
    pub(crate) fn new(git: Git, layout: &Layout) -> Repository {
        Repository {
            git,
            dir: layout.repo(),
            workspace: layout.workspace(),
            aside: layout.aside(),
            modules: layout.modules(),
            most_history: cloning::MOST_HISTORY_BYTES,
            tags: OnceLock::new(),
            lfs: OnceLock::new(),
            submodules: Mutex::default(),
            present: Mutex::default(),
            untouched: Mutex::default(),
        }
    }

    /// From here on commits stand on no branch; the copy for the agent is made before.
    pub(crate) fn detach(&self, newest: &str) -> io::Result<()> {
        fs::write(self.dir.join("HEAD"), format!("{newest}\n"))
    }

    /// Lets an earlier commit of the run, which is here, be its newest one. It comes before
    /// [`Self::detach`].
    pub(crate) async fn go_on_at(&self, commit: &str) -> Result<(), GitError> {
        self.point("HEAD", commit).await?;
        self.check_out(commit, &self.workspace, None).await
    }

    /// Commits what is in the workspace, if that is not what the last commit holds.
    pub(crate) async fn commit(&self, message: &str) -> Result<CommitOutcome, GitError> {
        self.check_workspace()?;
        let (workspace, aside) = (self.workspace.clone(), self.aside.clone());
        let put = blocking(move || PutAside::from_workspace(&workspace, &aside)).await?;
        let result = self.commit_visible(message, &put).await;
        blocking(move || put.restore()).await?;
        result
    }

    fn check_workspace(&self) -> Result<(), GitError> {
        match fs::symlink_metadata(&self.workspace) {
            Ok(meta) if meta.is_dir() => Ok(()),
            _ => Err(GitError::Failed(
                "the agent removed the workspace".to_owned(),
            )),
        }
    }

    async fn commit_visible(
        &self,
        message: &str,
        put: &PutAside,
    ) -> Result<CommitOutcome, GitError> {
        // A call that was killed leaves its lock; no other process is at work here.
        let _ = fs::remove_file(self.dir.join("index.lock"));
        let litter = self.exclude_litter(put.litter()).await?;
        self.hide_untouched().await?;
        let mut add = self.with_lfs(Call::new(["add", "--all"]));
        add.work_tree = Some(&self.workspace);
        self.git.call(add).await?;
        let unpublished = self.stage_submodules(put).await?;
        let commit = self.commit_all(message).await?;
        let ignored = self.newly_ignored().await?;
        Ok(CommitOutcome {
            commit,
            left_out: LeftOut { ignored, litter },
            unpublished,
        })
    }

    async fn commit_all(&self, message: &str) -> Result<Option<Commit>, GitError> {
        let args = ["commit", "--no-verify", "--cleanup=verbatim", "--file=-"];
        let mut commit = self.in_workspace(Call::new(args));
        commit.input = Some(message.as_bytes().to_vec());
        let answer = self.git.answer(commit).await?;
        let reported = String::from_utf8_lossy(&answer.stdout);
        if answer.success {
            return match read_commit(&reported) {
                Some(commit) => Ok(Some(commit)),
                None => Err(GitError::Failed(format!("git commit printed: {reported}"))),
            };
        }
        if NOTHING.iter().any(|nothing| reported.contains(nothing)) {
            return Ok(None);
        }
        Err(GitError::Failed(format!("{reported}{}", answer.stderr)))
    }

    /// Each file of a commit with its mode, its hash and its path, as `ls-tree -r -z` lists them.
    pub(crate) async fn list(&self, commit: &str) -> Result<Vec<u8>, GitError> {
        let list = Call::new(["ls-tree", "-r", "-z", "--full-tree", commit]);
        self.git.call(self.here(list)).await
    }

    /// Fills the empty folder `dir` with a commit. Without an index of its own it is the
    /// workspace's.
    pub(crate) async fn check_out(
        &self,
        commit: &str,
        dir: &Path,
        index: Option<&Path>,
    ) -> Result<(), GitError> {
        let mut call = self.here(Call::new(["read-tree", "--reset", "-u", commit]));
        call.work_tree = Some(dir);
        call.index = index;
        self.git.call(call).await.map(drop)
    }

    /// Puts files of `dir` back to what they are in `commit`.
    pub(crate) async fn put_back(
        &self,
        commit: &str,
        paths: &[&Path],
        dir: &Path,
        index: &Path,
    ) -> Result<(), GitError> {
        let args = ["checkout", "--force", "--quiet", commit];
        let from_input = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let mut call = self.here(Call::new(args.into_iter().chain(from_input)));
        call.work_tree = Some(dir);
        call.index = Some(index);
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_os_str().as_encoded_bytes());
            input.push(0);
        }
        call.input = Some(input);
        self.git.call(call).await.map(drop)
    }

    /// Files of `dir` that differ from its index: changed ones, those that are gone, and
    /// those that git neither knows nor ignores.
    pub(crate) async fn differing(
        &self,
        dir: &Path,
        index: &Path,
        limit: Duration,
    ) -> Result<Vec<PathBuf>, GitError> {
        // Its owner was changed, and with it the time that git would compare.
        let by_content = [
            "-c",
            "core.checkStat=minimal",
            "-c",
            "core.trustctime=false",
        ];
        let args = ["ls-files", "-z", "--modified", "--deleted", "--others"];
        let args = by_content
            .into_iter()
            .chain(args)
            .chain(["--exclude-standard"]);
        let mut call = self.here(Call::new(args));
        call.work_tree = Some(dir);
        call.index = Some(index);
        call.limit = Some(limit);
        let bytes = self.git.call(call).await?;
        let paths = bytes
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty());
        Ok(paths
            .map(|path| OsString::from_vec(path.to_vec()).into())
            .collect())
    }

    /// Pushes a commit as a branch; the answer is the outcome.
    pub(crate) async fn push(
        &self,
        source: &GitSource,
        commit: &str,
        branch: &str,
        limit: Duration,
    ) -> Result<crate::git::Answer, GitError> {
        if let Some(refused) = self.push_lfs(commit, limit).await? {
            return Ok(refused);
        }
        let refspec = format!("{commit}:refs/heads/{branch}");
        let args = ["push", "--porcelain", "--no-verify", "--no-follow-tags"];
        let operands = ["--", source.repository.as_str(), &refspec];
        let mut call = self.here(Call::new(args.into_iter().chain(operands)));
        call.remote = true;
        call.limit = Some(limit);
        self.git.answer(call).await
    }

    /// Does something on the way to the origin, unless the run is stopped.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, GitError> {
        self.git.unless_stopped(work).await
    }

    fn here<'a>(&'a self, mut call: Call<'a>) -> Call<'a> {
        call.git_dir = Some(&self.dir);
        call
    }

    fn in_workspace<'a>(&'a self, call: Call<'a>) -> Call<'a> {
        let mut call = self.here(call);
        call.work_tree = Some(&self.workspace);
        call
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, GitError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(why)) => Err(GitError::Failed(format!(
            "the workspace cannot be read: {why}"
        ))),
        Err(_) => Err(GitError::Failed("the workspace cannot be read".to_owned())),
    }
}

/// `[detached HEAD <hash>] subject`, and further down ` 2 files changed, …`.
fn read_commit(reported: &str) -> Option<Commit> {
    let (head, _) = reported.strip_prefix('[')?.split_once(']')?;
    let hash = head
        .rsplit(' ')
        .next()
        .filter(|hash| branches::is_hash(hash))?;
    let counted = reported.lines().skip(1).find_map(|line| {
        let line = line.strip_prefix(' ')?;
        let (count, rest) = line.split_once(' ')?;
        rest.starts_with("file").then(|| count.parse().ok())?
    });
    Some(Commit {
        hash: hash.to_owned(),
        files_changed: counted.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read_from_what_git_says_and_not_from_its_subject() {
        let hash = "484329a8f572a532ada9d356f32b637f3f02ce25";
        let reported =
            format!("[detached HEAD {hash}] x ] [y\n 12 files changed, 1 insertion(+)\n");
        let commit = read_commit(&reported).unwrap();
        assert_eq!((commit.hash.as_str(), commit.files_changed), (hash, 12));
        assert!(read_commit("[detached HEAD abc] x").is_none());
    }
}
