//! Submodules: each is fetched at its commit into a repository of the runner's own, once for a run,
//! and then filled into the agent's workspace and every checkout.
//!
//! Only what a commit records decides: the link in its tree, and the name, path and URL in its
//! `.gitmodules`, which obey the rules of repositories. No name of a submodule becomes a path here,
//! and no command of git for submodules takes part.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use awo_domain::source::{GitSource, Repository as RepositoryUrl};
use tokio::time::Instant;

use super::Repository;
use super::branches::is_hash;
use super::cloning::{DEPTH, depth_option};
use super::submodule_urls::resolved;
use crate::git::{Call, GitError, SizeLimit};

/// Most submodules of a run, those of submodules included.
const MAX_SUBMODULES: usize = 50;
/// Most submodules above one.
const MAX_DEPTH: usize = 10;
/// Longest reason why one is missing.
const MAX_REASON: usize = 500;
/// Mode of a link to a commit of another repository.
const LINK: &[u8] = b"160000 ";

/// A submodule that is here.
#[derive(Debug, Clone)]
pub(crate) struct Submodule {
    /// The runner's repository of it.
    pub(super) dir: PathBuf,
    pub(super) url: String,
    pub(super) name: String,
    /// True if the base itself names it, so that the run's credentials are meant for it.
    pub(super) of_base: bool,
}

/// A submodule that is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingSubmodule {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// The submodules of a base, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Submodules {
    pub(super) fetched: HashMap<PathBuf, Submodule>,
    pub(crate) missing: Vec<MissingSubmodule>,
    /// URL of the repository itself.
    pub(super) url: String,
}

/// A commit whose links are followed.
pub(super) struct Level {
    path: PathBuf,
    dir: PathBuf,
    commit: String,
    url: String,
    depth: usize,
}

/// A submodule as `.gitmodules` names it.
#[derive(Default)]
pub(super) struct SubmoduleEntry {
    name: String,
    pub(super) path: Option<PathBuf>,
    pub(super) url: Option<String>,
}

impl Level {
    /// A commit of the repository at `url` that is not the base, so that no credential is meant
    /// for what it names.
    pub(super) fn below(url: &str) -> Level {
        Level {
            path: PathBuf::new(),
            dir: PathBuf::new(),
            commit: String::new(),
            url: url.to_owned(),
            depth: 1,
        }
    }
}

impl Repository {
    /// Fetches the submodules of the base, and theirs; those that cannot be had are returned.
    pub(crate) async fn fetch_submodules(
        &self,
        source: &GitSource,
        commit: &str,
        limit: Duration,
    ) -> Result<Vec<MissingSubmodule>, GitError> {
        let all = self.all_submodules(source, commit, limit).await?;
        let missing = all.missing.clone();
        *self.submodules() = all;
        Ok(missing)
    }

    pub(super) fn submodules(&self) -> MutexGuard<'_, Submodules> {
        self.submodules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn all_submodules(
        &self,
        source: &GitSource,
        commit: &str,
        limit: Duration,
    ) -> Result<Submodules, GitError> {
        let deadline = Instant::now() + limit;
        let mut all = Submodules {
            url: source.repository.as_str().to_owned(),
            ..Submodules::default()
        };
        let mut levels = VecDeque::from([Level {
            path: PathBuf::new(),
            dir: self.dir.clone(),
            commit: commit.to_owned(),
            url: source.repository.as_str().to_owned(),
            depth: 0,
        }]);
        while let Some(level) = levels.pop_front() {
            let links = self.links(&level.dir, &level.commit).await?;
            if links.is_empty() {
                continue;
            }
            let blob = format!("{}:.gitmodules", level.commit);
            let named = self.named_submodules(&level.dir, &blob).await?;
            if level.depth == 0 {
                let urls = linked_urls(&level.url, &links, &named);
                let named = self.git.credentials.name_submodules(urls);
                self.git.unless_stopped(named).await?;
            }
            for (link, hash) in links {
                let path = level.path.join(&link);
                if all.fetched.len() + all.missing.len() >= MAX_SUBMODULES {
                    all.missing.push(MissingSubmodule {
                        path,
                        reason: format!("a run has at most {MAX_SUBMODULES} submodules"),
                    });
                    return Ok(all);
                }
                let named = named
                    .iter()
                    .find(|named| named.path.as_ref() == Some(&link));
                let folder = (all.fetched.len() + all.missing.len()).to_string();
                let left = deadline.saturating_duration_since(Instant::now());
                match self
                    .fetch_submodule(&level, named, &hash, &folder, left)
                    .await
                {
                    Ok(submodule) => {
                        levels.push_back(Level {
                            path: path.clone(),
                            dir: submodule.dir.clone(),
                            commit: hash,
                            url: submodule.url.clone(),
                            depth: level.depth + 1,
                        });
                        all.fetched.insert(path, submodule);
                    }
                    Err(GitError::Stopped) => return Err(GitError::Stopped),
                    Err(why) => {
                        let reason = why.to_string().chars().take(MAX_REASON).collect();
                        all.missing.push(MissingSubmodule { path, reason });
                    }
                }
            }
        }
        Ok(all)
    }

    pub(super) async fn fetch_submodule(
        &self,
        level: &Level,
        named: Option<&SubmoduleEntry>,
        hash: &str,
        folder: &str,
        limit: Duration,
    ) -> Result<Submodule, GitError> {
        let refused = |why: String| Err(GitError::Failed(why));
        let Some((named, url)) = named.and_then(|named| Some((named, named.url.as_ref()?))) else {
            return refused(".gitmodules names no URL for it".to_owned());
        };
        if level.depth >= MAX_DEPTH {
            return refused(format!("more than {MAX_DEPTH} submodules are above it"));
        }
        let Some(url) = resolved(&level.url, url) else {
            return refused(format!("its URL {url} is none that can be fetched"));
        };
        // A repository from elsewhere must not lead to one of this machine.
        let allow_file = level.url.starts_with("file:");
        if let Err(why) = RepositoryUrl::parse(&url, allow_file) {
            return refused(format!("its URL {url} {why}"));
        }
        let submodule = Submodule {
            dir: self.modules.join(format!("{folder}.git")),
            url,
            name: named.name.clone(),
            of_base: level.depth == 0,
        };
        fs::create_dir_all(&self.modules)
            .map_err(|why| GitError::Failed(format!("its folder cannot be made: {why}")))?;
        let format = if hash.len() == 40 { "sha1" } else { "sha256" };
        let format = format!("--object-format={format}");
        let mut init: Vec<OsString> = ["init", "--quiet", "--bare", "--template="]
            .map(OsString::from)
            .into();
        init.extend([format.into(), submodule.dir.clone().into()]);
        self.git.call(Call::new(init)).await?;
        self.fetch_commit_of_submodule(&submodule, hash, limit)
            .await?;
        Ok(submodule)
    }

    /// Fetches one commit of a submodule from its own remote.
    pub(super) async fn fetch_commit_of_submodule(
        &self,
        submodule: &Submodule,
        hash: &str,
        limit: Duration,
    ) -> Result<(), GitError> {
        let depth = depth_option(DEPTH);
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let rest = [
            "--no-recurse-submodules",
            &depth,
            "--",
            &submodule.url,
            hash,
        ];
        let objects = submodule.dir.join("objects");
        let mut fetch = Call::new(args.into_iter().chain(rest));
        fetch.git_dir = Some(&submodule.dir);
        fetch.remote = true;
        fetch.anonymous = !submodule.of_base;
        fetch.submodule = true;
        fetch.limit = Some(limit);
        fetch.watched = Some(SizeLimit {
            dir: &objects,
            most_bytes: self.most_history,
            patience: limit,
        });
        self.git.call(fetch).await?;
        // The ref keeps the commit.
        let name = format!("refs/awo/{hash}");
        let mut point = Call::new(["update-ref", &name, hash]);
        point.git_dir = Some(&submodule.dir);
        self.git.call(point).await.map(drop)
    }

    /// Links of a commit, with the commits that they name.
    pub(super) async fn links(
        &self,
        dir: &Path,
        commit: &str,
    ) -> Result<Vec<(PathBuf, String)>, GitError> {
        let mut list = Call::new(["ls-tree", "-r", "-z", "--full-tree", commit]);
        list.git_dir = Some(dir);
        let listed = self.git.call(list).await?;
        Ok(listed
            .split(|byte| *byte == 0)
            .filter(|line| line.starts_with(LINK))
            .filter_map(read_link)
            .collect())
    }

    /// The submodules that a `.gitmodules` names.
    pub(super) async fn named_submodules(
        &self,
        dir: &Path,
        blob: &str,
    ) -> Result<Vec<SubmoduleEntry>, GitError> {
        let mut list = Call::new(["config", "--blob", blob, "--null", "--list"]);
        list.git_dir = Some(dir);
        // It fails where there is no such file, or none that git can read.
        let answer = self.git.answer(list).await?;
        Ok(read_named(&answer.stdout))
    }
}

/// URLs of the submodules that a commit of the repository at `url` links and names.
fn linked_urls(url: &str, links: &[(PathBuf, String)], named: &[SubmoduleEntry]) -> Vec<String> {
    let is_linked = |entry: &&SubmoduleEntry| {
        links
            .iter()
            .any(|(path, _)| entry.path.as_ref() == Some(path))
    };
    let urls = named.iter().filter(is_linked);
    let urls = urls.filter_map(|entry| resolved(url, entry.url.as_ref()?));
    urls.take(MAX_SUBMODULES).collect()
}

/// `<mode> commit <hash> TAB <path>`.
fn read_link(line: &[u8]) -> Option<(PathBuf, String)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let hash = std::str::from_utf8(&line[..tab]).ok()?.rsplit(' ').next()?;
    let path = OsString::from_vec(line[tab + 1..].to_vec());
    is_hash(hash).then(|| (path.into(), hash.to_owned()))
}

/// `submodule.<name>.<key> LF <value> NUL`, again and again.
fn read_named(listed: &[u8]) -> Vec<SubmoduleEntry> {
    let mut all: Vec<SubmoduleEntry> = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        let parts = entry.split_once('\n').and_then(|(key, value)| {
            let (name, key) = key.strip_prefix("submodule.")?.rsplit_once('.')?;
            Some((name, key, value))
        });
        let Some((name, key, value)) = parts else {
            continue;
        };
        let number = all.iter().position(|named| named.name == name);
        let number = number.unwrap_or_else(|| {
            all.push(SubmoduleEntry {
                name: name.to_owned(),
                ..SubmoduleEntry::default()
            });
            all.len() - 1
        });
        match key {
            "path" => all[number].path = Some(value.into()),
            "url" => all[number].url = Some(value.to_owned()),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_are_read_with_any_name() {
        let listed = b"submodule.a.b c.path\nlib/x\0submodule.a.b c.url\n../x\0core.x\n1\0\
                       submodule.z.path\nz\0";
        let named = read_named(listed);
        assert_eq!(named.len(), 2);
        assert_eq!(named[0].name, "a.b c");
        assert_eq!(named[0].path.as_deref(), Some(Path::new("lib/x")));
        assert_eq!(named[0].url.as_deref(), Some("../x"));
        assert_eq!(named[1].url, None);
        let hash = "4".repeat(40);
        let line = format!("160000 commit {hash}\ta b");
        assert_eq!(read_link(line.as_bytes()), Some(("a b".into(), hash)));
        assert_eq!(read_link(b"160000 commit x\ta"), None);
    }
}
