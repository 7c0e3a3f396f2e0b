//! What a setup has left in the workspace beside the repository's own files: it is no change of the
//! agent's, so no commit takes it.

use std::fs;
use std::io::Write;

use super::{Repository, blocking};
use crate::git::{Call, GitError};

/// Most bytes of names that are noted; a setup with more leaves it to the repository's .gitignore.
const MAX_NOTED_BYTES: usize = 1_048_576;

impl Repository {
    /// Lets git ignore what is in the workspace now and in no commit. A folder of which nothing is in
    /// a commit is one name.
    ///
    /// # Errors
    /// If that cannot be found out, or noted.
    pub(crate) async fn ignore_untracked(&self) -> Result<(), GitError> {
        let args = [
            "ls-files",
            "--others",
            "--exclude-standard",
            "--directory",
            "-z",
        ];
        let listed = self.git.call(self.in_workspace(Call::new(args))).await?;
        self.exclude(&listed).await
    }

    /// Lets git ignore these paths, each of which ends with a NUL.
    pub(super) async fn exclude(&self, listed: &[u8]) -> Result<(), GitError> {
        let patterns = patterns(listed);
        if patterns.is_empty() {
            return Ok(());
        }
        if patterns.len() > MAX_NOTED_BYTES {
            tracing::warn!(
                event = "untracked_too_many",
                bytes = patterns.len(),
                "a setup left too much to be ignored by name"
            );
            return Ok(());
        }
        let info = self.dir.join("info");
        blocking(move || {
            fs::create_dir_all(&info)?;
            let mut options = fs::OpenOptions::new();
            let mut file = options
                .create(true)
                .append(true)
                .open(info.join("exclude"))?;
            file.write_all(&patterns)
        })
        .await
    }
}

/// A pattern for each path, which matches it alone.
fn patterns(listed: &[u8]) -> Vec<u8> {
    let mut patterns = Vec::new();
    // No pattern holds a line end.
    let paths = listed.split(|byte| *byte == 0);
    for path in paths.filter(|path| !path.is_empty() && !path.contains(&b'\n')) {
        patterns.push(b'/');
        for byte in path {
            if b"\\*?[] ".contains(byte) {
                patterns.push(b'\\');
            }
            patterns.push(*byte);
        }
        patterns.push(b'\n');
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_path_alone() {
        let listed = b"node_modules/\0a*b [c]\\\0#x\0two\nlines\0";
        let wanted = "/node_modules/\n/a\\*b\\ \\[c\\]\\\\\n/#x\n";
        assert_eq!(String::from_utf8(patterns(listed)).unwrap(), wanted);
        assert!(patterns(b"").is_empty());
    }
}
