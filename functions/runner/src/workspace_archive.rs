//! Workspace archives of ended runs, for other tasks of the same organization.
//!
//! A run works on its task's own disk: a network file system is too slow for git and package
//! managers, and would give an agent access to the workspaces of parallel runs. At its end the
//! workspace is written to the shared file system as one archive, which only the runner can read,
//! and a manual verification unpacks it to the same path on its own disk.
//!
//! An agent's files are hostile: `tar` packs and unpacks them as the agent's user, and an archive
//! has a limit.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use awo_domain::{OrgId, RunId};
use tokio::time::timeout;

use crate::environment::{Archiver, clean_caches};
use crate::layout::reopen_workspace;
use crate::settings::Settings;
use crate::turn_files;

/// Retention of a workspace archive after the end of its run.
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
/// Largest archive. Larger workspaces are not archived.
const MAX_ARCHIVE_BYTES: u64 = 4 * 1_024 * 1_024 * 1_024;
/// All archives of an organization together. Beyond it the oldest go.
const MAX_STORED_BYTES: u64 = 20 * 1_024 * 1_024 * 1_024;
/// Longest unpacking.
const RESTORE_LIMIT: Duration = Duration::from_secs(120);
/// Archives that one task reads to remove those that are too old, or too many.
const MAX_SWEPT: usize = 10_000;

/// The shared place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkspaceArchive<'a> {
    root: &'a Path,
    settings: &'a Settings,
}

impl<'a> WorkspaceArchive<'a> {
    /// None where tasks share their disks anyhow, as on one machine.
    pub(crate) fn of(settings: &'a Settings) -> Option<WorkspaceArchive<'a>> {
        let root = settings.shared_root.as_deref()?;
        Some(WorkspaceArchive { root, settings })
    }

    fn archive(&self, run: &RunId) -> PathBuf {
        self.root.join(format!("{run}.tar"))
    }

    /// Archives a workspace. An archive that exists is complete.
    ///
    /// # Errors
    /// If it could not be packed within `limit`, or is too large.
    pub(crate) async fn keep(
        &self,
        run: &RunId,
        workspace: &Path,
        limit: Duration,
    ) -> io::Result<u64> {
        let draft = self.root.join(format!("{run}.part"));
        let archiver = Archiver::of(self.settings);
        let packed = archiver.pack(workspace, &draft, MAX_ARCHIVE_BYTES);
        let packed = timeout(limit, packed).await;
        let packed = packed.unwrap_or_else(|_| Err(io::Error::other("it took too long")));
        match packed {
            Ok(bytes) => {
                fs::rename(&draft, self.archive(run))?;
                self.sweep();
                Ok(bytes)
            }
            Err(why) => {
                // What is left of it goes with the archives that are too old.
                let _ = fs::remove_file(&draft);
                Err(why)
            }
        }
    }

    /// Unpacks the workspace that a path leads into, if its run's archive is here and the
    /// workspace is not. The caller that opens the path checks it.
    ///
    /// # Errors
    /// If an archive could not be unpacked.
    pub(crate) async fn restore(&self, org: &OrgId, path: &Path) -> io::Result<()> {
        let Some(run) = run_of(&self.settings.workspace_root, org, path) else {
            return Ok(());
        };
        let archive = match fs::File::open(self.archive(&run)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let user = self.settings.effective_agent_user();
        let root = &self.settings.workspace_root;
        let Some(workspace) = reopen_workspace(root, org, &run, user)? else {
            return Ok(());
        };
        let archiver = Archiver::of(self.settings);
        archiver.unpack(archive, &workspace, RESTORE_LIMIT).await
    }

    /// Removes expired archives, and the oldest beyond the limit.
    pub(crate) fn sweep(&self) {
        remove_expired(self.root);
    }
}

/// Removes expired files of an organization's folder, and the oldest beyond its limit.
pub(crate) fn remove_expired(folder: &Path) {
    if let Err(why) = remove_surplus(folder, SystemTime::now(), MAX_STORED_BYTES) {
        tracing::warn!(event = "archives_not_deleted", %why, "expired workspace archives could not be deleted");
    }
}

/// True for a file that was written so long ago that it counts as removed.
pub(crate) fn is_expired(modified: SystemTime) -> bool {
    let age = SystemTime::now().duration_since(modified);
    age.is_ok_and(|age| age > RETENTION)
}

/// The run in whose folder a path lies, by its name alone.
fn run_of(root: &Path, org: &OrgId, path: &Path) -> Option<RunId> {
    let real = fs::canonicalize(root).ok();
    let roots = [Some(root.to_owned()), real];
    let below = roots
        .into_iter()
        .flatten()
        .find_map(|root| path.strip_prefix(root.join(org.as_str())).ok())?;
    match below.components().next() {
        Some(Component::Normal(name)) => RunId::parse(name.to_str()?).ok(),
        _ => None,
    }
}

/// Leaves the newest files that are not too old and have no more bytes than `most` together. A draft counts, and goes
/// only when it is too old: another task may be writing it.
fn remove_surplus(root: &Path, now: SystemTime, most: u64) -> io::Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)?.take(MAX_SWEPT) {
        let entry = entry?;
        match entry.metadata() {
            // The folders of caches and of turns, which are swept by themselves.
            Ok(meta) if meta.is_dir() => {}
            Ok(meta) => found.push((meta.modified()?, meta.len(), entry.path())),
            // Another task sweeps, too, or has just given its archive its name.
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    let mut bytes = 0;
    for (modified, size, path) in found {
        let is_old = now
            .duration_since(modified)
            .is_ok_and(|age| age > RETENTION);
        let is_draft = path.extension().is_some_and(|kind| kind == "part");
        if !is_old && (is_draft || size <= most.saturating_sub(bytes)) {
            bytes += size;
            continue;
        }
        match fs::remove_file(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// `runner clean FOLDER`: the same in the folder of each organization, for those that have no tasks any more.
pub fn clean(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(root), None) = (args.next(), args.next()) else {
        eprintln!("clean takes one folder");
        return ExitCode::from(2);
    };
    crate::session::start_log();
    match clean_all(Path::new(&root), SystemTime::now()) {
        Ok(()) => {
            tracing::info!(
                event = "files_cleaned",
                "expired files of organizations are deleted"
            );
            ExitCode::SUCCESS
        }
        Err(why) => {
            tracing::error!(event = "files_not_cleaned", %why, "expired files of organizations could not be deleted");
            ExitCode::FAILURE
        }
    }
}

/// One folder that cannot be cleaned does not keep the others from it.
fn clean_all(root: &Path, now: SystemTime) -> io::Result<()> {
    let mut outcome = Ok(());
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_of_organization = name.to_str().is_some_and(|name| OrgId::parse(name).is_ok());
        if is_of_organization && entry.file_type()?.is_dir() {
            let folder = entry.path();
            outcome = outcome.and(remove_surplus(&folder, now, MAX_STORED_BYTES));
            outcome = outcome.and(clean_caches(&folder, now));
            outcome = outcome.and(match turn_files::folder_below(&folder) {
                turns if turns.is_dir() => remove_surplus(&turns, now, MAX_STORED_BYTES),
                _ => Ok(()),
            });
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use awo_domain::Timestamp;

    use super::*;

    /// What is left of files with these ages, in hours, and sizes.
    fn left(files: &[(&str, u64, u64)], most: u64) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for (name, age, size) in files {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_len(*size).unwrap();
            let hours = Duration::from_secs(age * 3_600);
            file.set_modified(now - hours).unwrap();
        }
        remove_surplus(dir.path(), now, most).unwrap();
        let left = fs::read_dir(dir.path()).unwrap();
        let mut left: Vec<_> = left
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        left
    }

    #[test]
    fn what_is_older_than_a_day_goes_and_the_rest_stays() {
        let files = [
            ("old.tar", 25, 1),
            ("torn.part", 25, 1),
            ("young.tar", 23, 1),
        ];
        assert_eq!(left(&files, 100), ["young.tar"]);
    }

    #[test]
    fn an_organization_keeps_no_more_than_its_share_and_the_newest_of_it() {
        let files = [
            ("a.tar", 3, 40),
            ("b.tar", 2, 40),
            ("c.tar", 1, 40),
            ("d.part", 0, 20),
        ];
        assert_eq!(left(&files, 100), ["b.tar", "c.tar", "d.part"]);
        assert_eq!(left(&files, 10), ["d.part"]);
    }

    #[test]
    fn organizations_that_run_nothing_any_more_are_cleaned_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let org = OrgId::new(Timestamp::from_epoch_ms(1), 1);
        let now = SystemTime::now();
        let old = now - Duration::from_secs(25 * 3_600);
        let file = |folder: &str, name: &str, modified: SystemTime| {
            let folder = dir.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(name);
            fs::File::create(&path)
                .unwrap()
                .set_modified(modified)
                .unwrap();
            path
        };
        let caches = format!("{org}/caches");
        let unused = now - Duration::from_secs(15 * 24 * 3_600);
        let gone = [
            file(org.as_str(), "old.tar", old),
            file(&format!("{org}/turns"), "old.bundle", old),
            file(&caches, "unused.tar", unused),
        ];
        let stored = [
            file(org.as_str(), "young.tar", now),
            file(&caches, "used.tar", old),
            file("somebody-else", "old.tar", old),
        ];
        clean_all(dir.path(), now).unwrap();
        assert!(gone.iter().all(|path| !path.exists()));
        assert!(stored.iter().all(|path| path.exists()));
    }

    #[test]
    fn a_path_names_a_run_of_its_organization_or_none() {
        let at = Timestamp::from_epoch_ms(1);
        let (org, other, run) = (OrgId::new(at, 1), OrgId::new(at, 2), RunId::new(at, 1));
        let root = Path::new("/nowhere/workspaces");
        let of = |path: String| run_of(root, &org, Path::new(&path));
        let base = root.display();
        let named = Some(run.clone());
        assert_eq!(of(format!("{base}/{org}/{run}/workspace")), named);
        assert_eq!(of(format!("{base}/{org}/{run}/x/../../y")), named);
        for bad in [
            format!("{base}/{other}/{run}/workspace"),
            format!("{base}/{org}/../{other}/{run}"),
            format!("{base}/{org}"),
            format!("{org}/{run}/workspace"),
            format!("{base}/{org}/x/workspace"),
        ] {
            assert_eq!(of(bad.clone()), None, "{bad}");
        }
    }
}
