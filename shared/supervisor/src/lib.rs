//! Runs one command and ensures that no process of it is left at its end.
//!
//! The invariant: when a supervisor has reported, or has ended because its owner ended, every
//! process that descends from the command is dead, however it tried to escape: `setsid`, double
//! forks, ignored signals, chains of successors.
//!
//! How: the supervisor is a *subreaper*, so an orphan anywhere below it becomes its child instead
//! of init's. While it has children some process is alive; when `waitpid` reports that there are
//! none, none is. It is a separate process, with one thread and no runtime, because waiting for any
//! child would steal the children of a runtime that waits for its own.
//!
//! The tree's use of the machine is limited, too (`limits`): it is measured, and a tree that
//! exceeds a limit is killed. A seccomp filter (`filter`, `calls`) keeps every command from other processes. What it
//! sees of the file system (`sandbox`) and of the network (`network`) can be restricted, and with `--private` it
//! has namespaces of its own (`namespaces`, `mounts`).
//!
//! A limitation: without namespaces, a command of the *same* user may kill the supervisor itself. Its main
//! child then dies with it (a parent-death signal), and its orphans go to the next subreaper, the runner,
//! which kills them with [`kill_descendants`]. Another user id for the command protects the
//! supervisor, too; that is the purpose of `--uid` and `--gid`.

mod accounts;
mod calls;
mod files;
mod filter;
mod hardening;
mod layers;
mod limits;
mod measure;
mod mounts;
mod namespaces;
mod network;
mod objects;
mod order;
mod sandbox;
mod start;
mod supervise;
mod tool_homes;
mod tree;
mod uids;

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use hardening::{become_subreaper, forget_variable, hide_memory};
pub use layers::{CommandUsers, LayerReport, Layers, closed_folders};
pub use limits::{Breach, Limit, Limits};
pub use namespaces::{NoNamespaces, try_namespaces};
pub use network::check as check_loopback_only;
pub use order::{Order, USAGE};
pub use sandbox::Sandbox;
pub use tool_homes::tool_homes;
pub use tree::{KillOutcome, ReapedChild, kill_descendants};
pub use uids::{NotARange, UidRange};

/// How long the kill loop goes on before it reports survivors: only a process stuck in the
/// kernel lives that long.
pub const KILL_LIMIT: Duration = Duration::from_secs(10);

/// How the main child ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "ended",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ProcessEnd {
    /// By itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// By a signal.
    Signaled {
        /// The signal's number.
        signal: i32,
    },
    /// It never ran.
    NotStarted {
        /// Why it could not be started.
        reason: String,
    },
}

/// What the supervisor reports, as one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How the main child ended.
    #[serde(flatten)]
    pub end: ProcessEnd,
    /// True if something was alive that only SIGKILL from here ended.
    pub forced: bool,
    /// Processes that were still alive when [`KILL_LIMIT`] was over; 0 unless the kernel is stuck.
    pub survivors: usize,
    /// The limit that the tree broke, if it was killed for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breach: Option<Breach>,
}

impl Report {
    /// The exit code that a shell would show.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.end {
            ProcessEnd::Exited { code } => u8::try_from(code).unwrap_or(u8::MAX),
            ProcessEnd::Signaled { signal } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            ProcessEnd::NotStarted { .. } => 127,
        }
    }
}

/// The whole program: reads `args` (without the program's name), supervises, reports.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args.peekable();
    if args
        .next_if(|argument| argument == layers::ARGUMENT)
        .is_some()
    {
        return match serde_json::to_string(&Layers::tried()) {
            Ok(layers) => {
                println!("{layers}");
                ExitCode::SUCCESS
            }
            Err(_) => ExitCode::FAILURE,
        };
    }
    let order = match Order::parse(args) {
        Ok(order) => order,
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // Taken before anything is opened, so that the number can only mean the inherited pipe.
    let report_to = order.report_fd.map(|fd| {
        // SAFETY: the caller passed this descriptor for our use alone, and nothing in this
        // process has opened or closed it before.
        std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) })
    });
    let report = supervise::supervise(&order);
    if let ProcessEnd::NotStarted { reason } = &report.end {
        eprintln!("cannot start {}: {reason}", order.argv[0].to_string_lossy());
    }
    if let (Some(mut pipe), Ok(mut line)) = (report_to, serde_json::to_vec(&report)) {
        line.push(b'\n');
        // A reader that is gone is no reason to fail: then nobody asks.
        let _ = pipe.write_all(&line);
    }
    ExitCode::from(report.exit_code())
}
