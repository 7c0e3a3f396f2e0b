//! Commits of submodules that an agent has checked out in its workspace. A link to one is committed
//! only if the submodule's remote has the commit: nobody else could fetch it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::Repository;
use super::branches::is_hash;
use super::submodule_urls::resolved;
use super::submodules::{Level, MissingSubmodule, SubmoduleEntry};
use crate::git::{Call, GitError};
use crate::git_guard::PutAside;
use crate::safe_files;

/// Longest time for the fetch of one commit.
const FETCH_LIMIT: Duration = Duration::from_secs(60);
/// Largest file that names a commit, in bytes.
const MAX_REF_BYTES: u64 = 4_096;
/// Largest file of packed refs, in bytes.
const MAX_PACKED_BYTES: u64 = 4 * 1_024 * 1_024;
/// Mode of a link.
const LINK: &str = "160000";

/// Most entries of `.gitmodules` that are compared.
const MAX_ENTRIES: usize = 200;

/// A submodule as an agent left it.
struct Candidate<'a> {
    named: &'a SubmoduleEntry,
    path: &'a Path,
    head: String,
    /// Name of a folder for it, if it is a new one.
    folder: String,
}

impl Repository {
    /// Puts the commits that the agent has checked out into the index; those that their remotes do
    /// not have are returned. A submodule that the agent added, or gave another URL, is fetched
    /// without credentials.
    pub(super) async fn stage_submodules(
        &self,
        put: &PutAside,
    ) -> Result<Vec<MissingSubmodule>, GitError> {
        let mut missing = Vec::new();
        let named = self.named_submodules(&self.dir, ":.gitmodules").await?;
        if named.is_empty() {
            return Ok(missing);
        }
        let staged = self.in_workspace(Call::new(["ls-files", "--stage", "-z"]));
        let staged = links(&self.git.call(staged).await?);
        for (number, named) in named.iter().take(MAX_ENTRIES).enumerate() {
            let Some(path) = named.path.as_deref() else {
                continue;
            };
            let git = put.moved_from(&self.workspace.join(path).join(".git"));
            let head = git.and_then(|git| head_of(&self.workspace, path, git));
            let Some(head) = head.filter(|head| staged.get(path) != Some(head)) else {
                continue;
            };
            let folder = format!("added-{number}-{head}");
            let candidate = Candidate {
                named,
                path,
                head,
                folder,
            };
            if !staged.contains_key(path) {
                let args =
                    ["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--"].map(OsStr::new);
                let remove = Call::new(args.into_iter().chain([path.as_os_str()]));
                self.git.call(self.in_workspace(remove)).await?;
            }
            if let Some(why) = self.stage_submodule(&candidate).await? {
                missing.push(why);
            }
        }
        Ok(missing)
    }

    /// The reason why a link to the commit cannot be committed, if it cannot.
    async fn stage_submodule(
        &self,
        candidate: &Candidate<'_>,
    ) -> Result<Option<MissingSubmodule>, GitError> {
        let Candidate {
            named, path, head, ..
        } = candidate;
        let (origin, earlier) = {
            let all = self.submodules();
            (all.url.clone(), all.fetched.get(*path).cloned())
        };
        let url = named.url.as_ref().and_then(|url| resolved(&origin, url));
        let fetched = match earlier.filter(|submodule| Some(&submodule.url) == url.as_ref()) {
            Some(submodule) => {
                let fetch = self.fetch_commit_of_submodule(&submodule, head, FETCH_LIMIT);
                fetch.await.map(|()| submodule)
            }
            None => {
                let level = Level::below(&origin);
                let (named, folder) = (Some(*named), candidate.folder.as_str());
                self.fetch_submodule(&level, named, head, folder, FETCH_LIMIT)
                    .await
            }
        };
        match fetched {
            Ok(submodule) => {
                let mut entry = OsString::from(format!("{LINK},{head},"));
                entry.push(path);
                let args = ["update-index", "--add", "--cacheinfo"].map(OsString::from);
                let update = Call::new(args.into_iter().chain([entry]));
                self.git.call(self.in_workspace(update)).await?;
                self.submodules()
                    .fetched
                    .insert(path.to_path_buf(), submodule);
                Ok(None)
            }
            Err(GitError::Stopped) => Err(GitError::Stopped),
            Err(why) => Ok(Some(MissingSubmodule {
                path: path.to_path_buf(),
                reason: format!("{head} is not to be had from its remote: {why}"),
            })),
        }
    }
}

/// The commit that a submodule is at, whose `.git` was moved to `git`; none if that is not clear.
pub(super) fn head_of(workspace: &Path, path: &Path, git: &Path) -> Option<String> {
    if git.is_dir() {
        return head_in(git, Path::new(""));
    }
    // A file that leads to a folder in the workspace's own `.git`.
    let text = safe_files::read(git, MAX_REF_BYTES).ok()?;
    let text = String::from_utf8(text).ok()?;
    let folder = plain(&path.join(text.strip_prefix("gitdir: ")?.trim_end()))?;
    head_in(workspace, &folder)
}

fn head_in(root: &Path, folder: &Path) -> Option<String> {
    let read = |name: &str, most: u64| {
        let bytes = safe_files::read_within(root, folder.join(name), most).ok()?;
        String::from_utf8(bytes).ok()
    };
    let head = read("HEAD", MAX_REF_BYTES)?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return Some(head.trim().to_owned()).filter(|hash| is_hash(hash));
    };
    if !name.starts_with("refs/") {
        return None;
    }
    let loose = read(name, MAX_REF_BYTES).map(|hash| hash.trim().to_owned());
    let packed = || {
        let packed = read("packed-refs", MAX_PACKED_BYTES)?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        let (hash, _) = lines.find(|(_, packed_name)| *packed_name == name)?;
        Some(hash.to_owned())
    };
    loose.or_else(packed).filter(|hash| is_hash(hash))
}

/// A relative path without `..`; none if it leads out.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            _ => return None,
        }
    }
    Some(plain)
}

/// `<mode> <hash> <stage> TAB <path>`, for links alone.
fn links(listed: &[u8]) -> HashMap<PathBuf, String> {
    let lines = listed.split(|byte| *byte == 0);
    let link = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut parts = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
        let (mode, hash) = (parts.next()?, parts.next()?);
        let path = OsString::from_vec(line[tab + 1..].to_vec());
        (mode == LINK).then(|| (path.into(), hash.to_owned()))
    };
    lines.filter_map(link).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_head_of_a_submodule_is_read_wherever_its_git_folder_is() {
        let dir = tempfile::tempdir().unwrap();
        let hash = "a".repeat(40);
        let git = dir.path().join("aside");
        let modules = dir.path().join(".git/modules/lib");
        for folder in [git.join("refs/heads"), modules.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        let head = |git: &Path| head_of(dir.path(), Path::new("deep/lib"), git);
        fs::write(git.join("HEAD"), format!("{hash}\n")).unwrap();
        assert_eq!(head(&git), Some(hash.clone()));
        fs::write(git.join("HEAD"), "ref: refs/heads/x\n").unwrap();
        assert_eq!(head(&git), None);
        fs::write(
            git.join("packed-refs"),
            format!("# x\n{hash} refs/heads/x\n"),
        )
        .unwrap();
        assert_eq!(head(&git), Some(hash.clone()));
        fs::write(git.join("refs/heads/x"), "../../..\n").unwrap();
        assert_eq!(head(&git), None);
        let file = dir.path().join("file");
        fs::write(modules.join("HEAD"), format!("{hash}\n")).unwrap();
        fs::write(&file, "gitdir: ../../.git/modules/lib\n").unwrap();
        assert_eq!(head(&file), Some(hash));
        fs::write(&file, "gitdir: ../../../../etc\n").unwrap();
        assert_eq!(head(&file), None);
    }
}
