//! The processes of this machine, found by their marks: an argument, a variable of their
//! environment or their working directory. Every process of a run has the run's id. A process that
//! has ended and was not reaped yet has no mark.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Most ancestors of a process that are looked at.
const MAX_DEPTH: usize = 32;
/// How long a process may take to be there.
const PATIENCE: Duration = Duration::from_secs(20);

/// A living process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its arguments, apart by spaces.
    pub command: String,
}

/// Finds the processes that bear a mark.
#[derive(Debug)]
pub struct Watch {
    mark: Vec<u8>,
    others: HashSet<i32>,
}

impl Watch {
    /// A watch for a mark.
    #[must_use]
    pub fn of(mark: &str) -> Watch {
        Watch {
            mark: mark.as_bytes().to_vec(),
            others: HashSet::new(),
        }
    }

    /// Ignores, from now on, the processes that do not bear the mark now. Only good for a short
    /// time, in which none of them comes to bear it and no id is given away again.
    pub fn pass_over_others(&mut self) {
        self.others = pids().filter(|pid| !self.bears(*pid)).collect();
    }

    /// The living processes that bear the mark, but for this one.
    #[must_use]
    pub fn alive(&self) -> Vec<Process> {
        let this = i32::try_from(std::process::id()).unwrap_or(0);
        pids()
            .filter(|pid| *pid != this && !self.others.contains(pid) && self.bears(*pid))
            .map(|pid| Process {
                pid,
                command: command(pid),
            })
            .collect()
    }

    /// Waits until none is alive; panics with those that are at the deadline.
    pub async fn until_none(&self, limit: Duration) {
        let began = Instant::now();
        loop {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            assert!(began.elapsed() < limit, "alive after {limit:?}: {alive:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn bears(&self, pid: i32) -> bool {
        let process = Path::new("/proc").join(pid.to_string());
        let has = |bytes: &[u8]| bytes.windows(self.mark.len()).any(|part| part == self.mark);
        let file = |name| std::fs::read(process.join(name)).unwrap_or_default();
        has(&file("environ"))
            || has(&file("cmdline"))
            || std::fs::read_link(process.join("cwd"))
                .is_ok_and(|cwd| has(cwd.as_os_str().as_encoded_bytes()))
    }
}

/// Sends a signal, such as `-9`.
///
/// # Panics
/// When the process is gone.
pub fn signal(process: i32, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(sent.expect("kill runs").success(), "{process} is gone");
}

/// The runner of a run, by a process of its agent, and the runner's own supervisor; waits until there is one.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn runner_and_supervisor(run: &str) -> (i32, i32) {
    // The supervisor's arguments end with the runner's. A child that the runner has just forked has
    // the runner's arguments too, but another parent.
    let is_supervisor = |pid: i32| command(pid).contains(" supervise ");
    let is_runner = |pid: i32| command(pid).ends_with("/runner") && !is_supervisor(pid);
    // An iteration is reported before its first process is there.
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        for process in Watch::of(run).alive() {
            let ancestry: Vec<_> = std::iter::successors(Some(process.pid), |pid| parent(*pid))
                .take(MAX_DEPTH)
                .collect();
            let pairs = ancestry.windows(2).map(|pair| (pair[0], pair[1]));
            let mut pairs =
                pairs.filter(|(child, parent)| is_runner(*child) && is_supervisor(*parent));
            if let Some(pair) = pairs.next() {
                return pair;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no runner of {run} was found");
}

fn pids() -> impl Iterator<Item = i32> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes.filter_map(|process| process.file_name().to_str()?.parse().ok())
}

fn command(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = bytes
        .split(|byte| *byte == 0)
        .map(String::from_utf8_lossy)
        .collect();
    words.join(" ").trim_end().to_owned()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent: i32 = stat
        .rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()?;
    (parent > 1).then_some(parent)
}
