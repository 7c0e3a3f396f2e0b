//! Work of a thread's turn that is not on the origin, stored for the next turn for 24 h.
//!
//! Each run of a thread writes its newest commit after each iteration, so that the work of a run that is
//! stopped or lost is there as well.

use std::io;
use std::path::PathBuf;

use awo_domain::{OrgId, RunId};

use crate::settings::Settings;
use crate::workspace_archive::{is_expired, remove_expired};

/// Folder on a machine whose tasks share no other one.
const OWN: &str = ".turns";

/// The folder of an organization's undelivered work.
#[derive(Debug, Clone)]
pub(crate) struct UndeliveredWork {
    folder: PathBuf,
}

impl UndeliveredWork {
    /// The work of an organization, which every task of it can read and no agent can.
    pub(crate) fn of(settings: &Settings, org: &OrgId) -> UndeliveredWork {
        let own = settings.workspace_root.join(OWN).join(org.as_str());
        UndeliveredWork {
            folder: settings.shared_root.clone().unwrap_or(own),
        }
    }

    /// The file for the work of a run.
    ///
    /// # Errors
    /// If there can be no folder for it.
    pub(crate) fn file_to_write(&self, run: &RunId) -> io::Result<PathBuf> {
        std::fs::create_dir_all(&self.folder)?;
        remove_expired(&self.folder);
        Ok(self.path(run))
    }

    /// The file with the work of a run, unless there is none or it has expired.
    pub(crate) fn file(&self, run: &RunId) -> Option<PathBuf> {
        let path = self.path(run);
        let modified = path.metadata().and_then(|meta| meta.modified()).ok()?;
        (!is_expired(modified)).then_some(path)
    }

    /// Removes the work of a run, which the origin has now.
    pub(crate) fn remove(&self, run: &RunId) {
        match std::fs::remove_file(self.path(run)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(event = "undelivered_not_deleted", %why, "work that is delivered could not be deleted");
            }
            _ => {}
        }
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.folder.join(format!("{run}.bundle"))
    }
}
