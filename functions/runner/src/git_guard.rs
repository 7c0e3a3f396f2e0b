//! Removes from git's sight what an agent may have put into the workspace to mislead it.
//!
//! A folder with its own `.git` is another repository to git: git records a link instead of its
//! files, and runs *in* it, with *its* configuration, to get its state. So every `.git` below the
//! top is set aside while the runner's git reads the workspace, and restored for the agent's next
//! iteration. FIFOs and other special files are removed: git cannot store them, and would block on
//! one named `.gitignore`. Litter is found on the same way.
//!
//! No process of the agent's may be alive meanwhile.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::litter;

/// Most `.git`s that are put aside.
const MAX_PUT_ASIDE: usize = 10_000;
/// Most files and folders that a workspace may have.
const MAX_ENTRIES: usize = 5_000_000;

/// Files that were put aside, and litter.
#[derive(Debug, Default)]
pub(crate) struct PutAside {
    /// From where, to where.
    moved: Vec<(PathBuf, PathBuf)>,
    /// Caches and the like, relative to the workspace; nothing below another one.
    litter: BTreeSet<PathBuf>,
}

impl PutAside {
    /// Puts aside what is in the way below `workspace`, into the folder `aside`.
    pub(crate) fn from_workspace(workspace: &Path, aside: &Path) -> io::Result<PutAside> {
        let mut put = PutAside::default();
        match put.sweep(workspace, aside) {
            Ok(()) => Ok(put),
            Err(why) => {
                put.restore()?;
                Err(why)
            }
        }
    }

    /// Present place of the `.git` of a folder of the workspace, if it was put aside.
    pub(crate) fn moved_from(&self, git: &Path) -> Option<&Path> {
        let moved = self.moved.iter().find(|(from, _)| from == git);
        moved.map(|(_, to)| to.as_path())
    }

    /// Litter in the workspace: folders and files.
    pub(crate) fn litter(&self) -> Vec<PathBuf> {
        let inner = |path: &&PathBuf| {
            let mut above = path.ancestors().skip(1);
            above.any(|dir| self.litter.contains(dir))
        };
        self.litter
            .iter()
            .filter(|path| !inner(path))
            .cloned()
            .collect()
    }

    fn sweep(&mut self, workspace: &Path, aside: &Path) -> io::Result<()> {
        let mut folders = vec![PathBuf::new()];
        let mut entries = 0;
        while let Some(folder) = folders.pop() {
            let standing = workspace.join(&folder);
            let listing = match fs::read_dir(&standing) {
                Ok(listing) => listing,
                // Git will name the folder that it cannot read.
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(why) => return Err(why),
            };
            for entry in listing {
                let entry = entry?;
                entries += 1;
                if entries > MAX_ENTRIES {
                    return Err(too_many("files", MAX_ENTRIES));
                }
                let (kind, name) = (entry.file_type()?, entry.file_name());
                if name == ".git" {
                    if !folder.as_os_str().is_empty() {
                        self.put(entry.path(), aside)?;
                    }
                } else if kind.is_dir() {
                    if litter::is_folder(&standing, &name) {
                        self.litter.insert(folder.join(&name));
                    }
                    folders.push(folder.join(name));
                } else if is_special(kind) {
                    fs::remove_file(entry.path())?;
                } else if litter::is_file(&name) {
                    self.litter.insert(folder.join(name));
                } else if litter::marks_folder(&name) && !folder.as_os_str().is_empty() {
                    self.litter.insert(folder.clone());
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, from: PathBuf, aside: &Path) -> io::Result<()> {
        if self.moved.len() >= MAX_PUT_ASIDE {
            return Err(too_many("nested repositories", MAX_PUT_ASIDE));
        }
        let to = aside.join(self.moved.len().to_string());
        fs::rename(&from, &to)?;
        self.moved.push((from, to));
        Ok(())
    }

    /// Puts everything back.
    pub(crate) fn restore(self) -> io::Result<()> {
        for (from, to) in self.moved {
            fs::rename(to, from)?;
        }
        Ok(())
    }
}

fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
}

fn too_many(what: &str, limit: usize) -> io::Error {
    io::Error::other(format!("the workspace has more than {limit} {what}"))
}
