//! The protection of the service's own data from agents on this machine: its keys, its database,
//! the secrets of organizations. In the cloud a run has a separate machine.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use awo_supervisor::{Sandbox, check_loopback_only};
use nix::sys::stat::{Mode, umask};

/// The user of agents in the image of runs, and here where the service is root's.
const AGENT_UID: u32 = 10_001;
/// Others may pass through, but not list it.
const PASSABLE: u32 = 0o711;
/// What only the owner can read.
const OTHERS: u32 = 0o077;

/// What holds on this machine. Landlock is used wherever the kernel has it, also beside another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confinement {
    /// True if the kernel has Landlock.
    pub sandbox: bool,
    /// The user that agents run as, where it is another one.
    pub user: Option<u32>,
}

impl Confinement {
    /// What can be had: root gives agents a user of their own if that user can reach the
    /// workspaces and every folder of PATH. `given` is the user that the operator names.
    #[must_use]
    pub fn of(data_dir: &Path, given: Option<u32>) -> Confinement {
        let is_root = nix::unistd::geteuid().is_root();
        let own = || {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let programs = std::env::split_paths(&path).all(|dir| !dir.exists() || is_open(&dir));
            let above = data_dir.parent().is_none_or(is_open);
            (programs && above).then_some(AGENT_UID)
        };
        Confinement {
            sandbox: Sandbox::is_available(),
            user: given.or_else(own).filter(|uid| is_root && *uid != 0),
        }
    }

    /// True if commands can be kept from all networks but loopback. Agents of all runs are one user here,
    /// and only in a sandbox can they not make use of each other's processes.
    #[must_use]
    pub fn limits_egress(self) -> bool {
        self.sandbox && check_loopback_only().is_ok()
    }

    /// True if no agent reads the service's data.
    #[must_use]
    pub fn holds(self) -> bool {
        self.sandbox || self.user.is_some()
    }

    /// Lets the agents' user through to the workspaces, and to nothing else of the data.
    ///
    /// # Errors
    /// When a mode cannot be changed.
    pub fn open(self, data_dir: &Path, workspace_root: &Path) -> io::Result<()> {
        if self.user.is_none() {
            return Ok(());
        }
        umask(Mode::from_bits_truncate(OTHERS));
        for entry in fs::read_dir(data_dir)? {
            let entry = entry?;
            let mode = entry.metadata()?.permissions().mode();
            if !entry.file_type()?.is_symlink() && mode & OTHERS != 0 {
                fs::set_permissions(entry.path(), Permissions::from_mode(mode & !OTHERS))?;
            }
        }
        for dir in [data_dir, workspace_root] {
            fs::set_permissions(dir, Permissions::from_mode(PASSABLE))?;
        }
        Ok(())
    }

    /// A remark for operators, as a sentence.
    #[must_use]
    pub fn describe(self) -> String {
        match (self.user, self.sandbox) {
            (Some(uid), true) => format!("agents are user {uid}, in a sandbox (Landlock)"),
            (Some(uid), false) => format!("agents are user {uid}"),
            (None, true) => "agents are in a sandbox (Landlock)".to_owned(),
            (None, false) => "NONE: agents can read everything that you can read".to_owned(),
        }
    }
}

/// True if every user can enter a folder.
fn is_open(dir: &Path) -> bool {
    const ENTER: u32 = 0o001;
    let enters =
        |dir: &Path| fs::metadata(dir).is_ok_and(|folder| folder.permissions().mode() & ENTER != 0);
    dir.ancestors().all(enters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_user_is_taken_only_where_it_can_reach_its_workspaces() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        fs::create_dir(&data).unwrap();
        let set = |mode| fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert!(!is_open(&data));
        assert_eq!(Confinement::of(&data, None).user, None);
        let is_root = nix::unistd::geteuid().is_root();
        let given = Confinement::of(&data, Some(7)).user;
        assert_eq!(given, is_root.then_some(7), "the operator knows better");
    }

    #[test]
    fn without_sandbox_and_user_nothing_holds() {
        let none = Confinement {
            sandbox: false,
            user: None,
        };
        assert!(!none.holds() && none.describe().starts_with("NONE"));
    }
}
