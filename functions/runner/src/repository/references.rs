//! Reference content of each path in a thread of runs: what the files were that an agent must not change,
//! before any agent of the thread changed them.
//!
//! Blobs decide, never commits or authors. A point is a moment at which work of others can have arrived: the
//! start of a turn, or a push of theirs during one. A path that differs there from what the thread delivered
//! last was changed by others, and the latest such point has its reference content. Any other path has that
//! of the thread's base, whatever the turns made of it. A merge of the target branch brings the work of
//! others into the reference as git merges it into any branch, so that an agent's lines in the same file
//! do not come with it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::merging::read_merge;
use super::restoring::push;
use super::{Repository, branches};
use crate::git::{Call, GitError};

/// Name of the reference in the runner's repository.
const REFERENCE: &str = "refs/awo/reference";
/// The index in which its tree is made.
const INDEX: &str = "reference.index";

/// Mode and object of each file, as `update-index` takes them.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A moment at which work of others can have arrived, by the commits of its two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// Tree of the last delivery, or of the thread's base.
    pub(crate) delivered: String,
    /// Tree that was there in its place.
    pub(crate) present: String,
    /// The head of the target branch that was merged then.
    pub(crate) target: Option<String>,
}

/// A path that others changed, with its new content; without one they deleted it.
type ChangeOfOthers<'a> = (&'a Path, Option<&'a [u8]>);

/// Paths that differ between what was delivered and what is present.
fn changed_by_others<'a>(delivered: &'a Files, present: &'a Files) -> Vec<ChangeOfOthers<'a>> {
    let is_gone = |path: &&PathBuf| !present.contains_key(*path);
    let gone = delivered.keys().filter(is_gone);
    let gone = gone.map(|path| (path.as_path(), None));
    let differs = |(path, entry): &(&PathBuf, &Vec<u8>)| delivered.get(*path) != Some(*entry);
    let written = present.iter().filter(differs);
    let written = written.map(|(path, entry)| (path.as_path(), Some(entry.as_slice())));
    gone.chain(written).collect()
}

/// Brings what others changed into the reference.
fn adopt(reference: &mut Files, changes: &[ChangeOfOthers<'_>]) {
    for (path, entry) in changes {
        match entry {
            None => {
                reference.remove(*path);
            }
            Some(entry) => {
                make_room(reference, path);
                reference.insert(path.to_path_buf(), entry.to_vec());
            }
        }
    }
}

/// Removes files in whose place a folder of `path` is to be, and those below `path`.
fn make_room(reference: &mut Files, path: &Path) {
    for folder in path.ancestors().skip(1) {
        reference.remove(folder);
    }
    let below = reference.range(path.to_owned()..);
    let below = below.map(|(file, _)| file);
    let below: Vec<PathBuf> = below
        .take_while(|file| file.starts_with(path))
        .cloned()
        .collect();
    for file in below {
        reference.remove(&file);
    }
}

impl Repository {
    /// Makes the commit that has the reference content of each path, on the thread's base. All commits are
    /// here.
    pub(crate) async fn make_reference(
        &self,
        base: &str,
        points: &[Point],
    ) -> Result<String, GitError> {
        let mut commit = base.to_owned();
        for point in points {
            if point.delivered != point.present {
                commit = self.with_changes_of_others(&commit, point).await?;
            }
            if let Some(target) = &point.target {
                commit = self.with_target(&commit, target).await?;
            }
        }
        self.point(REFERENCE, &commit).await?;
        Ok(commit)
    }

    async fn with_changes_of_others(
        &self,
        reference: &str,
        point: &Point,
    ) -> Result<String, GitError> {
        let delivered = sorted(self.entries_of(&point.delivered).await?);
        let present = sorted(self.entries_of(&point.present).await?);
        let before = sorted(self.entries_of(reference).await?);
        let mut after = before.clone();
        adopt(&mut after, &changed_by_others(&delivered, &present));
        if after == before {
            return Ok(reference.to_owned());
        }
        let tree = self.tree_of(reference, &before, &after).await?;
        let message = b"Reference content of a thread\n".to_vec();
        let parents = [reference.to_owned()];
        self.commit_tree(&tree, &parents, message).await
    }

    /// Merges the target branch's head; where that does not fit, the target's content counts.
    async fn with_target(&self, reference: &str, target: &str) -> Result<String, GitError> {
        if self.is_ancestor(target, reference).await? {
            return Ok(reference.to_owned());
        }
        let args = ["-c", "merge.renames=true", "merge-tree", "--write-tree"];
        let rest = ["-z", "--name-only", "--messages"];
        let unrelated = ["--allow-unrelated-histories", reference, target];
        let call = Call::new(args.into_iter().chain(rest).chain(unrelated));
        let answer = self.git.answer(self.here(call)).await?;
        let Some(merge) = read_merge(&answer.stdout) else {
            return Err(GitError::Failed(answer.stderr));
        };
        let tree = if answer.success {
            merge.tree
        } else {
            let merged = sorted(self.entries_of(&merge.tree).await?);
            let theirs = sorted(self.entries_of(target).await?);
            let mut after = merged.clone();
            let of_target = |path| (path, theirs.get(path).map(Vec::as_slice));
            let conflicts = merge.files.iter().map(PathBuf::as_path);
            let contents: Vec<ChangeOfOthers<'_>> = conflicts.map(of_target).collect();
            adopt(&mut after, &contents);
            self.tree_of(&merge.tree, &merged, &after).await?
        };
        let message = b"Reference content with the target branch\n".to_vec();
        let parents = [reference.to_owned(), target.to_owned()];
        self.commit_tree(&tree, &parents, message).await
    }

    /// The tree of `after`, made of that of `commit`, which has `before`.
    async fn tree_of(
        &self,
        commit: &str,
        before: &Files,
        after: &Files,
    ) -> Result<String, GitError> {
        let index = self.dir.join(INDEX);
        let mut read = self.here(Call::new(["read-tree", commit]));
        read.index = Some(&index);
        self.git.call(read).await?;
        let none = format!("0 {}\t", "0".repeat(commit.len()));
        let mut input = Vec::new();
        let changes = changed_by_others(before, after);
        // What goes makes room for what comes.
        for (path, _) in changes.iter().filter(|(_, entry)| entry.is_none()) {
            push(&mut input, none.as_bytes(), path);
        }
        for (path, entry) in &changes {
            if let Some(entry) = entry {
                push(&mut input, entry, path);
            }
        }
        let args = ["update-index", "--replace", "-z", "--index-info"];
        let mut update = self.here(Call::new(args));
        update.index = Some(&index);
        update.input = Some(input);
        self.git.call(update).await?;
        let mut write = self.here(Call::new(["write-tree"]));
        write.index = Some(&index);
        let tree = self.git.call(write).await?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        if branches::is_hash(&tree) {
            Ok(tree)
        } else {
            Err(GitError::Failed(format!("git write-tree printed: {tree}")))
        }
    }
}

fn sorted(entries: HashMap<PathBuf, Vec<u8>>) -> Files {
    entries.into_iter().collect()
}

#[cfg(test)]
mod tests;
