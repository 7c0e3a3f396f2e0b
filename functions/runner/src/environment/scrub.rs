//! Takes values out of files that a phase has left behind. Nothing of the phase is alive, and no link
//! is followed: a file is written anew and takes the place of the old one, so that a hard link to
//! another one does not reach it.
//!
//! A value is found where it stands as it is. One that a process has encoded is not: whoever has a
//! secret in a phase can write it down in a way that nobody else reads.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::Masks;

/// Files that are looked at, of all folders together.
const MAX_FILES: usize = 2_000_000;
/// Deepest folder.
const MAX_DEPTH: usize = 256;
/// Bytes that are read of a file at once.
const CHUNK_BYTES: usize = 1_048_576;
/// Largest file that is rewritten; a larger one with a value in it is removed.
const MAX_REWRITTEN_BYTES: u64 = 256 * 1_048_576;
/// What the name of a file that is written ends with until it takes its place.
const DRAFT: &str = ".awo-scrubbed";

/// Takes the values out of all files below these folders that were changed since, by the kernel's own
/// time. How many files it was.
///
/// # Errors
/// If a file that may hold a value could be neither read nor removed.
pub(crate) fn scrub(masks: &Masks, folders: &[PathBuf], since: SystemTime) -> io::Result<usize> {
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
        scrubber.folder(folder, 0)?;
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
    fn folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            // An agent of our own user can close its folders to us; nobody else reads them either.
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                fs::set_permissions(folder, Permissions::from_mode(0o700))?;
                fs::read_dir(folder)?
            }
            Err(why) => return Err(why),
        };
        for entry in entries {
            let entry = entry?;
            let meta = entry.metadata()?;
            if meta.is_dir() && depth < MAX_DEPTH {
                self.folder(&entry.path(), depth + 1)?;
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
                self.file(&entry.path(), &meta)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, meta: &fs::Metadata) -> io::Result<()> {
        let opened = open(path).or_else(|why| match why.kind() {
            io::ErrorKind::PermissionDenied => {
                fs::set_permissions(path, Permissions::from_mode(0o600))?;
                open(path)
            }
            _ => Err(why),
        });
        if !self.holds(opened?)? {
            return Ok(());
        }
        self.changed += 1;
        if meta.len() > MAX_REWRITTEN_BYTES {
            return fs::remove_file(path);
        }
        let mut bytes = Vec::new();
        open(path)?
            .take(MAX_REWRITTEN_BYTES)
            .read_to_end(&mut bytes)?;
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
        lchown(&draft, Some(meta.uid()), Some(meta.gid()))?;
        fs::set_permissions(&draft, Permissions::from_mode(meta.mode() & 0o777))?;
        fs::rename(draft, path)
    }

    /// Whether any value stands in a file, also across two of the pieces in which it is read.
    fn holds(&self, mut file: File) -> io::Result<bool> {
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

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path)
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
