//! Machine limits of a command and everything below it.
//!
//! The kernel counts per process or per user, not per tree, and a task on Fargate has neither
//! cgroups nor user namespaces of its own. So the supervisor measures the tree (`measure`, `files`)
//! and kills it when it exceeds a limit. Limits that the kernel can enforce are left to it, so that
//! no tree far exceeds a limit between measurements.

use std::fs;
use std::io;
use std::path::PathBuf;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::measure;

/// Bytes of a MiB.
pub(crate) const MIB: u64 = 1 << 20;
/// Most descriptors of a process, unless it asks for more.
const SOFT_OPEN_FILES: u64 = 4_096;
/// Most descriptors of a process.
const HARD_OPEN_FILES: u64 = 65_536;
/// Threads for each process that is granted. The kernel counts threads, and language runtimes
/// start a dozen each.
const THREADS_EACH: u64 = 32;
/// Fewest threads that are granted in all.
const MIN_THREADS: u64 = 1_024;
/// Whom the kernel kills first when memory is short: the most that it takes.
const FIRST_TO_GO: &str = "1000";
const OOM_SCORE: &str = "/proc/self/oom_score_adj";

/// Limits of a whole tree; none where absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Memory that only the tree uses, in MiB.
    pub memory_mb: Option<u64>,
    /// What lies in `places`, and what it wrote where all may write, in MiB.
    pub disk_mb: Option<u64>,
    /// Processes alive at once.
    pub processes: Option<u64>,
    /// Folders whose contents count.
    pub places: Vec<PathBuf>,
}

impl Limits {
    /// True if nothing has to be measured.
    pub(crate) fn are_none(&self) -> bool {
        self.memory_mb.is_none() && self.disk_mb.is_none() && self.processes.is_none()
    }
}

/// Which limit was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Limit {
    /// [`Limits::memory_mb`].
    Memory,
    /// [`Limits::disk_mb`].
    Disk,
    /// [`Limits::processes`].
    Processes,
}

/// A limit that was broken, and the tree is dead for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Breach {
    /// Which one.
    pub limit: Limit,
    /// What was granted, in its unit.
    pub granted: u64,
    /// What was measured, in its unit. More may have come until the tree was dead.
    pub measured: u64,
}

/// What the kernel holds for each process of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    file_bytes: Option<u64>,
    threads: Option<u64>,
    open_files: (u64, u64),
}

impl Kernel {
    /// Reads what there is to be read before the fork. `uid` is whom the command runs as.
    pub(crate) fn of(limits: &Limits, uid: u32) -> io::Result<Kernel> {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
        let hard = most.min(HARD_OPEN_FILES);
        // The kernel counts all of a user's, so that those there are do not count. It does not hold
        // root to it: then only the measuring is left.
        let threads = limits.processes.map(|processes| {
            let granted = processes.saturating_mul(THREADS_EACH).max(MIN_THREADS);
            measure::threads_of(uid).saturating_add(granted)
        });
        Ok(Kernel {
            // A little more than is granted: a process that reaches it is over the limit, and is reported so.
            file_bytes: limits
                .disk_mb
                .map(|mb| mb.saturating_add(1).saturating_mul(MIB)),
            threads,
            open_files: (SOFT_OPEN_FILES.min(hard), hard),
        })
    }

    /// Takes effect for this process and all below it. Between fork and exec: system calls only.
    pub(crate) fn apply(self) -> io::Result<()> {
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        let (soft, hard) = self.open_files;
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        for (resource, value) in [
            (Resource::RLIMIT_FSIZE, self.file_bytes),
            (Resource::RLIMIT_NPROC, self.threads),
        ] {
            if let Some(value) = value {
                let (_, most) = getrlimit(resource)?;
                setrlimit(resource, value.min(most), value.min(most))?;
            }
        }
        Ok(())
    }
}

/// Does `start`, whose child is to die before us when memory is short.
pub(crate) fn first_to_go<T>(start: impl FnOnce() -> T) -> T {
    let own = fs::read_to_string(OOM_SCORE).unwrap_or_default();
    // Without it the kernel chooses as it likes; nothing else depends on it.
    let _ = fs::write(OOM_SCORE, FIRST_TO_GO);
    let started = start();
    let _ = fs::write(OOM_SCORE, own.trim());
    started
}
