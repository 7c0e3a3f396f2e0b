//! The workspace that a client named: a folder inside its organization's own folder, regardless of
//! links, or no access at all.
//!
//! The path is resolved first. Then the folder is opened from the organization's own downwards,
//! without following links, and all access uses the open folder, so a concurrent move gains
//! nothing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use awo_domain::{OrgId, RunId};

use crate::safe_files;

/// The error of every path that is not such a folder: no more, since it may be another organization's.
pub(crate) const NOT_INSIDE: &str = "must name an existing folder inside the workspaces of your \
    organization, such as the workDir of a run whose workspace still exists";

/// The folder of a run in which its workspace is.
const WORKSPACE: &str = "workspace";

/// An open workspace.
#[derive(Debug)]
pub(crate) struct WorkDir {
    dir: File,
    /// The run in whose folder it really lies, if it lies in one.
    pub(crate) run: Option<RunId>,
    /// The root of that run's workspace, if it lies in there.
    checkout: Option<File>,
    /// The organization's folder.
    pub(crate) org_dir: PathBuf,
}

impl WorkDir {
    /// Opens `path`, if it lies inside `<root>/<org>`.
    ///
    /// # Errors
    /// If it does not, or is no folder; the reason stays private.
    pub(crate) fn open(root: &Path, org: &OrgId, path: &Path) -> io::Result<WorkDir> {
        let org_dir = fs::canonicalize(root)?.join(org.as_str());
        let real = fs::canonicalize(path)?;
        let below = real
            .strip_prefix(&org_dir)
            .map_err(|_| io::Error::other("it lies outside"))?;
        if below.as_os_str().is_empty() {
            return Err(io::Error::other(
                "it is the folder of all workspaces, not a workspace",
            ));
        }
        let standing = safe_files::open_dir(&org_dir)?;
        let dir = safe_files::open_dir_below(&standing, below)?;
        let mut parts = below.iter();
        let run = parts.next().and_then(OsStr::to_str);
        let run = run.and_then(|name| RunId::parse(name).ok());
        let checkout = match (&run, parts.next()) {
            (Some(run), Some(name)) if name == WORKSPACE => {
                let root = Path::new(run.as_str()).join(WORKSPACE);
                Some(safe_files::open_dir_below(&standing, &root)?)
            }
            _ => None,
        };
        Ok(WorkDir {
            dir,
            run,
            checkout,
            org_dir,
        })
    }

    /// A path of the open folder, wherever it has been moved; good while this lives, and for
    /// processes that are started from this one to be started in.
    pub(crate) fn path(&self) -> PathBuf {
        path_of(&self.dir)
    }

    /// The same of the root of the run's workspace; the open folder itself where it is not in one.
    pub(crate) fn checkout(&self) -> PathBuf {
        path_of(self.checkout.as_ref().unwrap_or(&self.dir))
    }
}

fn path_of(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use awo_domain::Timestamp;

    use super::*;

    #[test]
    fn only_a_folder_inside_the_organizations_own_is_opened() {
        let root = tempfile::tempdir().unwrap();
        let org = |n| OrgId::new(Timestamp::from_epoch_ms(1_790_000_000_000), n);
        let (ours, theirs) = (org(1), org(2));
        let place = |org: &OrgId| root.path().join(org.as_str());
        for org in [&ours, &theirs] {
            fs::create_dir_all(place(org).join("run/workspace/src")).unwrap();
        }
        let workspace = place(&ours).join("run/workspace");
        fs::write(workspace.join("file"), "").unwrap();
        symlink(place(&theirs), workspace.join("out")).unwrap();
        symlink("../../../", workspace.join("up")).unwrap();
        symlink("src", workspace.join("in")).unwrap();
        symlink(
            workspace.join("src"),
            workspace.join("in-by-its-whole-path"),
        )
        .unwrap();
        symlink(&workspace, root.path().join("from-elsewhere")).unwrap();
        let open = |path: &Path| WorkDir::open(root.path(), &ours, path);
        for good in [
            workspace.clone(),
            workspace.join("src"),
            workspace.join("in"),
            workspace.join("in-by-its-whole-path"),
            workspace.join("src/../../workspace"),
            root.path().join("from-elsewhere"),
        ] {
            let opened = open(&good).unwrap_or_else(|why| panic!("{}: {why}", good.display()));
            let real = fs::canonicalize(opened.path()).unwrap();
            assert!(real.starts_with(place(&ours).canonicalize().unwrap()));
        }
        let beside = format!("{}-not", place(&ours).display());
        fs::create_dir(&beside).unwrap();
        assert_eq!(open(&workspace).unwrap().run, None, "no run is called so");
        for bad in [
            place(&ours),
            place(&theirs).join("run/workspace"),
            root.path().to_owned(),
            PathBuf::from("/"),
            PathBuf::from("/etc"),
            PathBuf::from(beside),
            workspace.join("out/run/workspace"),
            workspace.join("up"),
            workspace.join(format!("../../../{}/run/workspace", theirs.as_str())),
            workspace.join("file"),
            workspace.join("missing"),
        ] {
            assert!(open(&bad).is_err(), "{}", bad.display());
        }
    }

    #[test]
    fn the_run_of_a_workspace_is_where_the_path_really_leads() {
        let root = tempfile::tempdir().unwrap();
        let at = Timestamp::from_epoch_ms(1_790_000_000_000);
        let (org, run, other) = (OrgId::new(at, 1), RunId::new(at, 1), RunId::new(at, 2));
        let folder = |run: &RunId| root.path().join(org.as_str()).join(run.as_str());
        for run in [&run, &other] {
            fs::create_dir_all(folder(run).join("workspace/src/deep")).unwrap();
        }
        fs::create_dir_all(folder(&run).join("home")).unwrap();
        let workspace = folder(&run).join("workspace");
        symlink(folder(&other).join("workspace"), workspace.join("out")).unwrap();
        let open = |path: PathBuf| WorkDir::open(root.path(), &org, &path).unwrap();
        let real = |path: PathBuf| fs::canonicalize(path).unwrap();
        for inside in ["", "src", "src/deep"] {
            let opened = open(workspace.join(inside));
            assert_eq!(opened.run.as_ref(), Some(&run));
            assert_eq!(real(opened.checkout()), real(workspace.clone()));
        }
        assert_eq!(open(workspace.join("out/src")).run.as_ref(), Some(&other));
        let home = open(folder(&run).join("home"));
        assert_eq!(real(home.checkout()), real(home.path()));
    }
}
