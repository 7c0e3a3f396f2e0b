//! A tree's current use of the machine, read from `/proc`.
//!
//! A measurement costs one small file for each process of the machine; only a tree that seems to
//! exceed its memory is measured closely. The interval grows with the cost, within bounds.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use nix::unistd::{Gid, Pid, Uid, setfsgid, setfsuid};

use crate::files::Files;
use crate::limits::{Breach, Limit, Limits, MIB};
use crate::tree::{self, Process};

/// Least time between two measurements.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
/// Longest time between two measurements.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// A measurement is followed by a pause so many times as long.
const PAUSE_TIMES: u32 = 25;

/// Measures the tree below this process when it is time to.
pub(crate) struct Measuring<'a> {
    limits: &'a Limits,
    /// Whose processes they are, if not ours.
    user: Option<(u32, u32)>,
    files: Option<Files>,
    next: Instant,
    /// A process of ours in the tree.
    init: Option<Pid>,
}

impl<'a> Measuring<'a> {
    /// Nothing where there is nothing to measure. The command has not begun yet.
    pub(crate) fn start(
        limits: &'a Limits,
        user: Option<(u32, u32)>,
        is_private: bool,
    ) -> Option<Measuring<'a>> {
        (!limits.are_none()).then(|| Measuring {
            limits,
            user,
            files: Files::watch(limits, user, is_private),
            next: Instant::now() + SHORTEST_PAUSE,
            init: None,
        })
    }

    /// Leaves a process of ours out.
    pub(crate) fn leave_out(&mut self, init: Pid) {
        self.init = Some(init);
    }

    /// When to measure again.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Measures, if it is time.
    pub(crate) fn measure(&mut self) -> Option<Breach> {
        let began = Instant::now();
        if began < self.next {
            return None;
        }
        let breach = self.breach();
        let pause = (began.elapsed() * PAUSE_TIMES).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        self.next = Instant::now() + pause;
        breach
    }

    /// Counts the processes that the command leaves when it ends. The kernel may have refused it more of them
    /// before they were measured.
    pub(crate) fn processes_left(&self) -> Option<Breach> {
        let granted = self.limits.processes?;
        over(Limit::Processes, granted, self.alive().len() as u64)
    }

    /// Measures what is left on the disk, when nothing is alive any more.
    pub(crate) fn last_measurement(&self) -> Option<Breach> {
        let granted = self.limits.disk_mb?;
        over(Limit::Disk, granted, mib(self.files.as_ref()?.left()))
    }

    fn alive(&self) -> Vec<Process> {
        let mut alive = tree::alive();
        alive.retain(|process| Some(process.pid) != self.init);
        alive
    }

    fn breach(&self) -> Option<Breach> {
        let (disk, in_memory) = self.files.as_ref().map_or((0, 0), Files::found);
        let limits = self.limits;
        let alive = match (limits.processes, limits.memory_mb) {
            (None, None) => Vec::new(),
            _ => self.alive(),
        };
        let processes = limits.processes;
        let processes = processes.and_then(|most| over(Limit::Processes, most, alive.len() as u64));
        let memory = |granted| {
            let resident: u64 = alive.iter().map(|process| process.resident).sum();
            // What is resident counts what several share several times, and files that the kernel
            // can drop; it is never too little.
            over(
                Limit::Memory,
                granted,
                mib(resident.saturating_add(in_memory)),
            )?;
            let own = as_user(self.user, || own_memory(&alive, in_memory));
            over(Limit::Memory, granted, mib(own))
        };
        processes
            .or_else(|| limits.memory_mb.and_then(memory))
            .or_else(|| over(Limit::Disk, limits.disk_mb?, mib(disk)))
    }
}

fn over(limit: Limit, granted: u64, measured: u64) -> Option<Breach> {
    (measured > granted).then_some(Breach {
        limit,
        granted,
        measured,
    })
}

/// Rounded up.
fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(MIB)
}

/// Bytes that would be free without these processes. Files in memory are counted where they lie
/// or where they are mapped, whichever is more.
fn own_memory(processes: &[Process], in_memory: u64) -> u64 {
    let (mut own, mut shared) = (0_u64, 0_u64);
    for process in processes {
        let path = format!("/proc/{}/smaps_rollup", process.pid);
        match fs::read_to_string(path).ok().as_deref().and_then(rollup) {
            Some((anonymous, of_shared)) => {
                own = own.saturating_add(anonymous);
                shared = shared.saturating_add(of_shared);
            }
            // It is gone, or has shut itself off: then all that it has mapped is its own.
            None if tree::is_alive(process.pid) => own = own.saturating_add(process.resident),
            None => {}
        }
    }
    own.saturating_add(shared.max(in_memory))
}

/// Bytes of its own, swapped ones included, and its share of memory that has a name.
fn rollup(text: &str) -> Option<(u64, u64)> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1_024)
    };
    let own = bytes("Pss_Anon:")?.saturating_add(bytes("SwapPss:").unwrap_or(0));
    Some((own, bytes("Pss_Shmem:").unwrap_or(0)))
}

/// Calls `read` as the user that owns the processes, as far as files go: the kernel shows memory
/// and descriptors to their owner, and to a root that may trace, which a task's root may not.
/// The ids that decide who may signal or trace *this* process stay as they are.
pub(crate) fn as_user<T>(user: Option<(u32, u32)>, read: impl FnOnce() -> T) -> T {
    let Some((uid, gid)) = user else {
        return read();
    };
    let gid = setfsgid(Gid::from_raw(gid));
    let uid = setfsuid(Uid::from_raw(uid));
    let seen = read();
    setfsuid(uid);
    setfsgid(gid);
    seen
}

/// Threads of a user.
pub(crate) fn threads_of(uid: u32) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter(|process| process.metadata().is_ok_and(|meta| meta.uid() == uid))
        .filter_map(|process| fs::read_dir(process.path().join("task")).ok())
        .map(|threads| threads.count() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_can_drop_is_nobodys_memory() {
        let text = "55-7ff [rollup]\nRss:  900 kB\nPss:  700 kB\nPss_Anon:     300 kB\n\
                    Pss_File:  390 kB\nPss_Shmem:   10 kB\nSwap:  8 kB\nSwapPss:   4 kB\n";
        assert_eq!(rollup(text), Some((304 * 1_024, 10 * 1_024)));
        assert_eq!(rollup("Rss: 1 kB\n"), None);
    }
}
