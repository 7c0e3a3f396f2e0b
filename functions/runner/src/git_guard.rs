//! Removes from git's sight what an agent may have put into the workspace to mislead it.
//!
//! A folder with its own `.git` is another repository to git: git records a link instead of its
//! files, and runs *in* it, with *its* configuration, to get its state. So every `.git` below the
//! top is set aside while the runner's git reads the workspace, and restored for the agent's next
//! iteration. FIFOs and other special files are removed: git cannot store them, and would block on
//! one named `.gitignore`.
//!
//! No process of the agent's may be alive meanwhile.

use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Most `.git`s that are put aside.
const MAX_PUT_ASIDE: usize = 10_000;
/// Most files and folders that a workspace may have.
const MAX_ENTRIES: usize = 5_000_000;

/// What was put aside: from where, to where.
#[derive(Debug, Default)]
pub(crate) struct PutAside(Vec<(PathBuf, PathBuf)>);

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

    fn sweep(&mut self, workspace: &Path, aside: &Path) -> io::Result<()> {
        let mut folders = vec![workspace.to_owned()];
        let mut entries = 0;
        while let Some(folder) = folders.pop() {
            let listing = match fs::read_dir(&folder) {
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
                let kind = entry.file_type()?;
                if entry.file_name() == ".git" {
                    if folder != workspace {
                        self.put(entry.path(), aside)?;
                    }
                } else if kind.is_dir() {
                    folders.push(entry.path());
                } else if is_special(kind) {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, from: PathBuf, aside: &Path) -> io::Result<()> {
        if self.0.len() >= MAX_PUT_ASIDE {
            return Err(too_many("nested repositories", MAX_PUT_ASIDE));
        }
        let to = aside.join(self.0.len().to_string());
        fs::rename(&from, &to)?;
        self.0.push((from, to));
        Ok(())
    }

    /// Puts everything back.
    pub(crate) fn restore(self) -> io::Result<()> {
        for (from, to) in self.0 {
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
