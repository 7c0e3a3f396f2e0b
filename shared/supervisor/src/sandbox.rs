//! A command's access to the file system. Landlock denies everything that is not granted,
//! permanently and for all descendants, and needs no root. An older kernel enforces the part it
//! supports; one without Landlock (before 5.13) enforces nothing, which [`Sandbox::is_available`]
//! reports beforehand.
//!
//! Landlock does not cover this: names, sizes and modes of files are visible wherever a path leads,
//! and a user can change the mode of its own files anywhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use nix::libc;

use crate::mounts::{TEMPORARY, TERMINALS};

/// The newest version whose rights are handled: signals to processes outside of the sandbox and
/// their abstract sockets are refused, too.
const VERSION: ABI = ABI::V6;
/// Most folders between a granted one and a hidden one.
const MAX_DEPTH: usize = 64;

/// Rules of Landlock for a process.
pub(crate) type Rules = RulesetCreated;

/// What a command may see: paths that do not exist count for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// What it may read and execute.
    pub reads: Vec<PathBuf>,
    /// What it may write as well.
    pub writes: Vec<PathBuf>,
    /// Folders that are not granted with those above them.
    pub hidden: Vec<PathBuf>,
}

impl Sandbox {
    /// True if the kernel enforces any of it.
    #[must_use]
    pub fn is_available() -> bool {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(ABI::V1));
        ruleset.and_then(Ruleset::create).is_ok()
    }

    /// The rules, to be put on in the process that becomes the command; none where the kernel has
    /// no Landlock.
    /// Temporary files and terminals are granted where others do not have the same: `own_places`.
    pub(crate) fn rules(&self, own_places: bool) -> io::Result<Option<Rules>> {
        if !Sandbox::is_available() {
            return Ok(None);
        }
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(VERSION))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(VERSION)))
            .and_then(Ruleset::create);
        let mut rules = ruleset.map_err(io::Error::other)?;
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        let write = AccessFs::from_all(VERSION) & !devices;
        let places = TEMPORARY.iter().chain(&TERMINALS).map(Path::new);
        let places = places.filter(|_| own_places);
        let reads = self.reads.iter().map(PathBuf::as_path);
        let writes = self.writes.iter().map(PathBuf::as_path).chain(places);
        let reads = reads.map(|path| (path, AccessFs::from_read(VERSION)));
        for (path, access) in reads.chain(writes.map(|path| (path, write))) {
            rules = self.grant(rules, path, access, MAX_DEPTH)?;
        }
        Ok(Some(rules))
    }

    /// Grants a path; where something below it is hidden, what stands beside that at this moment.
    fn grant(
        &self,
        rules: RulesetCreated,
        path: &Path,
        access: BitFlags<AccessFs>,
        depth: usize,
    ) -> io::Result<RulesetCreated> {
        let (Ok(path), Some(depth)) = (fs::canonicalize(path), depth.checked_sub(1)) else {
            return Ok(rules);
        };
        if !self.hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            return add(rules, &path, access);
        }
        if self.hidden.contains(&path) {
            return Ok(rules);
        }
        let Ok(entries) = fs::read_dir(&path) else {
            return Ok(rules);
        };
        entries
            .filter_map(Result::ok)
            .filter(|entry| !entry.file_type().is_ok_and(|kind| kind.is_symlink()))
            .try_fold(rules, |rules, entry| {
                self.grant(rules, &entry.path(), access, depth)
            })
    }
}

fn add(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    // It may be gone, or not ours to open: then there is nothing to grant.
    let Ok(opened) = PathFd::new(path) else {
        return Ok(rules);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(VERSION)
    };
    let rule = PathBeneath::new(opened, access);
    rules.add_rule(rule).map_err(io::Error::other)
}

/// Gives up every capability for good: root without them is a user like any other, but for the
/// files that it owns. `no_new_privs` keeps a program from bringing them back.
///
/// Async-signal-safe: it may run between fork and exec.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`: two sets of 32 bits each.
    #[repr(C)]
    struct Header {
        version: u32,
        pid: libc::c_int,
    }
    #[repr(C)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let none = [const {
        Sets {
            effective: 0,
            permitted: 0,
            inheritable: 0,
        }
    }; 2];
    // SAFETY: both structures are those of capset(2) for this version, live until the call returns,
    // and the kernel only reads them.
    let done = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
