//! Caches: folders that a setup fills and the next one finds, by environment, repository and branch, and by the
//! lock files of the commit that a run begins with. A branch finds its own entries and those of the default
//! branch: a setup runs code of its branch, which must not reach another one.
//!
//! They lie beside the workspace archives of an organization, so no other organization has them. An
//! entry is one folder. It is written once, by a setup that succeeded, before the agent begins and
//! after all values are taken out; an entry that is there is not written again. It is unpacked into a
//! folder of its own and then moved to where nothing stands: what is in it decides nothing beside
//! itself, and a link in the workspace is not followed.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use awo_domain::environment::EnvironmentName;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::Archiver;
use crate::layout::{self, Layout};

/// The folder of entries.
pub(crate) const FOLDER: &str = "caches";
/// Largest entry.
const MAX_ENTRY_BYTES: u64 = 2 * 1_024 * 1_024 * 1_024;
/// All entries of an organization together. Beyond it those go that were used longest ago.
const MAX_BYTES: u64 = 10 * 1_024 * 1_024 * 1_024;
/// How long an entry stays that nobody uses.
const RETENTION: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Entries that one task looks at.
const MAX_SWEPT: usize = 10_000;
/// Longest packing and longest unpacking of one entry.
const LIMIT: Duration = Duration::from_secs(120);

/// Files by which package managers say exactly what they install.
const LOCK_FILES: [&str; 20] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "requirements.txt",
    "poetry.lock",
    "Pipfile.lock",
    "uv.lock",
    "pdm.lock",
    "Cargo.lock",
    "go.sum",
    "pom.xml",
    "gradle.lockfile",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile.lock",
    "composer.lock",
    "deno.lock",
];

/// The lock files among what git lists of a commit with `ls-tree -r -z`: each with its hash.
pub(crate) fn lock_files(listed: &[u8]) -> Vec<u8> {
    let entries = listed.split(|byte| *byte == 0);
    let is_lock = |entry: &&[u8]| {
        let path = entry
            .split(|byte| *byte == b'\t')
            .nth(1)
            .unwrap_or_default();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        LOCK_FILES.iter().any(|lock| lock.as_bytes() == name)
    };
    let found: Vec<&[u8]> = entries.filter(is_lock).collect();
    found.join(&0)
}

/// Code whose setup fills caches.
#[derive(Debug, Clone)]
pub(crate) struct CachedCode<'a> {
    pub(crate) environment: &'a EnvironmentName,
    /// URL of its repository.
    pub(crate) repository: &'a str,
    pub(crate) branch: &'a str,
    /// Absent where the branch is the default branch itself, or that is not known.
    pub(crate) default_branch: Option<&'a str>,
    /// False for code that is no head of its branch: it finds entries and writes none.
    pub(crate) writes: bool,
}

/// Identity of the entries of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheKey {
    own: String,
    of_default_branch: Option<String>,
    writes: bool,
}

impl CacheKey {
    /// None without lock files: nothing would say when an entry is out of date.
    pub(crate) fn of(code: &CachedCode<'_>, locks: &[u8]) -> Option<CacheKey> {
        if locks.is_empty() {
            return None;
        }
        let locks = hex::encode(Sha256::digest(locks));
        let key = |branch: &str| {
            let parts = [code.environment.as_str(), code.repository, branch, &locks];
            json!(parts).to_string()
        };
        let default = code.default_branch.filter(|name| *name != code.branch);
        Some(CacheKey {
            own: key(code.branch),
            of_default_branch: default.map(key),
            writes: code.writes,
        })
    }

    /// Entries that may be restored, the first that there is.
    fn readable(&self, path: &str) -> Vec<String> {
        let keys = [Some(&self.own), self.of_default_branch.as_ref()];
        keys.into_iter()
            .flatten()
            .map(|key| entry(key, path))
            .collect()
    }
}

/// Name of an entry's file.
fn entry(key: &str, path: &str) -> String {
    let machine = [std::env::consts::OS, std::env::consts::ARCH];
    let text = json!([key, path, machine]).to_string();
    format!("{}.tar", hex::encode(Sha256::digest(text)))
}

/// The caches of an organization.
#[derive(Debug)]
pub(crate) struct Cache {
    root: PathBuf,
    archiver: Archiver,
}

/// Where the folders of a setup are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) home: &'a Path,
}

impl Places<'_> {
    /// The folder that a cached path begins at, and the path below it.
    fn of<'p>(&self, path: &'p str) -> (&Path, &'p Path) {
        match path.strip_prefix("~/") {
            Some(below) => (self.home, Path::new(below)),
            None => (self.workspace, Path::new(path)),
        }
    }
}

impl Cache {
    /// The caches below `folder`, which the tasks of one organization share.
    ///
    /// # Errors
    /// If there can be none.
    pub(crate) fn open(folder: &Path, archiver: Archiver) -> io::Result<Cache> {
        let root = folder.join(FOLDER);
        match fs::create_dir(&root) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            _ => {}
        }
        fs::set_permissions(&root, fs::Permissions::from_mode(0o700))?;
        Ok(Cache { root, archiver })
    }

    /// Puts each folder where it belongs of which there is an entry, and nothing yet. Those that
    /// were. What cannot be restored is made anew by the setup.
    pub(crate) async fn restore(
        &self,
        key: &CacheKey,
        paths: &[String],
        places: Places<'_>,
        layout: &Layout,
    ) -> Vec<String> {
        let mut restored = Vec::new();
        for (number, path) in paths.iter().enumerate() {
            let staging = layout.staging(number);
            match self
                .restore_one(key, path, places, (layout, &staging))
                .await
            {
                Ok(true) => restored.push(path.clone()),
                Ok(false) => {}
                Err(why) => {
                    tracing::warn!(event = "cache_not_restored", path, %why, "a cache is not restored")
                }
            }
            if let Err(why) = layout::clear(&staging) {
                tracing::warn!(event = "cache_staging_stays", path, %why, "what was unpacked of a cache stays behind");
            }
        }
        restored
    }

    async fn restore_one(
        &self,
        key: &CacheKey,
        path: &str,
        places: Places<'_>,
        (layout, staging): (&Layout, &Path),
    ) -> io::Result<bool> {
        let Some((entry, archive)) = self.open_entry(key, path)? else {
            return Ok(false);
        };
        let (root, below) = places.of(path);
        let target = root.join(below);
        if fs::symlink_metadata(&target).is_ok() {
            return Ok(false);
        }
        layout.make_agents_dir(staging)?;
        let used = archive.try_clone()?;
        self.archiver.unpack(archive, staging, LIMIT).await?;
        make_parents(layout, root, below)?;
        fs::rename(staging, &target)?;
        // It was used just now.
        used.set_modified(SystemTime::now()).or_else(|_| {
            let again = fs::OpenOptions::new().write(true).open(&entry)?;
            again.set_modified(SystemTime::now())
        })?;
        Ok(true)
    }

    fn open_entry(&self, key: &CacheKey, path: &str) -> io::Result<Option<(PathBuf, fs::File)>> {
        for name in key.readable(path) {
            let entry = self.root.join(name);
            match fs::File::open(&entry) {
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                opened => return Ok(Some((entry, opened?))),
            }
        }
        Ok(None)
    }

    /// Stores each folder without an entry. A folder that cannot be stored is skipped.
    pub(crate) async fn keep(&self, key: &CacheKey, paths: &[String], places: Places<'_>) {
        for path in paths.iter().filter(|_| key.writes) {
            if let Err(why) = self.keep_one(key, path, places).await {
                tracing::warn!(event = "cache_not_kept", path, %why, "a cache is not stored");
            }
        }
        if let Err(why) = remove_surplus(&self.root, SystemTime::now(), MAX_BYTES) {
            tracing::warn!(event = "old_caches_stay", %why, "caches that are too old stay behind");
        }
    }

    async fn keep_one(&self, key: &CacheKey, path: &str, places: Places<'_>) -> io::Result<()> {
        let entry = self.root.join(entry(&key.own, path));
        let (root, below) = places.of(path);
        if entry.exists() || !is_plain(root, below) {
            return Ok(());
        }
        // Of several runs that pack the same, each has a draft; the last one to end counts.
        let draft = self.root.join(format!("{}.part", unique()?));
        let dir = root.join(below);
        let packed = self.archiver.pack(&dir, &draft, MAX_ENTRY_BYTES);
        let packed = timeout(LIMIT, packed).await;
        let packed = packed.unwrap_or_else(|_| Err(io::Error::other("it took too long")));
        let stored = packed.and_then(|bytes| fs::rename(&draft, &entry).map(|()| bytes));
        match stored {
            Ok(bytes) => {
                tracing::info!(event = "cache_kept", path, bytes, "a cache is stored");
                Ok(())
            }
            Err(why) => {
                let _ = fs::remove_file(&draft);
                Err(why)
            }
        }
    }
}

/// Removes what no run of an organization has used for long, in the folder that its tasks share.
///
/// # Errors
/// If the entries cannot be read or removed.
pub(crate) fn clean(folder: &Path, now: SystemTime) -> io::Result<()> {
    match remove_surplus(&folder.join(FOLDER), now, MAX_BYTES) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn unique() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|why| io::Error::other(why.to_string()))?;
    Ok(hex::encode(bytes))
}

/// True if each part of a path is a folder and none is a link.
fn is_plain(root: &Path, below: &Path) -> bool {
    let mut path = root.to_owned();
    below.components().all(|part| {
        path.push(part);
        fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir())
    })
}

/// Makes the folders above a path, as the agent's; a link among them is an error.
fn make_parents(layout: &Layout, root: &Path, below: &Path) -> io::Result<()> {
    let mut path = root.to_owned();
    for part in below.parent().into_iter().flat_map(Path::components) {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(io::Error::other("a part of its path is no folder")),
            Err(why) if why.kind() == io::ErrorKind::NotFound => layout.make_agents_dir(&path)?,
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// Leaves those entries that were used last, and no more bytes than `most`.
fn remove_surplus(root: &Path, now: SystemTime, most: u64) -> io::Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)?.take(MAX_SWEPT) {
        let entry = entry?;
        match entry.metadata() {
            Ok(meta) => found.push((meta.modified()?, meta.len(), entry.path())),
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
        if !is_old && size <= most.saturating_sub(bytes) {
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

#[cfg(test)]
mod tests;
