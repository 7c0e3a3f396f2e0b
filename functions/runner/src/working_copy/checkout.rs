//! A clean checkout of a working copy, as a fresh clone of it would be if its changes were committed.
//!
//! The working copy itself is only read: the index, the objects and the commit of uncommitted changes
//! are those of the checkout. Git runs as the caller's user and with the caller's settings, since both
//! the repository and the commands that follow are the caller's own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::git_call::{CheckoutError, Git, refusal};
use crate::litter;

/// Mode of a submodule in an index.
const SUBMODULE: &[u8] = b"160000 ";
/// Greatest depth of submodules within submodules.
const MAX_NESTED: usize = 10;

/// Makes the clean checkout `to`, which does not exist, of the working copy around `dir`, and returns
/// the folder in it that is `dir`'s. A folder that is in no repository is checked out as one would be
/// that holds its files, but for what its `.gitignore` and litter exclude.
///
/// # Errors
/// [`CheckoutError`], with git's own words.
pub(super) fn check_out(dir: &Path, to: &Path) -> Result<PathBuf, CheckoutError> {
    match repository_of(dir)? {
        Some(source) => {
            source.clone_to(to, 0)?;
            Ok(to.join(&source.prefix))
        }
        None => {
            import(dir, to)?;
            Ok(to.to_owned())
        }
    }
}

/// A repository and its work tree.
struct Source {
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    /// The requested folder, below `top`.
    prefix: PathBuf,
}

/// The repository around `dir`, unless it ignores `dir`: then `dir` is none of its business.
fn repository_of(dir: &Path) -> Result<Option<Source>, CheckoutError> {
    let queries = [
        "--show-toplevel",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-prefix",
    ];
    let mut paths = Vec::new();
    for query in queries {
        let answer = Git::at(dir).output(["rev-parse", query])?;
        if !answer.status.success() {
            let reason = String::from_utf8_lossy(&answer.stderr);
            let is_none = reason.contains("not a git repository")
                || reason.contains("must be run in a work tree");
            return if is_none {
                Ok(None)
            } else {
                Err(refusal(&answer.stderr))
            };
        }
        let line = answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout);
        paths.push(PathBuf::from(OsString::from_vec(line.to_vec())));
    }
    let [top, git_dir, common_dir, prefix] =
        <[PathBuf; 4]>::try_from(paths).map_err(|_| refusal(b"git named no work tree"))?;
    let is_ignored = !prefix.as_os_str().is_empty()
        && Git::at(dir)
            .output(["check-ignore", "--quiet", "."])?
            .status
            .success();
    Ok((!is_ignored).then(|| Source {
        common_dir: dir.join(common_dir),
        top,
        git_dir,
        prefix,
    }))
}

impl Source {
    fn clone_to(&self, to: &Path, depth: usize) -> Result<(), CheckoutError> {
        self.clone_bare(to)?;
        let index = self.snapshot(to)?;
        let head = Git::at(to)
            .line(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
            .ok();
        fill(to, &index, head.as_deref())?;
        self.check_out_submodules(to, depth)
    }

    /// Clones at one of its commits, without what the work tree adds.
    fn clone_at(&self, to: &Path, commit: &str, depth: usize) -> Result<(), CheckoutError> {
        self.clone_bare(to)?;
        Git::at(to).run(["checkout", "--quiet", "--detach", commit])?;
        self.check_out_submodules(to, depth)
    }

    /// Makes a clone without files, which shares the objects.
    fn clone_bare(&self, to: &Path) -> Result<(), CheckoutError> {
        let mut clone = Git::at(&self.top);
        clone.command.args(["clone", "--quiet", "--shared"]);
        clone.command.args(["--no-checkout", "--template=", "--"]);
        clone.command.args([self.top.as_os_str(), to.as_os_str()]);
        clone.done()?;
        self.copy_settings(to)
    }

    /// Gives the checkout the origin's address, without a credential, and the place of LFS contents.
    fn copy_settings(&self, to: &Path) -> Result<(), CheckoutError> {
        let origin = Git::at(&self.top)
            .line(["config", "--get", "remote.origin.url"])
            .ok();
        match origin {
            Some(url) => Git::at(to).run(["config", "remote.origin.url", &without_user(&url)])?,
            None => Git::at(to).run(["remote", "remove", "origin"])?,
        }
        let lfs = self.common_dir.join("lfs");
        if lfs.is_dir() {
            let mut set = Git::at(to);
            set.command.args(["config", "lfs.storage"]).arg(&lfs);
            set.done()?;
        }
        Ok(())
    }

    /// An index of the work tree as it is: its changes and its new files are in it, litter is not. The
    /// objects that it adds are the checkout's.
    fn snapshot(&self, to: &Path) -> Result<PathBuf, CheckoutError> {
        let index = to.join(".git/index.working-copy");
        match fs::copy(self.git_dir.join("index"), &index) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                return Err(CheckoutError::Index(why));
            }
            _ => {}
        }
        let in_source = || {
            let mut git = Git::at(&self.top).with_index(&index);
            let objects = to.join(".git/objects");
            git.command.env("GIT_OBJECT_DIRECTORY", objects);
            let shared = self.common_dir.join("objects");
            git.command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", shared);
            git
        };
        add_all(&self.top, in_source)?;
        Ok(index)
    }

    /// Checks out the submodules that the working copy has, at the commits at which it has them.
    fn check_out_submodules(&self, to: &Path, depth: usize) -> Result<(), CheckoutError> {
        if depth == MAX_NESTED {
            return Ok(());
        }
        let staged = Git::at(to).bytes(["ls-files", "--stage", "-z"])?;
        let links = staged.split(|byte| *byte == 0);
        for link in links.filter(|entry| entry.starts_with(SUBMODULE)) {
            let mut parts = link.splitn(2, |byte| *byte == b'\t');
            let head = parts.next().unwrap_or_default();
            let path = Path::new(OsStr::from_bytes(parts.next().unwrap_or_default()));
            let commit = String::from_utf8_lossy(head);
            let Some(commit) = commit.split(' ').nth(1) else {
                continue;
            };
            let (dir, below) = (self.top.join(path), to.join(path));
            // Without it, git answers for the repository around it.
            if fs::symlink_metadata(dir.join(".git")).is_err() {
                continue;
            }
            let Some(submodule) = repository_of(&dir)? else {
                continue;
            };
            submodule.clone_at(&below, commit, depth + 1)?;
        }
        Ok(())
    }
}

/// Makes a repository of the files of a folder that is in none.
fn import(dir: &Path, to: &Path) -> Result<(), CheckoutError> {
    let mut init = Git::at(dir);
    init.command
        .args(["init", "--quiet", "--template=", "--"])
        .arg(to);
    init.done()?;
    let index = to.join(".git/index.working-copy");
    let in_folder = || {
        let mut git = Git::at(dir).with_index(&index);
        git.command.env("GIT_DIR", to.join(".git"));
        git.command.env("GIT_WORK_TREE", dir);
        git
    };
    add_all(dir, in_folder)?;
    fill(to, &index, None)
}

/// Lets a checkout without files have the content of an index, as a commit on `head`.
fn fill(to: &Path, index: &Path, head: Option<&str>) -> Result<(), CheckoutError> {
    let tree = Git::at(to).with_index(index).line(["write-tree"])?;
    let commit = commit_of(to, &tree, head)?;
    Git::at(to).run(["update-ref", "HEAD", commit.as_str()])?;
    Git::at(to).run(["read-tree", "--reset", "-u", "HEAD"])?;
    Ok(fs::remove_file(index)?)
}

/// Stages all files of a work tree but litter that the repository does not have among its own.
fn add_all(top: &Path, git: impl Fn() -> Git) -> Result<(), CheckoutError> {
    let tracked = paths(&git().bytes(["ls-files", "-z"])?);
    let untracked = git().bytes(["ls-files", "--others", "--exclude-standard", "-z"])?;
    let litter: Vec<PathBuf> = paths(&untracked)
        .into_iter()
        .filter(|path| litter::covers(top, path))
        .collect();
    let litter = litter::without_own(litter, &tracked);
    let mut specs = b".\0".to_vec();
    for path in litter {
        specs.extend_from_slice(b":(exclude,literal,top)");
        specs.extend_from_slice(path.as_os_str().as_bytes());
        specs.push(0);
    }
    let mut add = git();
    add.command.args([
        "add",
        "--all",
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
    ]);
    add.done_with(&specs)
}

fn paths(listed: &[u8]) -> Vec<PathBuf> {
    let entries = listed.split(|byte| *byte == 0);
    entries
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(OsStr::from_bytes(path)))
        .collect()
}

/// The commit `head` if it has this tree, else a new one on it.
fn commit_of(to: &Path, tree: &str, head: Option<&str>) -> Result<String, CheckoutError> {
    let Some(head) = head else {
        return Git::at(to).line(["commit-tree", "-m", "working copy", tree]);
    };
    if Git::at(to).line(["rev-parse", &format!("{head}^{{tree}}")])? == tree {
        return Ok(head.to_owned());
    }
    Git::at(to).line(["commit-tree", "-m", "working copy", "-p", head, tree])
}

/// A URL without the user and password that it may hold.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let user = authority.strip_suffix(host).unwrap_or_default();
    // `ssh://git@host` needs its user, and has no password.
    if user.contains(':') || scheme.starts_with("http") {
        format!("{scheme}://{host}{path}")
    } else {
        url.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_named_without_its_password() {
        let cases = [
            ("https://u:p@h.example/a@b.git", "https://h.example/a@b.git"),
            ("https://token@h.example/a", "https://h.example/a"),
            ("ssh://git@h.example/a", "ssh://git@h.example/a"),
            ("git@h.example:a/b", "git@h.example:a/b"),
            ("/srv/a", "/srv/a"),
        ];
        for (url, named) in cases {
            assert_eq!(without_user(url), named);
        }
    }
}
