//! Merges, in the runner's repository alone. No work tree takes part, so nothing in one is read or
//! executed, and no attribute of a repository selects a merge driver.
//!
//! A conflict becomes a tree with conflict markers, which then fills the workspace. The workspace's
//! next commit has both parents.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::{Commit, Repository, blocking};
use crate::git::{Call, GitError};
use crate::git_guard::PutAside;
use crate::safe_files;

/// What is merged into, as conflict markers name it.
const OURS: &str = "awo/parent";
/// Largest file that is searched for conflict markers; git sees larger ones as binary, in
/// which there are none.
const MAX_MARKED_BYTES: u64 = 512 * 1_024 * 1_024;

/// What became of a merge.
#[derive(Debug)]
pub(crate) enum Merge {
    /// It was there already.
    Nothing,
    Merged(Commit),
    Conflict(Conflict),
}

/// What does not fit together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conflict {
    /// A tree with everything that fits, and conflict markers where it does not.
    pub(super) tree: String,
    /// What was to be merged.
    theirs: String,
    /// As git names it in conflict markers.
    label: String,
    /// The files, each once.
    pub(crate) files: Vec<PathBuf>,
    /// Git's message about each, a line.
    pub(crate) messages: Vec<String>,
}

impl Repository {
    /// Merges the commit to which the ref `refs/<label>` points into `ours`, the newest commit,
    /// and lets the result be the newest one.
    pub(crate) async fn merge(
        &self,
        ours: &str,
        label: &str,
        message: &str,
    ) -> Result<Merge, GitError> {
        let theirs = self.commit_of(label).await?;
        if self.is_ancestor(&theirs, ours).await? {
            return Ok(Merge::Nothing);
        }
        self.point(&format!("refs/{OURS}"), ours).await?;
        // Our diffs detect no renames, and some versions of git would merge as they are configured to
        // diff.
        let args = ["-c", "merge.renames=true", "merge-tree", "--write-tree"];
        let rest = ["-z", "--name-only", "--messages", OURS, label];
        let call = Call::new(args.into_iter().chain(rest));
        let answer = self.git.answer(self.here(call)).await?;
        // A failure of git's own writes no tree.
        let Some(mut conflict) = read_merge(&answer.stdout) else {
            return Err(GitError::Failed(answer.stderr));
        };
        if !answer.success {
            conflict.theirs = theirs;
            label.clone_into(&mut conflict.label);
            return Ok(Merge::Conflict(conflict));
        }
        let args = ["commit-tree", &conflict.tree, "-p", ours, "-p", &theirs];
        let mut call = self.here(Call::new(args.into_iter().chain(["-F", "-"])));
        call.input = Some(message.as_bytes().to_vec());
        let reported = self.git.call(call).await?;
        let hash = String::from_utf8_lossy(&reported).trim().to_owned();
        let call = Call::new(["update-ref", "--no-deref", "HEAD", &hash]);
        self.git.call(self.here(call)).await?;
        let files_changed = self.changes(ours, &hash).await?.len() as u64;
        Ok(Merge::Merged(Commit {
            hash,
            files_changed,
        }))
    }

    async fn commit_of(&self, label: &str) -> Result<String, GitError> {
        let name = format!("refs/{label}^{{commit}}");
        let call = Call::new(["rev-parse", "--verify", "--end-of-options", &name]);
        let reported = self.git.call(self.here(call)).await?;
        Ok(String::from_utf8_lossy(&reported).trim().to_owned())
    }

    /// Fills the workspace with a commit. Files that git does not know stay, unless they are in the
    /// way. No process may be at work there.
    pub(crate) async fn fill_workspace(&self, commit: &str) -> Result<(), GitError> {
        self.check_workspace()?;
        let (workspace, aside) = (self.workspace.clone(), self.aside.clone());
        let put = blocking(move || PutAside::from_workspace(&workspace, &aside)).await?;
        let _ = fs::remove_file(self.dir.join("index.lock"));
        let filled = self.check_out(commit, &self.workspace, None).await;
        blocking(move || put.restore()).await?;
        filled
    }

    /// Fills the workspace with a conflict; the next commit is the merge.
    pub(crate) async fn fill_with_conflict(&self, conflict: &Conflict) -> Result<(), GitError> {
        self.fill_workspace(&conflict.tree).await?;
        fs::write(
            self.dir.join("MERGE_HEAD"),
            format!("{}\n", conflict.theirs),
        )
        .map_err(|why| GitError::Failed(format!("the merge could not be begun: {why}")))
    }

    /// Commits a conflict that is resolved, with both parents.
    pub(crate) async fn conclude(&self, ours: &str, message: &str) -> Result<Commit, GitError> {
        let committed = self.commit(message).await?;
        let Some(mut commit) = committed.commit else {
            return Err(GitError::Failed("git made no merge".to_owned()));
        };
        // Of a merge git does not report their number.
        commit.files_changed = self.changes(ours, &commit.hash).await?.len() as u64;
        Ok(commit)
    }

    /// Files of a conflict in which its markers still stand.
    pub(crate) async fn unresolved(&self, conflict: &Conflict) -> Result<Vec<PathBuf>, GitError> {
        let workspace = self.workspace.clone();
        let (files, label) = (conflict.files.clone(), conflict.label.clone());
        let is_marked = move |file: &PathBuf| has_markers(&workspace, file, &label);
        blocking(move || Ok(files.into_iter().filter(is_marked).collect())).await
    }
}

/// The lines are those that git wrote: no other text begins so by chance.
fn has_markers(workspace: &Path, file: &Path, label: &str) -> bool {
    // What is gone or no plain file any more is the agent's decision.
    let Ok(bytes) = safe_files::read_within(workspace, file, MAX_MARKED_BYTES) else {
        return false;
    };
    let (ours, theirs) = (format!("<<<<<<< {OURS}"), format!(">>>>>>> {label}"));
    bytes
        .split(|byte| *byte == b'\n')
        .any(|line| line.starts_with(ours.as_bytes()) || line.starts_with(theirs.as_bytes()))
}

/// `<tree> NUL (<file> NUL)* NUL (<count> NUL <file> NUL … <kind> NUL <text> NUL)*`.
pub(super) fn read_merge(bytes: &[u8]) -> Option<Conflict> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let tree = String::from_utf8_lossy(fields.next()?).into_owned();
    if !super::branches::is_hash(&tree) {
        return None;
    }
    let files: Vec<PathBuf> = fields
        .by_ref()
        .take_while(|file| !file.is_empty())
        .map(|file| OsString::from_vec(file.to_vec()).into())
        .collect();
    let mut fields = fields.map(String::from_utf8_lossy);
    let mut messages = Vec::new();
    while let Some(count) = fields.next().and_then(|count| count.parse::<usize>().ok()) {
        let mut rest = fields.by_ref().skip(count);
        let (Some(kind), Some(text)) = (rest.next(), rest.next()) else {
            break;
        };
        if kind.starts_with("CONFLICT") {
            messages.push(text.trim().to_owned());
        }
    }
    Some(Conflict {
        tree,
        files,
        messages,
        ..Conflict::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "484329a8f572a532ada9d356f32b637f3f02ce25";

    #[test]
    fn a_conflict_is_read_with_its_files_and_what_git_says_of_them() {
        let reported = format!(
            "{TREE}\0a\nb\0c\0\0{}{}",
            "1\0a\nb\0Auto-merging\0Auto-merging a\nb\n\0",
            "2\0c\0d\0CONFLICT (rename/delete)\0CONFLICT (rename/delete): c\n\0",
        );
        let conflict = read_merge(reported.as_bytes()).unwrap();
        assert_eq!(conflict.tree, TREE);
        assert_eq!(conflict.files, [Path::new("a\nb"), Path::new("c")]);
        assert_eq!(conflict.messages, ["CONFLICT (rename/delete): c"]);
        assert!(read_merge(format!("{TREE}\0").as_bytes()).is_some());
        assert!(read_merge(b"").is_none());
        assert!(read_merge(b"fatal\0").is_none());
    }
}
