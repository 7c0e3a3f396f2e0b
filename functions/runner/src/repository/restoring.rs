//! Restores files that an agent must not change, in a separate commit, before it is used. Nothing
//! is read from the workspace.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Change, ChangeKind, Commit, Repository};
use crate::git::{Call, GitError};

/// The index in which the commit is made.
const INDEX: &str = "restoring.index";

impl Repository {
    /// Replaces the newest commit by one in which these files are what they are in `base`, and others have
    /// these texts; nothing if it then holds what its only parent holds, which is the newest commit then.
    pub(crate) async fn restore(
        &self,
        base: &str,
        commit: &str,
        files: &[&Change],
        rewritten: &[(&Path, &str)],
    ) -> Result<Option<Commit>, GitError> {
        let tree = self.restored_tree(base, commit, files, rewritten).await?;
        let parents = self.parents(commit).await?;
        if let [parent] = parents.as_slice()
            && self
                .text(&["rev-parse", &format!("{parent}^{{tree}}")])
                .await?
                == tree
        {
            self.point("HEAD", parent).await?;
            return Ok(None);
        }
        let message = self.message_of(commit).await?;
        let hash = self.commit_tree(&tree, &parents, message).await?;
        let newest = parents.first().map_or(base, String::as_str);
        let files_changed = self.changes(newest, &hash).await?.len() as u64;
        self.point("HEAD", &hash).await?;
        Ok(Some(Commit {
            hash,
            files_changed,
        }))
    }

    /// Replaces the newest commit by one of the same content, with a longer message.
    pub(crate) async fn annotate(&self, commit: &str, note: &str) -> Result<String, GitError> {
        let tree = self
            .text(&["rev-parse", &format!("{commit}^{{tree}}")])
            .await?;
        let parents = self.parents(commit).await?;
        let message = self.message_of(commit).await?;
        let mut message = message.trim_ascii_end().to_vec();
        message.extend_from_slice(format!("\n\n{note}\n").as_bytes());
        let hash = self.commit_tree(&tree, &parents, message).await?;
        self.point("HEAD", &hash).await?;
        Ok(hash)
    }

    /// A commit with another tree, and otherwise as `commit`; itself, where it has that tree.
    pub(super) async fn with_tree(&self, commit: &str, tree: &str) -> Result<String, GitError> {
        let present = format!("{commit}^{{tree}}");
        if self.text(&["rev-parse", &present]).await? == tree {
            return Ok(commit.to_owned());
        }
        let parents = self.parents(commit).await?;
        let message = self.message_of(commit).await?;
        self.commit_tree(tree, &parents, message).await
    }

    async fn parents(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let args = ["rev-list", "--parents", "-n", "1", commit];
        let listed = self.text(&args).await?;
        Ok(listed.split(' ').skip(1).map(str::to_owned).collect())
    }

    async fn restored_tree(
        &self,
        base: &str,
        commit: &str,
        files: &[&Change],
        rewritten: &[(&Path, &str)],
    ) -> Result<String, GitError> {
        let index = self.dir.join(INDEX);
        let mut read = self.here(Call::new(["read-tree", commit]));
        read.index = Some(&index);
        self.git.call(read).await?;
        let entries = self.entries_of(base).await?;
        // What `update-index` takes for a file that is to go.
        let none = format!("0 {}\t", "0".repeat(commit.len()));
        let mut input = Vec::new();
        // What goes makes room for what comes back.
        for file in files.iter().filter(|file| file.kind == ChangeKind::Added) {
            push(&mut input, none.as_bytes(), &file.path);
        }
        for file in files.iter().filter(|file| file.kind != ChangeKind::Added) {
            if let Some(entry) = entries.get(&file.path) {
                push(&mut input, entry, &file.path);
            }
        }
        for (path, text) in rewritten {
            let mode = entries.get(*path).map_or("100644", |entry| mode_of(entry));
            let entry = format!("{mode} {}\t", self.store(text).await?);
            push(&mut input, entry.as_bytes(), path);
        }
        let update = ["update-index", "--replace", "-z", "--index-info"];
        let mut update = self.here(Call::new(update));
        update.index = Some(&index);
        update.input = Some(input);
        self.git.call(update).await?;
        let mut write = self.here(Call::new(["write-tree"]));
        write.index = Some(&index);
        let tree = self.git.call(write).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Stores a text as a blob; its hash.
    async fn store(&self, text: &str) -> Result<String, GitError> {
        let mut call = self.here(Call::new(["hash-object", "-w", "--no-filters", "--stdin"]));
        call.input = Some(text.as_bytes().to_vec());
        let hash = self.git.call(call).await?;
        Ok(String::from_utf8_lossy(&hash).trim().to_owned())
    }

    /// Content of a file of a commit; `None` without the file, or where it is larger than `most`.
    pub(crate) async fn content(
        &self,
        commit: &str,
        path: &Path,
        most: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let mut object = OsString::from(format!("{commit}:"));
        object.push(path);
        let args = ["cat-file".into(), "blob".into(), object];
        let mut call = self.here(Call::new(args));
        call.head = Some(most);
        let answer = self.git.answer(call).await?;
        let is_whole = answer.success && answer.written <= most;
        Ok(is_whole.then_some(answer.stdout))
    }

    /// Mode and hash of every file of a commit, as `update-index` takes them.
    pub(super) async fn entries_of(
        &self,
        commit: &str,
    ) -> Result<HashMap<PathBuf, Vec<u8>>, GitError> {
        let call = Call::new(["ls-tree", "-r", "-z", "--full-tree", commit]);
        let bytes = self.git.call(self.here(call)).await?;
        Ok(bytes
            .split(|byte| *byte == 0)
            .filter_map(read_entry)
            .collect())
    }

    async fn message_of(&self, commit: &str) -> Result<Vec<u8>, GitError> {
        let call = Call::new(["log", "-1", "--format=%B", commit]);
        self.git.call(self.here(call)).await
    }

    pub(super) async fn commit_tree(
        &self,
        tree: &str,
        parents: &[String],
        message: Vec<u8>,
    ) -> Result<String, GitError> {
        let mut args = vec!["commit-tree", tree, "-F", "-"];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        let mut call = self.here(Call::new(args));
        call.input = Some(message);
        let reported = self.git.call(call).await?;
        Ok(String::from_utf8_lossy(&reported).trim().to_owned())
    }

    async fn text(&self, args: &[&str]) -> Result<String, GitError> {
        let call = Call::new(args.iter().copied());
        let reported = self.git.call(self.here(call)).await?;
        Ok(String::from_utf8_lossy(&reported).trim().to_owned())
    }
}

fn mode_of(entry: &[u8]) -> &str {
    let mode = entry.split(|byte| *byte == b' ').next();
    mode.and_then(|mode| std::str::from_utf8(mode).ok())
        .unwrap_or("100644")
}

/// `<mode> <type> <hash> TAB <path>`.
fn read_entry(line: &[u8]) -> Option<(PathBuf, Vec<u8>)> {
    use std::os::unix::ffi::OsStringExt;
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    let mut parts = head.split(' ');
    let (mode, _, hash) = (parts.next()?, parts.next()?, parts.next()?);
    let path = std::ffi::OsString::from_vec(line[tab + 1..].to_vec());
    Some((path.into(), format!("{mode} {hash}\t").into_bytes()))
}

pub(super) fn push(input: &mut Vec<u8>, entry: &[u8], path: &Path) {
    input.extend_from_slice(entry);
    input.extend_from_slice(path.as_os_str().as_encoded_bytes());
    input.push(0);
}
