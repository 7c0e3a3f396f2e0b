//! A command's own view of the file system, in a mount namespace of its own: `/tmp`, `/var/tmp`, `/dev/shm` and
//! `/dev/pts` are new and empty, and gone with the command. Folders at the top in which nothing is granted as a
//! whole are covered, with those that are hidden and those that its user cannot enter; what is granted below
//! them is bound where it was. All else is read-only, so that no mode, owner or attribute of a file outside of
//! the granted ones changes.
//!
//! A run's folders beside each other share a mount: files are renamed and linked between them as on any disk.

use std::collections::BTreeSet;
use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MsFlags, mount};

use crate::Sandbox;
use crate::accounts::name_user;

/// Folders for temporary files that programs insist on: a command has its own of each.
pub(crate) const TEMPORARY: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];
/// Terminals of the command's own.
pub(crate) const TERMINALS: [&str; 2] = ["/dev/pts", "/dev/ptmx"];
/// Folders of devices, processes and the kernel, which have their own rules.
const KERNELS: [&str; 3] = ["/dev", "/proc", "/sys"];
const ANYBODYS: u32 = 0o1777;
const PASSABLE: u32 = 0o755;
const NO_NAME: Option<&str> = None;

/// Gives this process the view of a command that runs as `user`. The process stands where it stood.
///
/// # Errors
/// What the kernel says, with the path. The view is not complete then, and no command may see it.
pub(crate) fn make_view(sandbox: &Sandbox, (uid, gid): (u32, u32)) -> io::Result<()> {
    let here = fs::canonicalize(".")?;
    let stood_in = identity(&fs::metadata(".")?);
    // Nothing that is mounted from here on is seen elsewhere.
    mount(
        NO_NAME,
        "/",
        NO_NAME,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        NO_NAME,
    )?;
    let view = View::of(sandbox, uid)?;
    for (cover, mode) in &view.covers {
        named(cover, cover_with_nothing(cover, *mode))?;
    }
    for bind in &view.binds {
        named(&bind.target, bind.mount())?;
    }
    open_terminals()?;
    name_user(uid, gid, std::env::var_os("HOME").as_deref())?;
    set_read_only(Path::new("/"), true)?;
    let changed = view.binds.iter().filter(|bind| bind.is_writable);
    let changed = changed.map(|bind| bind.target.as_path());
    for path in changed
        .chain(view.temporary())
        .chain(["/dev/pts", "/proc"].map(Path::new))
    {
        named(path, set_read_only(path, false))?;
    }
    named(&here, std::env::set_current_dir(&here))?;
    if identity(&fs::metadata(".")?) == stood_in {
        Ok(())
    } else {
        Err(io::Error::other(
            "the command's folder was moved while it was started",
        ))
    }
}

fn identity(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

fn named<T>(path: &Path, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", path.display())))
}

/// A granted path, which is to stand where it stood.
struct Bind {
    target: PathBuf,
    /// Opened before anything was covered.
    source: OwnedFd,
    is_folder: bool,
    is_writable: bool,
}

impl Bind {
    /// None of a path that is not there, or is a device.
    fn open(source: &Path, target: &Path, is_writable: bool) -> Option<Bind> {
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
            .open(source)
            .ok()?;
        let meta = opened.metadata().ok()?;
        let kind = meta.file_type();
        let is_device = kind.is_char_device() || kind.is_block_device();
        (!is_device).then(|| Bind {
            target: target.to_owned(),
            source: opened.into(),
            is_folder: meta.is_dir(),
            is_writable,
        })
    }

    fn mount(&self) -> io::Result<()> {
        // In a cover nothing stands there yet.
        if fs::symlink_metadata(&self.target).is_err() {
            if self.is_folder {
                make_folders(&self.target)?;
            } else {
                self.target.parent().map_or(Ok(()), make_folders)?;
                fs::File::create(&self.target)?;
            }
        }
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.source.as_raw_fd()));
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        Ok(mount(Some(&source), &self.target, NO_NAME, flags, NO_NAME)?)
    }
}

/// Mounts of a view, in this order.
struct View {
    /// Each with the mode of the empty folder that covers it.
    covers: Vec<(PathBuf, u32)>,
    binds: Vec<Bind>,
}

impl View {
    fn of(sandbox: &Sandbox, uid: u32) -> io::Result<View> {
        let temporary: BTreeSet<PathBuf> = TEMPORARY
            .iter()
            .filter_map(|path| fs::canonicalize(path).ok())
            .collect();
        let granted = granted(sandbox);
        let hidden = sandbox.hidden.iter().filter(|path| path.is_dir()).cloned();
        let closed = granted
            .iter()
            .filter_map(|path| closed_above(&path.real, uid));
        let mut closed: BTreeSet<PathBuf> = hidden
            .chain(closed)
            .filter(|path| !temporary.iter().any(|place| path.starts_with(place)))
            .chain(not_granted(&granted, &temporary))
            .collect();
        // A folder of ours in one that anybody writes is a mount, too: nobody renames those.
        closed.extend(granted.iter().filter_map(|path| {
            let place = temporary
                .iter()
                .find(|place| path.real.starts_with(place))?;
            let first = path.real.strip_prefix(place).ok()?.components().next()?;
            let first = place.join(first);
            (first != path.real).then_some(first)
        }));
        let is_top = |path: &&PathBuf| {
            let above = path.ancestors().skip(1);
            let mut above = above.take_while(|above| !temporary.contains(*above));
            !above.any(|above| closed.contains(above))
        };
        let tops: Vec<PathBuf> = closed.iter().filter(is_top).cloned().collect();
        let is_covered = |path: &Path| {
            let covers = temporary.iter().chain(&tops);
            covers
                .into_iter()
                .any(|cover| path.starts_with(cover) && path != cover)
        };
        let mut binds = Vec::new();
        for path in &granted {
            for target in BTreeSet::from([&path.real, &path.given]) {
                let is_bound = path.is_writable && path.real.is_dir() || is_covered(target);
                if is_bound && !temporary.contains(target) {
                    binds.extend(Bind::open(&path.real, target, path.is_writable));
                }
            }
        }
        // A folder before what lies in it; and one that is both read and written, to be written.
        binds.sort_by_key(|bind| {
            (
                bind.target.components().count(),
                bind.target.clone(),
                !bind.is_writable,
            )
        });
        binds.dedup_by(|later, earlier| later.target == earlier.target);
        let anybodys = temporary.iter().map(|path| (path.clone(), ANYBODYS));
        let tops = tops.into_iter().map(|path| (path, PASSABLE));
        let mut covers: Vec<(PathBuf, u32)> = anybodys.chain(tops).collect();
        covers.sort_by_key(|(path, _)| path.components().count());
        Ok(View { covers, binds })
    }

    fn temporary(&self) -> impl Iterator<Item = &Path> {
        let temporary = self.covers.iter().filter(|(_, mode)| *mode == ANYBODYS);
        temporary.map(|(path, _)| path.as_path())
    }
}

/// A path of the sandbox.
#[derive(Clone)]
struct Grant {
    given: PathBuf,
    /// Without links.
    real: PathBuf,
    is_writable: bool,
}

/// Grants of a sandbox. Written folders that stand beside each other are granted as the folder around
/// them, where that is hidden from others.
fn granted(sandbox: &Sandbox) -> Vec<Grant> {
    let written = sandbox.writes.iter().map(|path| (path, true));
    let read = sandbox.reads.iter().map(|path| (path, false));
    let open = written.chain(read).filter_map(|(path, is_writable)| {
        let real = fs::canonicalize(path).ok()?;
        let given = if path.is_absolute() {
            path.clone()
        } else {
            real.clone()
        };
        Some(Grant {
            given,
            real,
            is_writable,
        })
    });
    let granted: Vec<Grant> = open.collect();
    let around = |path: &Grant| {
        let around = path.real.parent()?;
        let is_own = sandbox
            .hidden
            .iter()
            .any(|hidden| around.starts_with(hidden) && around != hidden);
        let beside = |other: &&Grant| {
            other.is_writable && other.real.parent() == Some(around) && other.real != path.real
        };
        (path.is_writable && is_own && granted.iter().any(|other| beside(&other)))
            .then(|| around.to_owned())
    };
    let shared: BTreeSet<PathBuf> = granted.iter().filter_map(around).collect();
    let rest = granted.into_iter().filter(|path| {
        !path.is_writable
            || !path
                .real
                .parent()
                .is_some_and(|around| shared.contains(around))
    });
    let rest: Vec<Grant> = rest.collect();
    let shared = shared.into_iter().map(|real| Grant {
        given: real.clone(),
        real,
        is_writable: true,
    });
    shared.chain(rest).collect()
}

/// Folders at the top of which nothing is granted as a whole: with all that is not granted, sockets with a path
/// are not there. Where nothing is granted, nothing is restricted.
fn not_granted(granted: &[Grant], temporary: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let tops = fs::read_dir("/").into_iter().flatten().flatten();
    let folders = tops.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let paths = folders.map(|entry| entry.path());
    let is_granted = |path: &Path| {
        granted
            .iter()
            .any(|granted| path.starts_with(&granted.real))
    };
    let is_covered = |path: &PathBuf| {
        let is_kernels = KERNELS.iter().any(|kernels| path == Path::new(kernels));
        !granted.is_empty() && !is_granted(path) && !is_kernels && !temporary.contains(path)
    };
    paths.filter(is_covered).collect()
}

/// The first folder above a path that a user cannot enter: nobody that the folder's group would help.
fn closed_above(path: &Path, uid: u32) -> Option<PathBuf> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let is_closed = |folder: &&&Path| {
        fs::metadata(folder).is_ok_and(|meta| {
            let enter = if meta.uid() == uid { 0o100 } else { 0o001 };
            uid != 0 && meta.mode() & enter == 0
        })
    };
    above
        .iter()
        .find(is_closed)
        .map(|folder| folder.to_path_buf())
}

fn make_folders(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(PASSABLE).create(path)
}

fn cover_with_nothing(path: &Path, mode: u32) -> io::Result<()> {
    // Below another cover it is not there.
    make_folders(path)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let options = format!("mode={mode:o}");
    let made = mount(
        Some("tmpfs"),
        path,
        Some("tmpfs"),
        flags,
        Some(options.as_str()),
    );
    Ok(made?)
}

/// Terminals that are opened from here on are this namespace's, and those of before are not in it.
fn open_terminals() -> io::Result<()> {
    let [terminals, multiplexer] = TERMINALS.map(Path::new);
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=0620");
    named(
        terminals,
        mount(Some("devpts"), terminals, Some("devpts"), flags, options).map_err(io::Error::from),
    )?;
    let own = terminals.join("ptmx");
    // A link to the other one needs nothing more.
    let is_device =
        fs::symlink_metadata(multiplexer).is_ok_and(|meta| !meta.file_type().is_symlink());
    if is_device {
        let bound = mount(Some(&own), multiplexer, NO_NAME, MsFlags::MS_BIND, NO_NAME);
        named(multiplexer, bound.map_err(io::Error::from))?;
    }
    Ok(())
}

/// Makes a mount read-only with all below it, or the one alone writable.
fn set_read_only(path: &Path, is_read_only: bool) -> io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    let attributes = libc::mount_attr {
        attr_set: if is_read_only {
            libc::MOUNT_ATTR_RDONLY
        } else {
            0
        },
        attr_clr: if is_read_only {
            0
        } else {
            libc::MOUNT_ATTR_RDONLY
        },
        propagation: 0,
        userns_fd: 0,
    };
    let flags = if is_read_only { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path and the structure live until the call returns, and the kernel only reads them.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
