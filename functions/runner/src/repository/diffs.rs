//! Differences between two commits: which files, and as a diff.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use super::{Change, ChangeKind, Repository};
use crate::git::{Call, GitError};

/// Longest time for a diff that people read.
const DIFF_LIMIT: Duration = Duration::from_secs(30);

impl Repository {
    /// Files that differ between two commits.
    pub(crate) async fn changes(&self, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status"];
        let call = Call::new(args.into_iter().chain([from, to]));
        let bytes = self.git.call(self.here(call)).await?;
        Ok(read_changes(&bytes))
    }

    /// The unified diff of two commits: its first bytes, at most `most`, and how many there are.
    /// Binary files are in it as `git apply` takes them, or, where that is too much, by name. No
    /// program of the repository's choice takes part, whatever its attributes.
    pub(crate) async fn diff(
        &self,
        from: &str,
        to: &str,
        most: u64,
    ) -> Result<(Vec<u8>, u64), GitError> {
        let whole = self.diff_with("--binary", from, to, most).await?;
        if whole.1 <= most {
            return Ok(whole);
        }
        self.diff_with("--full-index", from, to, most).await
    }

    async fn diff_with(
        &self,
        option: &str,
        from: &str,
        to: &str,
        most: u64,
    ) -> Result<(Vec<u8>, u64), GitError> {
        let args = ["diff-tree", "-r", "-p", "--no-renames", "--no-color"];
        let plain = ["--no-ext-diff", "--no-textconv", "--full-index", option];
        let mut call = self.here(Call::new(args.into_iter().chain(plain).chain([from, to])));
        call.head = Some(most);
        call.limit = Some(DIFF_LIMIT);
        let answer = self.git.answer(call).await?;
        if answer.success {
            Ok((answer.stdout, answer.written))
        } else {
            Err(GitError::Failed(answer.stderr))
        }
    }
}

fn read_changes(bytes: &[u8]) -> Vec<Change> {
    let mut fields = bytes.split(|b| *b == 0);
    let mut changes = Vec::new();
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        let kind = match status {
            b"A" => ChangeKind::Added,
            b"D" => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        changes.push(Change {
            path: PathBuf::from(OsString::from_vec(path.to_vec())),
            kind,
        });
    }
    changes
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn changes_are_read_with_any_name() {
        let changes = read_changes(b"A\0a b\0D\0c\nd\0T\0e\0");
        let kinds: Vec<_> = changes.iter().map(|change| change.kind).collect();
        assert_eq!(
            kinds,
            [ChangeKind::Added, ChangeKind::Deleted, ChangeKind::Modified]
        );
        assert_eq!(changes[1].path, Path::new("c\nd"));
    }
}
