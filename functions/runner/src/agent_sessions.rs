//! The session of a driver at the end of a turn, stored for the next turn of its thread.
//!
//! A session's files are in the agent's home, which is hostile: `tar` packs and unpacks them as the agent's
//! user. They are unpacked before anything of a client has run.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::OrgId;
use awo_domain::agent::AgentType;
use awo_domain::control::RunSpec;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::agent;
use crate::environment::Archiver;
use crate::layout::Layout;
use crate::safe_files;
use crate::settings::Settings;
use crate::turn_files::{TurnFile, TurnFiles};

/// Largest session that is stored; a larger one ends with its run.
const MAX_BYTES: u64 = 64 * 1_024 * 1_024;
/// Longest time for packing or unpacking one.
const LIMIT: Duration = Duration::from_secs(20);

/// What resumes a session beside its files.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    agent: AgentType,
    session_id: String,
}

/// Stored sessions of an organization.
pub(crate) struct AgentSessions {
    files: TurnFiles,
    archiver: Archiver,
}

impl AgentSessions {
    pub(crate) fn of(settings: &Settings, org: &OrgId) -> AgentSessions {
        AgentSessions {
            files: TurnFiles::of(settings, org),
            archiver: Archiver::of(settings),
        }
    }

    /// Stores the session with which a run of a thread ended. A run does not fail because that did.
    pub(crate) async fn store(&self, spec: &RunSpec, layout: &Layout, session_id: &str) {
        let Some(folder) = agent::session_folder(spec.agent.kind, &layout.workspace()) else {
            return;
        };
        let stored = timeout(LIMIT, self.pack(spec, &layout.home(), &folder, session_id)).await;
        let stored = stored.unwrap_or_else(|_| Err(io::Error::other("it took too long")));
        if let Err(why) = stored {
            tracing::warn!(event = "session_not_stored", %why, "the agent's session could not be stored for the next turn");
        }
    }

    async fn pack(
        &self,
        spec: &RunSpec,
        home: &Path,
        folder: &Path,
        session_id: &str,
    ) -> io::Result<()> {
        // No part of it may be a link: the folder is opened with the runner's rights.
        let home = safe_files::open_dir(home)?;
        let folder = match safe_files::open_dir_below(&home, folder) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let opened = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let run = &spec.run_id;
        self.files.remove(run, TurnFile::SessionRecord);
        let file = self.files.file_to_write(run, TurnFile::Session)?;
        let packed = self.archiver.pack(&opened, &file, MAX_BYTES).await;
        packed.inspect_err(|_| self.files.remove(run, TurnFile::Session))?;
        let record = Record {
            agent: spec.agent.kind,
            session_id: session_id.to_owned(),
        };
        let path = self.files.file_to_write(run, TurnFile::SessionRecord)?;
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        Ok(serde_json::to_writer(file, &record)?)
    }

    /// Puts the session of the turn before into the agent's home, and returns its id; none if there is none
    /// of this agent.
    pub(crate) async fn restore(&self, spec: &RunSpec, layout: &Layout) -> Option<String> {
        // A run that goes on after its children is in the middle of its turn.
        let thread = spec.thread.as_deref();
        let thread = thread.filter(|_| spec.resumption.is_none() && spec.gate.is_none())?;
        let run = thread.other_turns_run.as_ref()?;
        let record = self.files.file(run, TurnFile::SessionRecord)?;
        let record: Record = serde_json::from_slice(&fs::read(record).ok()?).ok()?;
        let archive = self.files.file(run, TurnFile::Session)?;
        if record.agent != spec.agent.kind {
            return None;
        }
        let folder = agent::session_folder(record.agent, &layout.workspace())?;
        match self.unpack(layout, &folder, &archive).await {
            Ok(()) => Some(record.session_id),
            Err(why) => {
                tracing::warn!(event = "session_not_restored", %why, "the session of the turn before could not be restored");
                None
            }
        }
    }

    async fn unpack(&self, layout: &Layout, folder: &Path, archive: &Path) -> io::Result<()> {
        let mut place = layout.home();
        for name in folder {
            place.push(name);
            match layout.make_agents_dir(&place) {
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        let archive = fs::File::open(archive)?;
        self.archiver.unpack(archive, &place, LIMIT).await
    }
}
