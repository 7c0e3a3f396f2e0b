//! Reads files that a hostile process may have created: only plain files inside the expected
//! folder, and never more than a limit. Links, FIFOs and devices are refused, neither followed nor
//! waited for.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::libc::{self, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK};

/// Size of a piece of a file that is read piece by piece.
const PIECE_BYTES: usize = 65_536;

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
    read_file(open(path)?, limit)
}

/// Reads the plain file `relative` below `root`, of which any part may be a link. The kernel
/// follows links and keeps to the folder in one step, so it does not matter which process moves what
/// meanwhile.
pub(crate) fn read_within(
    root: &Path,
    relative: impl AsRef<Path>,
    limit: u64,
) -> Result<Vec<u8>, Unreadable> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK;
    read_file(open_within(root, relative.as_ref(), flags)?, limit)
}

/// Reads the plain file `relative` below `root`, which is no link, piece by piece.
pub(crate) fn read_pieces_within(
    root: &Path,
    relative: &Path,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), Unreadable> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW;
    let mut file = open_within(root, relative, flags)?;
    if !file.metadata().map_err(Unreadable::Io)?.is_file() {
        return Err(Unreadable::NotAFile);
    }
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece).map_err(Unreadable::Io)? {
            0 => return Ok(()),
            count => visit(&piece[..count]),
        }
    }
}

/// What `relative` below `root` is; a link at its end is what it is, too.
pub(crate) fn metadata_within(root: &Path, relative: &Path) -> Result<Metadata, Unreadable> {
    let file = open_within(root, relative, OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
    file.metadata().map_err(Unreadable::Io)
}

/// What `relative` below `root`, its links followed, leads to.
pub(crate) fn metadata_of_target(root: &Path, relative: &Path) -> Result<Metadata, Unreadable> {
    let file = open_within(root, relative, OFlag::O_PATH)?;
    file.metadata().map_err(Unreadable::Io)
}

/// True if `relative` below `root`, its links followed, leads out of `root`.
pub(crate) fn escapes(root: &Path, relative: &Path) -> bool {
    let opened = open_within(root, relative, OFlag::O_PATH);
    matches!(opened, Err(Unreadable::Outside))
}

fn open_within(root: &Path, relative: &Path, flags: OFlag) -> Result<File, Unreadable> {
    let dir = open_dir(root).map_err(unreadable)?;
    let how = OpenHow::new()
        .flags(flags | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let opened = openat2(&dir, relative, how).map_err(|why| unreadable(why.into()))?;
    Ok(File::from(opened))
}

/// Opens a trusted folder, to stand on it.
pub(crate) fn open_dir(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECTORY)
        .open(path)
}

/// Opens the folder `relative` below the folder `dir`, if no part of it is a link.
pub(crate) fn open_dir_below(dir: &File, relative: &Path) -> io::Result<File> {
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    Ok(File::from(openat2(dir, relative, how)?))
}

fn read_file(file: File, limit: u64) -> Result<Vec<u8>, Unreadable> {
    let meta = file.metadata().map_err(Unreadable::Io)?;
    if !meta.is_file() {
        return Err(Unreadable::NotAFile);
    }
    if meta.len() > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read, though no process should be alive to do so.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(Unreadable::Io)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    Ok(bytes)
}

fn open(path: &Path) -> Result<File, Unreadable> {
    let opened = OpenOptions::new()
        .read(true)
        // Without O_NONBLOCK, opening a FIFO waits for a writer that never comes.
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path);
    opened.map_err(|why| match why.raw_os_error() {
        Some(libc::ELOOP) => Unreadable::NotAFile,
        _ => unreadable(why),
    })
}

fn unreadable(why: io::Error) -> Unreadable {
    match why.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => Unreadable::Missing,
        Some(libc::ENXIO) => Unreadable::NotAFile,
        Some(libc::EXDEV) => Unreadable::Outside,
        _ => Unreadable::Io(why),
    }
}
