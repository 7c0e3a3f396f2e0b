//! Files that a hostile process may have put there: read only if they are plain files inside the
//! place where they belong, and never more of them than a limit. A link, a FIFO or a device in
//! their place is refused instead of followed or waited for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("does not exist")]
    Missing,
    #[error("is not a regular file")]
    NotAFile,
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
    #[error("lies outside the workspace")]
    Outside,
    #[error("cannot be read: {0}")]
    Io(io::Error),
}

/// Reads the plain file `path`, whose folder is trusted.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    let file = open(path, limit)?;
    // The file may grow while it is read, though nobody should be alive to do so.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(Unreadable::Io)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    Ok(bytes)
}

/// Reads the plain file `relative` below `root`, of which any part may be a link.
pub(crate) fn read_within(root: &Path, relative: &str, limit: u64) -> Result<Vec<u8>, Unreadable> {
    let path = root.join(relative);
    let missing_or = |why: io::Error| match why.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unreadable::Missing,
        _ => Unreadable::Io(why),
    };
    let real_root = fs::canonicalize(root).map_err(missing_or)?;
    let real_path = fs::canonicalize(path).map_err(missing_or)?;
    if !real_path.starts_with(&real_root) {
        return Err(Unreadable::Outside);
    }
    read(&real_path, limit)
}

fn open(path: &Path, limit: u64) -> Result<File, Unreadable> {
    let opened = OpenOptions::new()
        .read(true)
        // Without O_NONBLOCK, opening a FIFO waits for a writer that never comes.
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path);
    let file = opened.map_err(|why| match why.raw_os_error() {
        Some(nix::libc::ENOENT | nix::libc::ENOTDIR) => Unreadable::Missing,
        Some(nix::libc::ELOOP | nix::libc::ENXIO) => Unreadable::NotAFile,
        _ => Unreadable::Io(why),
    })?;
    let meta = file.metadata().map_err(Unreadable::Io)?;
    if !meta.is_file() {
        return Err(Unreadable::NotAFile);
    }
    if meta.len() > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    Ok(file)
}
