//! Files of a thread's turn for the next one, stored for 24 h: work that is not on the origin, and the
//! session of its agent.
//!
//! Each run of a thread writes its newest commit after each iteration, so that the work of a run that is
//! stopped or lost is there as well.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use awo_domain::{OrgId, RunId};

use crate::settings::Settings;
use crate::workspace_archive::{is_expired, remove_expired};

/// Folder on a machine whose tasks share no other one.
const OWN: &str = ".turns";
/// Folder below an organization's shared one.
const SHARED: &str = "turns";
/// For the runner alone: a file in it may be readable by others.
const PRIVATE: u32 = 0o700;

/// Content of a file.
#[derive(Debug, Clone, Copy, strum::IntoStaticStr)]
pub(crate) enum TurnFile {
    /// A git bundle of the newest commit.
    #[strum(serialize = "bundle")]
    Work,
    /// The files of an agent's session.
    #[strum(serialize = "session.tar")]
    Session,
    /// The agent and the id of that session; it is there only when the files are.
    #[strum(serialize = "session.json")]
    SessionRecord,
}

/// The folder of an organization's files, which every task of it can read and no agent can.
#[derive(Debug, Clone)]
pub(crate) struct TurnFiles {
    folder: PathBuf,
}

impl TurnFiles {
    /// The files of an organization.
    pub(crate) fn of(settings: &Settings, org: &OrgId) -> TurnFiles {
        let own = settings.workspace_root.join(OWN).join(org.as_str());
        let shared = settings.shared_root.as_deref().map(folder_below);
        TurnFiles {
            folder: shared.unwrap_or(own),
        }
    }

    /// The file to write for a run.
    ///
    /// # Errors
    /// If there can be no folder for it.
    pub(crate) fn file_to_write(&self, run: &RunId, file: TurnFile) -> io::Result<PathBuf> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(PRIVATE).create(&self.folder)?;
        fs::set_permissions(&self.folder, Permissions::from_mode(PRIVATE))?;
        remove_expired(&self.folder);
        Ok(self.path(run, file))
    }

    /// The file of a run, unless there is none or it has expired.
    pub(crate) fn file(&self, run: &RunId, file: TurnFile) -> Option<PathBuf> {
        let path = self.path(run, file);
        let modified = path.metadata().and_then(|meta| meta.modified()).ok()?;
        (!is_expired(modified)).then_some(path)
    }

    /// Removes the file of a run.
    pub(crate) fn remove(&self, run: &RunId, file: TurnFile) {
        match fs::remove_file(self.path(run, file)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(event = "turn_file_not_deleted", %why, "a file of a turn could not be deleted");
            }
            _ => {}
        }
    }

    fn path(&self, run: &RunId, file: TurnFile) -> PathBuf {
        let ending: &str = file.into();
        self.folder.join(format!("{run}.{ending}"))
    }
}

/// The folder of turns below an organization's shared one.
pub(crate) fn folder_below(shared: &Path) -> PathBuf {
    shared.join(SHARED)
}
