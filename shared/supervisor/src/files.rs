//! Measures the files that a tree has written, beside the supervisor's one thread, since a walk
//! through many files takes time. This thread waits for no process and starts none.
//!
//! It counts the used disk space, hard links once: the command's folders, removed files that are
//! still open, and files that its user has written to world-writable folders since the command
//! began; where those are the command's own they lie in memory, and count there as well. Links are not followed. A path that is too long for the kernel conceals what is below it,
//! so it counts as exceeding any limit.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;

use crate::limits::{Limits, MIB};
use crate::measure::as_user;
use crate::tree;

/// Least time between two measurements.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
/// A measurement is followed by a pause so many times as long.
const PAUSE_TIMES: u32 = 20;
/// Where all may write.
const SHARED_PLACES: [&str; 2] = ["/tmp", "/var/tmp"];
/// Where all may write, into memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// Beginning of the name of a file in memory that has no folder.
const MEMORY_FILE: &[u8] = b"/memfd:";
/// How much a tree may write that was over its limit when it began: what an earlier attempt left
/// must not keep the next one from putting it in order.
const ROOM_TO_TIDY_BYTES: u64 = 16 * MIB;
/// Bytes of a block, as the kernel counts.
const BLOCK_BYTES: u64 = 512;

/// What was found last, in bytes.
pub(crate) struct Files {
    found: Arc<Findings>,
    survey: Survey,
}

#[derive(Default)]
struct Findings {
    disk: AtomicU64,
    memory: AtomicU64,
}

impl Files {
    /// Notes what there is, and measures from now on for as long as this process lives; nothing where
    /// no limit asks for it.
    pub(crate) fn watch(
        limits: &Limits,
        user: Option<(u32, u32)>,
        is_private: bool,
    ) -> Option<Files> {
        if limits.disk_mb.is_none() && limits.memory_mb.is_none() {
            return None;
        }
        let found = Arc::new(Findings::default());
        let survey = Survey::begin(limits, user, is_private);
        let (written, surveying) = (Arc::clone(&found), survey.clone());
        // Without a thread only the last measurement finds something, and the kernel's limit on each file
        // remains.
        let _ = thread::Builder::new().spawn(move || surveying.go_on(&written));
        Some(Files { found, survey })
    }

    /// Bytes on disk, and in memory without a process that has mapped them.
    pub(crate) fn found(&self) -> (u64, u64) {
        let load = |of: &AtomicU64| of.load(Ordering::Relaxed);
        (load(&self.found.disk), load(&self.found.memory))
    }

    /// Bytes on disk once nothing writes any more.
    pub(crate) fn left(&self) -> u64 {
        self.survey.disk(self.survey.shared().disk)
    }
}

#[derive(Clone)]
struct Survey {
    /// Absent where the disk has no limit.
    places: Option<Vec<PathBuf>>,
    user: Option<(u32, u32)>,
    /// True if the shared places are the command's own, in memory.
    is_private: bool,
    /// What the user had elsewhere before the command.
    before: SharedBytes,
    /// Of what lay in the places before, what does not count.
    forgiven: u64,
}

impl Survey {
    fn begin(limits: &Limits, user: Option<(u32, u32)>, is_private: bool) -> Survey {
        let mut survey = Survey {
            places: limits.disk_mb.map(|_| limits.places.clone()),
            user,
            is_private,
            before: SharedBytes::default(),
            forgiven: 0,
        };
        survey.before = survey.shared();
        let granted = limits.disk_mb.unwrap_or(u64::MAX).saturating_mul(MIB);
        let own = survey.disk(survey.before.disk);
        if own > granted {
            survey.forgiven = (own - granted).saturating_add(ROOM_TO_TIDY_BYTES);
        }
        survey
    }

    fn go_on(&self, findings: &Findings) -> ! {
        loop {
            let began = Instant::now();
            let shared = self.shared();
            let in_memory = self.devices_in_memory();
            let (removed, removed_in_memory) = as_user(self.user, || removed_and_open(&in_memory));
            let memory = shared.memory.saturating_sub(self.before.memory);
            let memory = memory.saturating_add(removed_in_memory);
            findings.memory.store(memory, Ordering::Relaxed);
            let disk = self.disk(shared.disk).saturating_add(removed);
            findings.disk.store(disk, Ordering::Relaxed);
            thread::sleep((began.elapsed() * PAUSE_TIMES).max(SHORTEST_PAUSE));
        }
    }

    /// Bytes in the places, and those that came to be elsewhere.
    fn disk(&self, elsewhere: u64) -> u64 {
        let mut seen = HashSet::new();
        let places = self.places.iter().flatten();
        places
            .fold(0_u64, |sum, place| {
                sum.saturating_add(taken(place, &CountRule::default(), &mut seen))
            })
            .saturating_add(elsewhere.saturating_sub(self.before.disk))
            .saturating_sub(self.forgiven)
    }

    fn devices_in_memory(&self) -> Vec<u64> {
        let own = SHARED_PLACES.into_iter().filter(|_| self.is_private);
        let places = own.chain([SHARED_MEMORY]);
        let devices = places.filter_map(|place| fs::metadata(place).map(|meta| meta.dev()).ok());
        devices.collect()
    }

    /// What the user has where all may write. As our own user its owner is unknown.
    fn shared(&self) -> SharedBytes {
        let owner = match self.user {
            _ if self.is_private => None,
            Some((uid, _)) => Some(uid),
            None => return SharedBytes::default(),
        };
        let mut seen = HashSet::new();
        let mut taken_below = |place: &str| {
            let place = Path::new(place);
            // What is mounted there is counted where it belongs.
            let device = fs::metadata(place).map(|meta| meta.dev()).ok();
            taken(place, &CountRule { owner, device }, &mut seen)
        };
        let is_counted = self.places.is_some() || self.is_private;
        let places = SHARED_PLACES.iter().filter(|_| is_counted);
        let disk = places.fold(0, |sum: u64, place| sum.saturating_add(taken_below(place)));
        let memory = taken_below(SHARED_MEMORY);
        SharedBytes {
            memory: memory.saturating_add(if self.is_private { disk } else { 0 }),
            disk: if self.places.is_some() { disk } else { 0 },
        }
    }
}

#[derive(Clone, Copy, Default)]
struct SharedBytes {
    disk: u64,
    memory: u64,
}

/// Files that count; all where nothing is given.
#[derive(Default)]
struct CountRule {
    /// User whose files count, in folders of that user.
    owner: Option<u32>,
    /// Device whose files count.
    device: Option<u64>,
}

impl CountRule {
    fn has(&self, meta: &Metadata) -> bool {
        self.owner.is_none_or(|owner| owner == meta.uid())
            && self.device.is_none_or(|device| device == meta.dev())
    }
}

/// Bytes that the counted files below a folder take.
fn taken(top: &Path, counted: &CountRule, seen: &mut HashSet<(u64, u64)>) -> u64 {
    let mut bytes = 0_u64;
    let mut open = vec![top.to_owned()];
    while let Some(dir) = open.pop() {
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(why) if is_too_long(&why) => return u64::MAX,
            // It is gone, or not for us to see.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(meta) if !counted.has(&meta) => {}
                Ok(meta) => {
                    if meta.is_dir() {
                        open.push(entry.path());
                    }
                    bytes = bytes.saturating_add(once(&meta, seen));
                }
                Err(why) if is_too_long(&why) => return u64::MAX,
                Err(_) => {}
            }
        }
    }
    bytes
}

fn is_too_long(why: &io::Error) -> bool {
    why.raw_os_error() == Some(libc::ENAMETOOLONG)
}

/// What a file takes, if it was not counted under another name.
fn once(meta: &Metadata, seen: &mut HashSet<(u64, u64)>) -> u64 {
    let is_new = meta.nlink() == 1 || meta.is_dir() || seen.insert((meta.dev(), meta.ino()));
    if is_new {
        meta.blocks().saturating_mul(BLOCK_BYTES)
    } else {
        0
    }
}

/// Bytes of files without a name that processes of the tree have open: on disk, in memory.
fn removed_and_open(in_memory: &[u64]) -> (u64, u64) {
    let mut seen = HashSet::new();
    let (mut disk, mut memory) = (0_u64, 0_u64);
    for process in tree::alive() {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{}/fd", process.pid)) else {
            continue;
        };
        for descriptor in descriptors.flatten() {
            let path = descriptor.path();
            let Ok(meta) = fs::metadata(&path) else {
                continue;
            };
            if !meta.is_file() || meta.nlink() > 0 || !seen.insert((meta.dev(), meta.ino())) {
                continue;
            }
            let bytes = meta.blocks().saturating_mul(BLOCK_BYTES);
            let name = fs::read_link(&path).unwrap_or_default();
            let has_no_folder = name.as_os_str().as_encoded_bytes().starts_with(MEMORY_FILE);
            let is_in_memory = has_no_folder || in_memory.contains(&meta.dev());
            *if is_in_memory { &mut memory } else { &mut disk } += bytes;
        }
    }
    (disk, memory)
}
