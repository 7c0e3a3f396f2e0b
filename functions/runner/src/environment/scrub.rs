//! Takes values out of files that a phase has left behind. No link is followed: each folder is opened
//! below the open one above it, so that no process which moves folders meanwhile leads out of them; and a
//! file is written anew and takes the place of the old one, so that a hard link to another one does not
//! reach it.
//!
//! A value is found where it stands as it is. One that a process has encoded is not: a process with a
//! secret in a phase can write it down in a way that nobody else reads.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::libc::{O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK};

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

/// As [`scrub`], in a thread of its own; `keeps` is what keeps the folders open.
///
/// # Errors
/// A sentence.
pub(crate) async fn scrub_in_background<K: Send + 'static>(
    masks: Masks,
    folders: Vec<PathBuf>,
    since: SystemTime,
    keeps: K,
) -> Result<(), String> {
    let scrubbing = move || {
        let scrubbed = scrub(&masks, &folders, since);
        drop(keeps);
        scrubbed
    };
    let why = match tokio::task::spawn_blocking(scrubbing).await {
        Ok(Ok(0)) => return Ok(()),
        Ok(Ok(files)) => {
            tracing::info!(
                event = "secrets_scrubbed",
                files,
                "secrets were taken out of files"
            );
            return Ok(());
        }
        Ok(Err(why)) => why.to_string(),
        Err(_) => "a thread was lost".to_owned(),
    };
    Err(format!(
        "the workspace could not be searched for secrets: {why}"
    ))
}

/// Takes the values out of all files below these folders that were changed since, by the kernel's own
/// time. How many files it was.
///
/// # Errors
/// If a file that may hold a value could be neither read nor removed.
fn scrub(masks: &Masks, folders: &[PathBuf], since: SystemTime) -> io::Result<usize> {
    if masks.is_empty() {
        return Ok(0);
    }
    let since = since.duration_since(SystemTime::UNIX_EPOCH);
    let mut scrubber = Scrubber {
        masks,
        // A second of slack: file systems round.
        since: since.map_or(0, |since| since.as_secs().saturating_sub(1)),
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
            opened => scrubber.folder(&opened?, 0)?,
        }
    }
    Ok(scrubber.changed)
}

struct Scrubber<'a> {
    masks: &'a Masks,
    /// Seconds of the epoch.
    since: u64,
    looked: usize,
    changed: usize,
}

impl Scrubber<'_> {
    fn folder(&mut self, folder: &File, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(path_of(folder))? {
            let entry = entry?;
            let meta = match entry.metadata() {
                Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            if meta.is_dir() && depth < MAX_DEPTH {
                let below = opened(&entry.path(), O_DIRECTORY, CLOSED_FOLDER)?;
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
        if !meta.is_file() || !self.holds(&known)? {
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

    /// Whether any value stands in a file, also across two of the pieces in which it is read.
    fn holds(&self, mut file: &File) -> io::Result<bool> {
        let mut stream = self.masks.stream();
        let mut piece = vec![0; CHUNK_BYTES];
        let (mut read, mut shown) = (0, 0);
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            read += count;
            shown += stream.push(&piece[..count]).len();
        }
        // A mask is shorter than any value.
        Ok(shown + stream.end().len() != read)
    }
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
mod tests {
    use super::*;

    const VALUE: &str = "hunter2-hunter2";

    #[test]
    fn values_are_taken_out_of_files_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir_all(inside.join("deep/er")).unwrap();
        let write = |path: &Path, text: String| fs::write(path, text).unwrap();
        write(&outside, format!("theirs {VALUE}"));
        let config = inside.join("deep/er/.npmrc");
        write(&config, format!("token={VALUE}\n"));
        write(&inside.join("plain"), "nothing".to_owned());
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        fs::hard_link(&outside, inside.join("hard")).unwrap();
        // Across the pieces in which a file is read.
        let torn = inside.join("torn");
        write(&torn, "x".repeat(CHUNK_BYTES - 4) + VALUE);
        fs::set_permissions(&torn, Permissions::from_mode(0o755)).unwrap();
        let masks = Masks::of(vec![VALUE]);
        let began = SystemTime::now() - std::time::Duration::from_secs(60);
        assert_eq!(
            scrub(&masks, std::slice::from_ref(&inside), began).unwrap(),
            3
        );
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(
            read(&config),
            format!("token={}\n", "*".repeat(VALUE.len()))
        );
        assert!(!read(&torn).contains("hunter"));
        assert_eq!(fs::metadata(&torn).unwrap().mode() & 0o777, 0o755);
        assert_eq!(read(&outside), format!("theirs {VALUE}"));
        assert!(!read(&inside.join("hard")).contains("hunter"));
        assert_eq!(scrub(&masks, &[inside], began).unwrap(), 0);
    }

    #[test]
    fn what_no_phase_has_touched_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("old"), VALUE).unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let folders = [dir.path().to_owned()];
        assert_eq!(scrub(&Masks::of(vec![VALUE]), &folders, later).unwrap(), 0);
        assert_eq!(
            scrub(&Masks::default(), &folders, SystemTime::UNIX_EPOCH).unwrap(),
            0
        );
    }
}
