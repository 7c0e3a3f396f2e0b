//! Files of the workspace that no commit takes: those that git ignores, and litter. What was there
//! before the agent is not the agent's, and is not named.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::{Repository, blocking};
use crate::git::{Call, GitError};
use crate::git_guard::PutAside;
use crate::litter;

/// Most paths of a kind that are named.
const MAX_NAMED: usize = 50;
/// A folder with more new files than this is named instead of them.
const MAX_NAMED_IN_FOLDER: usize = 10;
/// Most ignored files that are looked at.
const MAX_LISTED: usize = 50_000;

/// Files that an agent made and no commit takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Files that the repository has git ignore.
    pub(crate) ignored: Vec<PathBuf>,
    /// Caches, dependencies and build output that it does not.
    pub(crate) litter: Vec<PathBuf>,
}

/// IgnoredFiles files: the files, and folders that have too many.
#[derive(Debug, Default)]
pub(super) struct IgnoredFiles {
    files: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Repository {
    /// Notes what is in the workspace before the agent begins: none of it is the agent's.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub(crate) async fn note_present(&self) -> Result<(), GitError> {
        let (workspace, aside) = (self.workspace.clone(), self.aside.clone());
        let put = blocking(move || PutAside::from_workspace(&workspace, &aside)).await?;
        let excluded = self.exclude_litter(put.litter()).await;
        blocking(move || put.restore()).await?;
        excluded?;
        let present = self.ignored_files().await?;
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = present;
        Ok(())
    }

    /// Lets git ignore litter, and returns what it did not ignore yet.
    pub(super) async fn exclude_litter(
        &self,
        litter: Vec<PathBuf>,
    ) -> Result<Vec<PathBuf>, GitError> {
        if litter.is_empty() {
            return Ok(litter);
        }
        let tracked = self.list("HEAD").await?;
        let tracked: Vec<PathBuf> = tracked
            .split(|byte| *byte == 0)
            .filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1))
            .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
            .collect();
        let litter = litter::without_own(litter, &tracked);
        if litter.is_empty() {
            return Ok(litter);
        }
        // It takes no literal paths, and those that begin so for nothing else.
        let args = ["--no-literal-pathspecs", "check-ignore", "-z", "--stdin"];
        let given: Vec<PathBuf> = litter
            .iter()
            .map(|path| Path::new(".").join(path))
            .collect();
        let mut check = self.in_workspace(Call::new(args));
        check.input = Some(joined(&given));
        // It fails where it finds none.
        let ignored = self.git.answer(check).await?.stdout;
        let ignored: BTreeSet<&[u8]> = ignored.split(|byte| *byte == 0).collect();
        let is_ignored = |given: &Path| ignored.contains(given.as_os_str().as_encoded_bytes());
        let litter: Vec<PathBuf> = given
            .iter()
            .zip(litter)
            .filter(|(given, _)| !is_ignored(given))
            .map(|(_, path)| path)
            .collect();
        self.exclude(&joined(&litter)).await?;
        Ok(litter)
    }

    /// Files of the agent that the repository has git ignore.
    pub(super) async fn newly_ignored(&self) -> Result<Vec<PathBuf>, GitError> {
        let now = self.ignored_files().await?;
        let before = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(now.since(&before))
    }

    /// Files that the repository's own `.gitignore` files match, without litter.
    async fn ignored_files(&self) -> Result<IgnoredFiles, GitError> {
        let args = ["ls-files", "--others", "--ignored", "--directory", "-z"];
        let own = "--exclude-per-directory=.gitignore";
        let list = self.in_workspace(Call::new(args.into_iter().chain([own])));
        let listed = self.git.call(list).await?;
        let workspace = self.workspace.clone();
        blocking(move || Ok(IgnoredFiles::of(&workspace, &listed))).await
    }
}

impl IgnoredFiles {
    fn of(workspace: &Path, listed: &[u8]) -> IgnoredFiles {
        let mut ignored = IgnoredFiles::default();
        let mut left = MAX_LISTED;
        for path in listed.split(|byte| *byte == 0) {
            let is_folder = path.last() == Some(&b'/');
            let path = path.strip_suffix(b"/").unwrap_or(path);
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            if path.as_os_str().is_empty() || litter::covers(workspace, &path) {
                continue;
            }
            if !is_folder {
                ignored.files.insert(path);
                continue;
            }
            match files_below(workspace, &path, &mut left) {
                Some(files) => ignored.files.extend(files),
                None => {
                    ignored.folders.insert(path);
                }
            }
        }
        ignored
    }

    /// Files that are here and were not before; of a folder with many new ones its name.
    fn since(self, before: &IgnoredFiles) -> Vec<PathBuf> {
        let mut new: Vec<PathBuf> = self.folders.difference(&before.folders).cloned().collect();
        let is_new = |file: &&PathBuf| {
            let above = || file.ancestors().skip(1);
            !before.files.contains(*file) && !above().any(|dir| before.folders.contains(dir))
        };
        let files: Vec<&PathBuf> = self.files.iter().filter(is_new).collect();
        for together in files.chunk_by(|a, b| top(a).is_some() && top(a) == top(b)) {
            match (top(together[0]), together.len()) {
                (Some(folder), MAX_NAMED_IN_FOLDER..) => new.push(folder.to_owned()),
                _ => new.extend(together.iter().map(|file| (*file).clone())),
            }
        }
        new.sort_unstable();
        new.truncate(MAX_NAMED);
        new
    }
}

/// The outermost folder of a path.
fn top(path: &Path) -> Option<&Path> {
    let folders = path.ancestors().skip(1);
    folders.filter(|dir| !dir.as_os_str().is_empty()).last()
}

/// Every file below a folder, without litter; none if there are too many.
fn files_below(workspace: &Path, folder: &Path, left: &mut usize) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(workspace.join(&folder)).ok()? {
            let entry = entry.ok()?;
            *left = left.checked_sub(1)?;
            let path = folder.join(entry.file_name());
            let (parent, name) = (workspace.join(&folder), entry.file_name());
            if entry.file_type().ok()?.is_dir() {
                if !litter::is_folder(&parent, &name) {
                    folders.push(path);
                }
            } else if !litter::is_file(&name) {
                files.push(path);
            }
        }
    }
    Some(files)
}

fn joined(paths: &[PathBuf]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_encoded_bytes());
        bytes.push(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_new_files_their_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("lib/a/node_modules")).unwrap();
        fs::create_dir_all(dir.path().join("out")).unwrap();
        fs::write(dir.path().join("lib/old.txt"), "").unwrap();
        let before = IgnoredFiles::of(dir.path(), b"lib/\0node_modules/\0.env\0");
        for file in ["lib/a/new.txt", "lib/a/node_modules/x.js"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        for number in 0..30 {
            fs::write(dir.path().join(format!("out/{number}")), "").unwrap();
        }
        let now = IgnoredFiles::of(dir.path(), b"lib/\0out/\0.env\0x.log\0");
        let new = now.since(&before);
        let named = ["lib/a/new.txt", "out", "x.log"].map(PathBuf::from);
        assert_eq!(new, named);
    }
}
