//! The processes below this one, and their end.
//!
//! A subreaper has children while anything below it is alive, so "no child is left" is the proof,
//! and reading `/proc` is only the means. Two scans alternate: of direct children, which is fast
//! enough to hit a process that constantly replaces itself, and of the whole tree, which keeps a
//! busy tree from growing while its top is being killed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, SysconfVar, sysconf};

use crate::namespaces::Init;

/// Pause between two polls of a tree whose processes were all sent SIGKILL.
const PAUSE: Duration = Duration::from_micros(300);
/// Quick polls between two polls of the whole tree.
const QUICK_POLLS: usize = 16;
/// Longest time in which the processes of a namespace are ended before its first one, which learns thereby what
/// ended them.
const ONE_BY_ONE: Duration = Duration::from_millis(200);

/// What killing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KillOutcome {
    /// True if a process died of SIGKILL meanwhile; false if all had ended before, or were about
    /// to for another reason.
    pub forced: bool,
    /// How many were left when the limit was over.
    pub survivors: usize,
}

/// Pause between two polls for orphans in a tree that was asked to end.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// A child that was waited for, and how it ended.
pub type ReapedChild = (Pid, WaitStatus);

/// Kills everything below this process and waits until it is gone, at most until `limit`.
///
/// The process must be a subreaper, and nothing else in it may be waiting for a child: every
/// child is waited for here, and shown to `reaped`.
pub fn kill_descendants(limit: Duration, mut reaped: impl FnMut(ReapedChild)) -> KillOutcome {
    kill_all(limit, None, &mut reaped)
}

/// The same of a tree in a namespace, whose first process does not count.
pub(crate) fn kill_all(
    limit: Duration,
    init: Option<&Init>,
    reaped: &mut impl FnMut(ReapedChild),
) -> KillOutcome {
    let Some(init) = init else {
        return kill_children(limit, reaped);
    };
    let mut by_kill = false;
    let mut reaped = |child: ReapedChild| {
        let is_killed = matches!(child.1, WaitStatus::Signaled(_, Signal::SIGKILL, _));
        by_kill |= is_killed && child.0 != init.pid;
        reaped(child);
    };
    init.forget_kills();
    // Whatever has ended by now ended without us.
    reap(&mut |child| reaped((child.0, child.1)));
    let deadline = Instant::now() + ONE_BY_ONE;
    let in_time = loop {
        let left = descendants_but(init.pid);
        // One that has ended and is not waited for yet is none that is left.
        if left.is_empty() && children_of(init.pid).is_empty() {
            break true;
        }
        if Instant::now() > deadline {
            break false;
        }
        left.into_iter().for_each(end);
        std::thread::sleep(PAUSE);
        reap(&mut reaped);
    };
    let saw_kill = init.saw_kill();
    // All that is in the namespace ends with it.
    end(init.pid);
    let rest = kill_children(limit, &mut reaped);
    KillOutcome {
        forced: by_kill || saw_kill || !in_time,
        survivors: rest.survivors,
    }
}

fn kill_children(limit: Duration, mut reaped: &mut impl FnMut(ReapedChild)) -> KillOutcome {
    let deadline = Instant::now() + limit;
    let mut killed = KillOutcome::default();
    // Whatever has ended by now ended without us.
    if !reap(&mut reaped) {
        return killed;
    }
    // An orphan comes to us, so whatever dies of our signal is seen here, or its parent is.
    let mut reaped = |child: ReapedChild| {
        killed.forced |= matches!(child.1, WaitStatus::Signaled(_, Signal::SIGKILL, _));
        reaped(child);
    };
    let survivors = loop {
        for _ in 0..QUICK_POLLS {
            for child in children() {
                end(child);
            }
            if !reap(&mut reaped) {
                return killed;
            }
        }
        let all = descendants();
        for process in &all {
            // Stopped first, so that none forks while the others are being killed.
            send(*process, Signal::SIGSTOP);
        }
        for process in &all {
            end(*process);
        }
        if Instant::now() > deadline {
            break if reap(&mut reaped) {
                descendants().len()
            } else {
                0
            };
        }
        std::thread::sleep(PAUSE);
    };
    KillOutcome {
        survivors,
        ..killed
    }
}

/// Waits for every child that has ended; false if there are no children at all.
pub(crate) fn reap(reaped: &mut impl FnMut(ReapedChild)) -> bool {
    loop {
        // `__WALL` also sees children that were cloned without SIGCHLD.
        match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
            Ok(WaitStatus::StillAlive) => return true,
            Ok(status) => {
                if let Some(pid) = status.pid() {
                    reaped((pid, status));
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return false,
        }
    }
}

/// A tree that is asked to end: SIGTERM once to everything in it.
///
/// A process that one of them forks later is left to it: it may be how it puts things in order.
/// But one that comes to us because its parent is gone has nobody who sees to its end, and was
/// perhaps forked between the reading of the tree and the signal. It is asked at the second reading, the
/// fourth, the eighth and so on: between fork and exec a signal is lost on a handler that it has
/// from its parent.
#[derive(Debug, Default)]
pub(crate) struct Termination {
    asked: HashSet<Pid>,
    /// With the polls that saw them.
    orphans: HashMap<Pid, u32>,
    polled_at: Option<Instant>,
}

impl Termination {
    pub(crate) fn all(&mut self) {
        for process in descendants() {
            ask(process);
            self.asked.insert(process);
        }
    }

    pub(crate) fn orphans(&mut self, init: Option<Pid>) {
        let now = Instant::now();
        if self.polled_at.is_some_and(|at| now < at + POLL) {
            return;
        }
        self.polled_at = Some(now);
        let adopted = init.map(children_of).unwrap_or_default();
        for child in children().into_iter().chain(adopted) {
            if self.asked.contains(&child) {
                continue;
            }
            let polls = self.orphans.entry(child).or_default();
            *polls += 1;
            if *polls > 1 && polls.is_power_of_two() {
                ask(child);
            }
        }
    }
}

/// SIGTERM, which is heard also by one that was stopped.
pub(crate) fn ask(process: Pid) {
    send(process, Signal::SIGTERM);
    // A stopped process takes a signal only when it goes on.
    send(process, Signal::SIGCONT);
}

fn end(process: Pid) {
    send(process, Signal::SIGKILL);
}

/// A process that is gone already is what we want; one that we may not signal cannot be below
/// us, since `no_new_privs` keeps the command from gaining other rights.
fn send(process: Pid, signal: Signal) {
    let _ = kill(process, signal);
}

/// The own children, alive or not, of every thread.
fn children() -> Vec<Pid> {
    children_in("/proc/self/task")
}

fn children_of(process: Pid) -> Vec<Pid> {
    children_in(&format!("/proc/{process}/task"))
}

fn children_in(threads: &str) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(threads) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|pids| {
            pids.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok().map(Pid::from_raw))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// A process below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// Bytes of memory that it has mapped and that are there.
    pub(crate) resident: u64,
}

/// A line of `/proc/<pid>/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    /// A zombie, or nearly.
    ended: bool,
    resident_pages: u64,
}

/// Everything below this process that has not ended yet.
fn descendants() -> Vec<Pid> {
    match all_below() {
        Some(found) => found.iter().map(|process| process.pid).collect(),
        None => children(),
    }
}

/// The same without the first process of a namespace.
pub(crate) fn descendants_but(init: Pid) -> Vec<Pid> {
    let all = descendants().into_iter();
    all.filter(|process| *process != init).collect()
}

/// The same with what it takes; nothing where `/proc` cannot be read.
pub(crate) fn alive() -> Vec<Process> {
    all_below().unwrap_or_default()
}

/// True if a process has not ended.
pub(crate) fn is_alive(pid: Pid) -> bool {
    stat(&pid.to_string()).is_some_and(|stat| !stat.ended)
}

fn all_below() -> Option<Vec<Process>> {
    let mut by_parent: HashMap<i32, Vec<(i32, Stat)>> = HashMap::new();
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let name = process.file_name();
        let Some((name, pid)) = name.to_str().and_then(|n| Some((n, n.parse().ok()?))) else {
            continue;
        };
        if let Some(stat) = stat(name) {
            by_parent.entry(stat.parent).or_default().push((pid, stat));
        }
    }
    let mut found = Vec::new();
    let mut open = vec![std::process::id().cast_signed()];
    let page_bytes = page_bytes();
    while let Some(parent) = open.pop() {
        for (pid, stat) in by_parent.remove(&parent).unwrap_or_default() {
            open.push(pid);
            if !stat.ended {
                found.push(Process {
                    pid: Pid::from_raw(pid),
                    resident: stat.resident_pages.saturating_mul(page_bytes),
                });
            }
        }
    }
    Some(found)
}

fn page_bytes() -> u64 {
    const USUAL: u64 = 4_096;
    let found = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    found
        .and_then(|bytes| bytes.try_into().ok())
        .unwrap_or(USUAL)
}

fn stat(pid: &str) -> Option<Stat> {
    read_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in parentheses may hold anything, parentheses and line breaks included, so the line is
/// read from the last one.
fn read_stat(line: &str) -> Option<Stat> {
    /// Fields between the parent and the resident pages.
    const BETWEEN: usize = 19;
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let resident_pages = fields.nth(BETWEEN).and_then(|pages| pages.parse().ok());
    Some(Stat {
        parent,
        ended,
        resident_pages: resident_pages.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_process_name_does_not_hide_its_parent() {
        let read = |line| read_stat(line).map(|stat| (stat.parent, stat.ended));
        assert_eq!(read("12 (a) R 1 (b\n) S 77 12 0"), Some((77, false)));
        assert_eq!(read("12 (x) Z 5 12 0"), Some((5, true)));
        assert_eq!(read("12 (x"), None);
    }

    #[test]
    fn what_this_very_process_has_in_memory_is_found() {
        let own = stat(&std::process::id().to_string()).unwrap();
        let statm = fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
        // The kernel keeps the two counts a little apart.
        assert!(
            own.resident_pages.abs_diff(pages) < pages / 2 + 512,
            "{own:?} {pages}"
        );
    }
}
