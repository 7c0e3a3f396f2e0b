//! Takes values out of what a phase has left behind: contents of files, and extended attributes; what has a
//! value in its name, or a link that leads to one, is removed. No link is followed: each folder is opened
//! below the open one above it, so that no process which moves folders meanwhile leads out of them; and a
//! file is written anew and takes the place of the old one, so that a hard link to another one does not
//! reach it.
//!
//! A value is found where it stands as it is. One that a process has encoded is not: a process with a
//! secret in a phase can write it down in a way that nobody else reads.

use std::borrow::Cow;
use std::fs::{self, DirEntry, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::libc::{O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::{Whence, lseek};
use rustix::fs::{fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fremovexattr};

use super::search_limit::{NotSearched, SearchLimit};
use crate::agent_user::AgentUser;
use crate::masks::Masks;
use crate::safe_files::open_dir;

/// Files that are looked at, of all folders together.
const MAX_FILES: usize = 2_000_000;
/// Deepest folder.
const MAX_DEPTH: usize = 256;
/// Bytes that are read of a file at once.
const CHUNK_BYTES: usize = 1_048_576;
/// Largest file that is rewritten; a larger one with a value in it is removed.
const MAX_REWRITTEN_BYTES: u64 = 256 * 1_048_576;
/// Modes of a folder and a file that their owner had closed.
const CLOSED_FOLDER: u32 = 0o700;
const CLOSED_FILE: u32 = 0o600;
/// What the name of a file that is written ends with until it takes its place.
const DRAFT: &str = ".awo-scrubbed";

/// Folders for temporary files that all commands of a machine write.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Attributes that anybody may give to files of theirs.
const OWN_ATTRIBUTES: &[u8] = b"user.";

/// As [`scrub`], in a thread of its own; `keeps` is what keeps the folders open. What the agents' user has left
/// in shared folders is searched as well, where that is another user: ours has other things there.
///
/// # Errors
/// [`NotSearched`]; the folders may then hold values.
pub(crate) async fn scrub_in_background<K: Send + 'static>(
    masks: Masks,
    folders: Vec<PathBuf>,
    since: SystemTime,
    agents: Option<AgentUser>,
    (limit, keeps): (SearchLimit, K),
) -> Result<(), NotSearched> {
    let scrubbing = move || {
        let own = scrub(&masks, &folders, (since, None), &limit);
        drop(keeps);
        let shared = agents.map_or(Ok(0), |user| {
            let of_agents = (since, Some(user.uid));
            scrub(&masks, &SHARED.map(PathBuf::from), of_agents, &limit)
        });
        Ok::<_, io::Error>(own? + shared?)
    };
    let scrubbed = tokio::task::spawn_blocking(scrubbing).await;
    let files = scrubbed.map_err(|_| io::Error::other("a thread was lost"))??;
    if files > 0 {
        tracing::info!(
            event = "secrets_scrubbed",
            files,
            "secrets were taken out of files"
        );
    }
    Ok(())
}

/// Takes the values out of all files below these folders that were changed since, by the kernel's own
/// time, or of those that this user owns. How many files it was.
///
/// # Errors
/// If a file that may hold a value could be neither read nor removed, or there was no time for it.
fn scrub(
    masks: &Masks,
    folders: &[PathBuf],
    (since, owner): (SystemTime, Option<u32>),
    limit: &SearchLimit,
) -> io::Result<usize> {
    if masks.is_empty() {
        return Ok(0);
    }
    let since = since.duration_since(SystemTime::UNIX_EPOCH);
    let mut scrubber = Scrubber {
        masks,
        // A second of slack: file systems round.
        since: since.map_or(0, |since| since.as_secs().saturating_sub(1)),
        owner,
        limit,
        looked: 0,
        changed: 0,
    };
    for folder in folders {
        let known = open_dir(folder).or_else(|why| match why.kind() {
            io::ErrorKind::PermissionDenied => {
                fs::set_permissions(folder, Permissions::from_mode(CLOSED_FOLDER))?;
                open_dir(folder)
            }
            _ => Err(why),
        });
        match known {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            opened => {
                let folder = opened?;
                scrubber.attributes(&folder)?;
                scrubber.folder(&folder, 0)?;
            }
        }
    }
    Ok(scrubber.changed)
}

struct Scrubber<'a> {
    masks: &'a Masks,
    /// Seconds of the epoch.
    since: u64,
    /// Files of another user are left alone; everything is searched where absent.
    owner: Option<u32>,
    limit: &'a SearchLimit,
    looked: usize,
    changed: usize,
}

impl Scrubber<'_> {
    fn folder(&mut self, folder: &File, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(path_of(folder))? {
            match self.entry(&entry?, depth) {
                // It has gone meanwhile, as others' files do in a shared folder.
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                searched => searched?,
            }
        }
        Ok(())
    }

    /// An entry of an open folder, and all below it.
    fn entry(&mut self, entry: &DirEntry, depth: usize) -> io::Result<()> {
        self.limit.check()?;
        let meta = entry.metadata()?;
        if self.owner.is_some_and(|owner| meta.uid() != owner) {
            return Ok(());
        }
        if self.is_named(entry, &meta) {
            self.changed += 1;
            return if meta.is_dir() {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            };
        }
        if meta.is_dir() && depth < MAX_DEPTH {
            let below = opened(&entry.path(), O_DIRECTORY, CLOSED_FOLDER)?;
            self.attributes(&below)?;
            self.folder(&below, depth + 1)?;
        }
        if meta.is_dir() && depth >= MAX_DEPTH {
            fs::remove_dir_all(entry.path())?;
        }
        let ctime = u64::try_from(meta.ctime()).unwrap_or(u64::MAX);
        if meta.is_file() && ctime >= self.since {
            self.looked += 1;
            if self.looked > MAX_FILES {
                return Err(io::Error::other(format!(
                    "there are more than {MAX_FILES} files"
                )));
            }
            self.file(&entry.path())?;
        }
        Ok(())
    }

    fn has_value(&self, bytes: &[u8]) -> bool {
        matches!(self.masks.bytes(bytes), Cow::Owned(_))
    }

    /// True if a value stands in a name, or in what a link leads to.
    fn is_named(&self, entry: &DirEntry, meta: &Metadata) -> bool {
        let leads_to = || fs::read_link(entry.path()).unwrap_or_default();
        self.has_value(entry.file_name().as_bytes())
            || (meta.is_symlink() && self.has_value(leads_to().as_os_str().as_bytes()))
    }

    /// Removes the attributes of an open file or folder that hold a value.
    fn attributes(&mut self, file: &File) -> io::Result<()> {
        // A file system that has none says so.
        let size = flistxattr_query(file).unwrap_or(0);
        let mut names = vec![0; size];
        let size = if size == 0 {
            0
        } else {
            flistxattr(file, &mut names[..])?
        };
        let names = names[..size].split(|byte| *byte == 0);
        for name in names.filter(|name| name.starts_with(OWN_ATTRIBUTES)) {
            let Ok(size) = fgetxattr_query(file, name) else {
                continue;
            };
            let mut value = vec![0; size];
            if !value.is_empty() {
                let size = fgetxattr(file, name, &mut value[..])?;
                value.truncate(size);
            }
            if self.has_value(name) || self.has_value(&value) {
                fremovexattr(file, name)?;
                self.changed += 1;
            }
        }
        Ok(())
    }

    /// A file of a folder that is open.
    fn file(&mut self, path: &Path) -> io::Result<()> {
        let mut known = match opened(path, O_NONBLOCK, CLOSED_FILE) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let meta = known.metadata()?;
        if !meta.is_file() {
            return Ok(());
        }
        self.attributes(&known)?;
        if !self.holds(&known)? {
            return Ok(());
        }
        self.changed += 1;
        if meta.len() > MAX_REWRITTEN_BYTES {
            return fs::remove_file(path);
        }
        known.rewind()?;
        let mut bytes = Vec::new();
        known.take(MAX_REWRITTEN_BYTES).read_to_end(&mut bytes)?;
        self.masks.blank(&mut bytes);
        let mut name = path.as_os_str().to_owned();
        name.push(DRAFT);
        let draft = PathBuf::from(name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(&bytes)?;
        fchown(&file, Some(meta.uid()), Some(meta.gid()))?;
        file.set_permissions(Permissions::from_mode(meta.mode() & 0o777))?;
        fs::rename(draft, path)
    }

    /// True if any value stands in a file, also across two of the pieces in which it is read. Holes are
    /// skipped: a file of terabytes that nobody wrote has nothing to read.
    fn holds(&self, file: &File) -> io::Result<bool> {
        let mut piece = vec![0; CHUNK_BYTES];
        let mut position = 0;
        while let Some((from, to)) = data_from(file, position)? {
            lseek(file, from, Whence::SeekSet)?;
            let mut data = file.take(to.saturating_sub(from).cast_unsigned());
            let mut stream = self.masks.stream();
            let (mut read, mut shown) = (0, 0);
            loop {
                self.limit.check()?;
                let count = data.read(&mut piece)?;
                if count == 0 {
                    break;
                }
                read += count;
                shown += stream.push(&piece[..count]).len();
            }
            // A mask is shorter than any value.
            if shown + stream.end().len() != read {
                return Ok(true);
            }
            position = to;
        }
        Ok(false)
    }
}

/// The next part of a file that is no hole: its beginning, and the position behind it.
fn data_from(file: &File, position: i64) -> io::Result<Option<(i64, i64)>> {
    let from = match lseek(file, position, Whence::SeekData) {
        Ok(from) => from,
        Err(Errno::ENXIO) => return Ok(None),
        // A file system that does not know holes has none.
        Err(Errno::EINVAL) if position == 0 => return Ok(Some((0, i64::MAX))),
        Err(Errno::EINVAL) => return Ok(None),
        Err(why) => return Err(why.into()),
    };
    Ok(Some((from, lseek(file, from, Whence::SeekHole)?)))
}

/// A path of an open folder, whatever has become of its name.
fn path_of(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// Opens what is no link. An agent of our own user can close what it has to us; nobody else reads that
/// either.
fn opened(path: &Path, flag: i32, closed: u32) -> io::Result<File> {
    let open = || {
        OpenOptions::new()
            .read(true)
            .custom_flags(O_NOFOLLOW | flag)
            .open(path)
    };
    match open() {
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, Permissions::from_mode(closed))?;
            open()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
