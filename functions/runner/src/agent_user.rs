//! The user that agents, hooks and verifiers run as. Where the runner is root each run has one of its own, from
//! a range: no other run's folder belongs to it, and no other runner uses it. A task of the cloud, which
//! has one run, has one that is named.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use awo_supervisor::UidRange;

/// Folder of the files that runners hold while they use a user; beside the organizations' folders.
const CLAIMS: &str = ".uids";
/// Deepest folder that can belong to an agent's user: `<root>/<org>/<run>/<folder>`.
const DEPTH: usize = 3;

/// User and group of agents and verifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgentUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// The right to use a user, for as long as this value lives, and for as long as a folder belongs to that user.
#[derive(Debug)]
pub(crate) struct UserClaim {
    pub(crate) user: AgentUser,
    _held: File,
}

impl UserClaim {
    /// Takes a user of the range that nobody has. `name` is where the search begins, so that numbers that were
    /// given up are not the next to be given out.
    ///
    /// # Errors
    /// If the folder cannot be read, or all are taken.
    pub(crate) fn take(root: &Path, range: UidRange, name: &str) -> io::Result<UserClaim> {
        fs::create_dir_all(root)?;
        let claims = root.join(CLAIMS);
        match DirBuilder::new().mode(0o700).create(&claims) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            _ => {}
        }
        for uid in range.beginning_at(name) {
            let path = claims.join(uid.to_string());
            let mut options = OpenOptions::new();
            let held = options.create(true).truncate(false).write(true).mode(0o600);
            let held = held.open(path)?;
            // A runner that has just ended has made its folders before it let go.
            if held.try_lock().is_ok() && !owners(root, DEPTH).contains(&uid) {
                return Ok(UserClaim {
                    user: AgentUser { uid, gid: uid },
                    _held: held,
                });
            }
        }
        Err(io::Error::other(format!(
            "all users of {range} are taken: delete old workspaces, or set a larger AWO_AGENT_UIDS"
        )))
    }
}

/// The user to whom a run's folder belongs, if it is of the range.
pub(crate) fn owner_of(folder: &Path, range: UidRange) -> Option<AgentUser> {
    let meta = fs::metadata(folder).ok()?;
    let (uid, gid) = (meta.uid(), meta.gid());
    range.contains(uid).then_some(AgentUser { uid, gid })
}

/// Owners of the folders below a folder.
fn owners(folder: &Path, depth: usize) -> HashSet<u32> {
    let mut owners = HashSet::new();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(meta) = entry.metadata() else { continue };
        if !meta.is_dir() {
            continue;
        }
        owners.insert(meta.uid());
        if depth > 1 {
            owners.extend(self::owners(&entry.path(), depth - 1));
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_user_is_taken_again_only_when_no_runner_and_no_folder_has_it() {
        let root = tempfile::tempdir().unwrap();
        let range = UidRange::parse("70001-70003").unwrap();
        let take = |name: &str| UserClaim::take(root.path(), range, name);
        let first = take("run_a").unwrap();
        let second = take("run_a").unwrap();
        assert_ne!(first.user, second.user);
        let third = take("run_b").unwrap();
        let refusal = take("run_c").unwrap_err().to_string();
        assert!(refusal.contains("AWO_AGENT_UIDS"), "{refusal}");
        let uid = second.user.uid;
        drop(second);
        assert_eq!(take("run_c").unwrap().user.uid, uid);
        if !nix::unistd::geteuid().is_root() {
            println!("skipped: only root gives folders to others");
            return;
        }
        let folder = root.path().join("org/run/workspace");
        fs::create_dir_all(&folder).unwrap();
        chown(&folder, Some(uid), Some(uid)).unwrap();
        assert!(take("run_c").is_err(), "a folder of it exists");
        assert_eq!(owner_of(&folder, range).map(|user| user.uid), Some(uid));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(take("run_c").unwrap().user.uid, uid);
        drop((first, third));
    }
}
