//! Git LFS: a repository that stores files with it has pointers in their place. A commit with the
//! content itself would put that into git for good.

use std::path::{Path, PathBuf};

use super::{Change, ChangeKind, Repository};
use crate::git::{Call, GitError};

/// Largest pointer, in bytes.
const MAX_POINTER_BYTES: u64 = 1_024;
/// First lines of pointers.
const VERSIONS: [&[u8]; 3] = [
    b"version https://git-lfs.github.com/spec/v1\n",
    b"version https://hawser.github.com/spec/v1\n",
    b"version http://git-media.io/v/2\n",
];
/// Type of a plain file, in a mode of git's.
const PLAIN_FILE: &[u8] = b"100";

impl Repository {
    /// Files among `changes` to `commit` that are stored with Git LFS, by the attributes in
    /// `index`, and of which the commit has the content.
    pub(crate) async fn content_in_place_of_pointers(
        &self,
        commit: &str,
        changes: &[Change],
        index: &Path,
    ) -> Result<Vec<PathBuf>, GitError> {
        let mut input = Vec::new();
        let present = |change: &&Change| change.kind != ChangeKind::Deleted;
        for change in changes.iter().filter(present) {
            input.extend_from_slice(change.path.as_os_str().as_encoded_bytes());
            input.push(0);
        }
        if input.is_empty() {
            return Ok(Vec::new());
        }
        let paths = self.lfs_paths(input, Some(index)).await?;
        if paths.is_empty() {
            return Ok(paths);
        }
        let entries = self.entries_of(commit).await?;
        let mut content = Vec::new();
        for path in paths {
            let entry = entries
                .get(&path)
                .filter(|entry| entry.starts_with(PLAIN_FILE));
            let hash = entry.and_then(|entry| hash_of(entry));
            if let Some(hash) = hash
                && !self.is_pointer(hash).await?
            {
                content.push(path);
            }
        }
        Ok(content)
    }

    /// Paths among these, each of which ends with a NUL, that LFS stores by the attributes in an index.
    pub(super) async fn lfs_paths(
        &self,
        paths: Vec<u8>,
        index: Option<&Path>,
    ) -> Result<Vec<PathBuf>, GitError> {
        let args = ["check-attr", "--cached", "-z", "--stdin", "filter"];
        let mut check = self.here(Call::new(args));
        check.index = index;
        check.input = Some(paths);
        Ok(paths_with_lfs(&self.git.call(check).await?))
    }

    /// True for a pointer, and for an empty file, which needs none.
    async fn is_pointer(&self, hash: &str) -> Result<bool, GitError> {
        let mut read = self.here(Call::new(["cat-file", "blob", hash]));
        read.head = Some(MAX_POINTER_BYTES);
        let answer = self.git.answer(read).await?;
        if !answer.success {
            return Err(GitError::Failed(answer.stderr));
        }
        let bytes = &answer.stdout;
        let is_short = answer.written <= MAX_POINTER_BYTES;
        Ok(answer.written == 0 || (is_short && VERSIONS.iter().any(|v| bytes.starts_with(v))))
    }
}

/// `<path> NUL <attribute> NUL <value> NUL`, again and again.
fn paths_with_lfs(reported: &[u8]) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut fields = reported.split(|byte| *byte == 0);
    let mut paths = Vec::new();
    while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        if value == b"lfs" {
            paths.push(std::ffi::OsString::from_vec(path.to_vec()).into());
        }
    }
    paths
}

/// The hash in `<mode> <hash> TAB`.
fn hash_of(entry: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(entry).ok()?;
    text.trim_end().split(' ').nth(1)
}
