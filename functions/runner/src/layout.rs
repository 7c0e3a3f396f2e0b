//! The folders of a run. Trusted files (`repo.git`, the request, the prompt) are in folders that
//! only the runner can write; folders for the agent (`workspace`, `home`, `tmp`, `result`) belong
//! to the agent's user. If the agent runs as the runner's own user, this boundary is not enforced.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use awo_domain::{OrgId, RunId, VerificationId};

use crate::agent_user::AgentUser;

/// Others may pass through, but not list it.
const PASSABLE: u32 = 0o711;
/// For the owner alone.
const PRIVATE: u32 = 0o700;

/// Where everything of a run is.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    run_dir: PathBuf,
    user: Option<AgentUser>,
}

impl Layout {
    /// Moves what the first part of a run has left on this machine out of the way of its second; a
    /// folder with files that cannot be removed can still be renamed.
    ///
    /// # Errors
    /// If that cannot be done.
    pub(crate) fn set_aside(root: &Path, org: &OrgId, run: &RunId) -> io::Result<()> {
        let org_dir = root.join(org.as_str());
        let waited = org_dir.join(format!("{run}.waited"));
        match fs::rename(org_dir.join(run.as_str()), waited) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Makes the folders of a run that has none yet.
    ///
    /// # Errors
    /// If they cannot be made, or exist: a run happens once.
    pub(crate) fn create(
        root: &Path,
        org: &OrgId,
        run: &RunId,
        user: Option<AgentUser>,
    ) -> io::Result<Layout> {
        let layout = Layout {
            run_dir: make_org_dir(root, org)?.join(run.as_str()),
            user,
        };
        make_dir(&layout.run_dir, PASSABLE)?;
        for dir in [layout.verify_root(), layout.aside(), layout.logs()] {
            make_dir(&dir, PASSABLE)?;
        }
        for dir in layout.agents_dirs() {
            make_dir(&dir, PRIVATE)?;
            layout.give(&dir)?;
        }
        Ok(layout)
    }

    /// All that the agent may write: its workspace, home, temporary files and result.
    pub(crate) fn agents_dirs(&self) -> [PathBuf; 4] {
        [self.workspace(), self.home(), self.tmp(), self.result_dir()]
    }

    /// The agent's clone.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.run_dir.join("workspace")
    }
    /// The runner's own repository.
    pub(crate) fn repo(&self) -> PathBuf {
        self.run_dir.join("repo.git")
    }
    /// The runner's repositories of submodules; commands may read them for the same reason.
    pub(crate) fn modules(&self) -> PathBuf {
        self.run_dir.join("modules")
    }
    /// The objects of the runner's repository; commands may read them, since checkouts share them.
    pub(crate) fn objects(&self) -> PathBuf {
        self.repo().join("objects")
    }
    /// The one configuration file that git reads.
    pub(crate) fn git_config(&self) -> PathBuf {
        self.run_dir.join("git.config")
    }
    pub(crate) fn home(&self) -> PathBuf {
        self.run_dir.join("home")
    }
    pub(crate) fn tmp(&self) -> PathBuf {
        self.run_dir.join("tmp")
    }
    pub(crate) fn request(&self) -> PathBuf {
        self.run_dir.join("request.json")
    }
    pub(crate) fn prompt(&self) -> PathBuf {
        self.run_dir.join("prompt.txt")
    }
    fn result_dir(&self) -> PathBuf {
        self.run_dir.join("result")
    }
    /// Where the agent writes; a folder of its own, so that it may also write and rename.
    pub(crate) fn result(&self) -> PathBuf {
        self.result_dir().join("result.json")
    }
    /// Where `.git` folders wait that must not be seen by git.
    pub(crate) fn aside(&self) -> PathBuf {
        self.run_dir.join("aside")
    }
    pub(crate) fn verify_root(&self) -> PathBuf {
        self.run_dir.join("verify")
    }
    fn logs(&self) -> PathBuf {
        self.run_dir.join("logs")
    }
    /// The end of what the agent wrote in an iteration.
    pub(crate) fn log(&self, iteration: u32) -> PathBuf {
        self.logs().join(format!("{iteration}.log"))
    }

    /// Where a cache is unpacked before it is moved to where it belongs.
    pub(crate) fn staging(&self, number: usize) -> PathBuf {
        self.run_dir.join(format!("cache-{number}"))
    }

    /// The request of an inspection outside of a verification's own folder.
    pub(crate) fn inspection(&self) -> PathBuf {
        self.run_dir.join("inspection.json")
    }

    /// The user to whom the agent's folders belong.
    pub(crate) fn user(&self) -> Option<AgentUser> {
        self.user
    }

    /// Makes a folder that belongs to the agent's user.
    pub(crate) fn make_agents_dir(&self, dir: &Path) -> io::Result<()> {
        make_agents_dir(dir, self.user)
    }

    /// Gives one file or folder to the agent's user.
    pub(crate) fn give(&self, path: &Path) -> io::Result<()> {
        give(path, self.user)
    }

    /// Gives a whole tree to the agent's user. Nothing may be changing it meanwhile.
    pub(crate) fn give_tree(&self, path: &Path) -> io::Result<()> {
        self.user.map_or(Ok(()), |user| give_tree(path, user))
    }

    /// Puts the workspace among the folders that the run's end removes, and an empty one in its place.
    pub(crate) fn discard_workspace(&self) -> io::Result<()> {
        let workspace = self.workspace();
        match fs::rename(&workspace, self.aside().join("workspace")) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        self.make_agents_dir(&workspace)
    }

    /// Removes what the run does not need after its end; the workspace stays.
    pub(crate) fn sweep(&self) {
        for dir in [self.home(), self.tmp(), self.verify_root(), self.aside()] {
            if let Err(why) = clear(&dir) {
                tracing::warn!(event = "folder_not_deleted", dir = %dir.display(), %why, "a folder of the run could not be deleted");
            }
        }
    }
}

/// Makes the folder of an organization, unless it is there.
fn make_org_dir(root: &Path, org: &OrgId) -> io::Result<PathBuf> {
    fs::create_dir_all(root)?;
    let org_dir = fs::canonicalize(root)?.join(org.as_str());
    match make_dir(&org_dir, PASSABLE) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(why),
        _ => Ok(org_dir),
    }
}

/// Makes the empty workspace of a run that was elsewhere; none if the run's folder is here.
///
/// # Errors
/// If it cannot be made.
pub(crate) fn reopen_workspace(
    root: &Path,
    org: &OrgId,
    run: &RunId,
    user: Option<AgentUser>,
) -> io::Result<Option<PathBuf>> {
    let layout = Layout {
        run_dir: make_org_dir(root, org)?.join(run.as_str()),
        user,
    };
    match make_dir(&layout.run_dir, PASSABLE) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        other => other?,
    }
    layout.make_agents_dir(&layout.workspace())?;
    Ok(Some(layout.workspace()))
}

fn make_dir(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    // The mode above is subject to the umask.
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// What commands of a manual verification need beside the workspace: a private home and a place for
/// temporary files. It goes with this value.
#[derive(Debug)]
pub(crate) struct Room {
    dir: PathBuf,
}

impl Room {
    /// Makes the folders `<org_dir>/<id>`.
    ///
    /// # Errors
    /// If they cannot be made, or exist: a verification happens once.
    pub(crate) fn create(
        org_dir: &Path,
        id: &VerificationId,
        user: Option<AgentUser>,
    ) -> io::Result<Room> {
        let room = Room {
            dir: org_dir.join(id.as_str()),
        };
        make_dir(&room.dir, PASSABLE)?;
        for dir in [room.home(), room.tmp()] {
            make_agents_dir(&dir, user)?;
        }
        Ok(room)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.join("home")
    }
    pub(crate) fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }
    pub(crate) fn prompt(&self) -> PathBuf {
        self.dir.join("prompt.txt")
    }
    /// The request of an inspection.
    pub(crate) fn inspection(&self) -> PathBuf {
        self.dir.join("inspection.json")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(why) = clear(&self.dir) {
            tracing::warn!(event = "folder_not_deleted", dir = %self.dir.display(), %why, "a folder of the verification could not be deleted");
        }
    }
}

/// Makes a folder that belongs to the agent's user.
pub(crate) fn make_agents_dir(path: &Path, user: Option<AgentUser>) -> io::Result<()> {
    make_dir(path, PRIVATE)?;
    give(path, user)
}

/// Gives one file or folder to the agent's user.
pub(crate) fn give(path: &Path, user: Option<AgentUser>) -> io::Result<()> {
    match user {
        None => Ok(()),
        Some(user) => lchown(path, Some(user.uid), Some(user.gid)),
    }
}

/// Gives a whole tree to a user. Nothing may be changing it meanwhile.
pub(crate) fn give_tree(path: &Path, user: AgentUser) -> io::Result<()> {
    give(path, Some(user))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_tree(&entry?.path(), user)?;
        }
    }
    Ok(())
}

/// Removes whatever stands at `path`, without following it.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(why),
    }
}

/// Removes everything below a folder.
pub(crate) fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        clear(&entry?.path())?;
    }
    Ok(())
}

/// Writes a file anew, readable for the agent; what stood there is removed and not written to.
pub(crate) fn write_anew(path: &Path, bytes: &[u8]) -> io::Result<()> {
    clear(path)?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(path)?
        .write_all(bytes)
}
