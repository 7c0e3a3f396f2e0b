//! Tracked files that differ from the commit though no agent has changed them: what a checkout alone
//! makes of them (line endings, encodings and other conversions that do not lead back to the same
//! bytes), and what a setup wrote. They are no change of the agent as long as their bytes stay.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use sha2::{Digest, Sha256};

use super::{Repository, blocking};
use crate::git::{Call, GitError};
use crate::safe_files;

/// Content of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fingerprint {
    Missing,
    /// Hash of a file's bytes and its executable bit, or of a link's target.
    Content([u8; 32]),
    /// A folder, or a file that cannot be read.
    Other,
}

/// Tracked files that differ from the index.
pub(crate) type Differing = HashMap<PathBuf, Fingerprint>;

impl Repository {
    /// Takes what differs in the workspace now for the result of the checkout.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub(crate) async fn note_checkout(&self) -> Result<(), GitError> {
        let differing = self.differing_now().await?;
        self.untouched().extend(differing);
        Ok(())
    }

    /// Takes what differs in the workspace now, and did not so `before`, for no change of the
    /// agent.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub(crate) async fn note_setup(&self, before: &Differing) -> Result<(), GitError> {
        let now = self.differing_now().await?;
        let new = now.into_iter();
        let new = new.filter(|(path, print)| before.get(path) != Some(print));
        self.untouched().extend(new);
        Ok(())
    }

    /// The tracked files of the workspace that differ from the index.
    ///
    /// # Errors
    /// If they cannot be found out.
    pub(crate) async fn differing_now(&self) -> Result<Differing, GitError> {
        self.refresh(&self.workspace, &self.dir.join("index"))
            .await?;
        let args = ["diff-files", "-z", "--name-only"];
        let listed = self.git.call(self.in_workspace(Call::new(args))).await?;
        let paths = listed.split(|byte| *byte == 0);
        let paths: Vec<PathBuf> = paths
            .filter(|path| !path.is_empty())
            .map(|path| OsString::from_vec(path.to_vec()).into())
            .collect();
        let workspace = self.workspace.clone();
        blocking(move || {
            let prints = paths.into_iter().map(|path| {
                let print = fingerprint(&workspace, &path);
                (path, print)
            });
            Ok(prints.collect())
        })
        .await
    }

    /// Keeps git from seeing files that only differ so, and lets it see those that an agent has
    /// changed since.
    pub(super) async fn hide_untouched(&self) -> Result<(), GitError> {
        let noted = self.untouched().clone();
        if noted.is_empty() {
            return Ok(());
        }
        let workspace = self.workspace.clone();
        let (untouched, touched): (Differing, Differing) = blocking(move || {
            let noted = noted.into_iter();
            Ok(noted.partition(|(path, print)| fingerprint(&workspace, path) == *print))
        })
        .await?;
        self.untouched()
            .retain(|path, _| untouched.contains_key(path));
        self.mark("--no-assume-unchanged", touched.keys()).await?;
        self.mark("--assume-unchanged", untouched.keys()).await
    }

    async fn mark(
        &self,
        how: &str,
        paths: impl ExactSizeIterator<Item = &PathBuf>,
    ) -> Result<(), GitError> {
        if paths.len() == 0 {
            return Ok(());
        }
        // What is in no index any more cannot be marked, and need not be.
        let listed = self
            .git
            .call(self.in_workspace(Call::new(["ls-files", "-z"])));
        let listed = listed.await?;
        let listed: HashSet<&[u8]> = listed.split(|byte| *byte == 0).collect();
        let mut input = Vec::new();
        for path in paths.map(|path| path.as_os_str().as_bytes()) {
            if listed.contains(path) {
                input.extend_from_slice(path);
                input.push(0);
            }
        }
        let mut mark = self.in_workspace(Call::new(["update-index", how, "-z", "--stdin"]));
        mark.input = Some(input);
        self.git.call(mark).await.map(drop)
    }

    fn untouched(&self) -> std::sync::MutexGuard<'_, Differing> {
        self.untouched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn fingerprint(workspace: &Path, path: &Path) -> Fingerprint {
    let meta = match safe_files::metadata_within(workspace, path) {
        Ok(meta) => meta,
        Err(safe_files::Unreadable::Missing) => return Fingerprint::Missing,
        Err(_) => return Fingerprint::Other,
    };
    let mut hash = Sha256::new();
    if meta.is_symlink() {
        let Ok(target) = fs::read_link(workspace.join(path)) else {
            return Fingerprint::Other;
        };
        hash.update(b"link ");
        hash.update(target.as_os_str().as_bytes());
    } else if meta.is_file() {
        let executable = meta.permissions().mode() & 0o100 != 0;
        hash.update(if executable { "program " } else { "file " });
        let read = safe_files::read_pieces_within(workspace, path, |piece| hash.update(piece));
        if read.is_err() {
            return Fingerprint::Other;
        }
    } else {
        return Fingerprint::Other;
    }
    Fingerprint::Content(hash.finalize().into())
}
