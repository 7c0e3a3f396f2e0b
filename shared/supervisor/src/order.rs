//! A supervisor's instructions, and their form as a command line: each converts to the other.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::time::Duration;

use crate::{Limits, Sandbox};

/// The command line.
pub const USAGE: &str = "usage: supervise [--uid N --gid N] [--term-grace-ms N] [--report-fd N] \
[--max-memory-mb N] [--max-disk-mb N] [--max-processes N] [--place FOLDER…] \
[--read PATH…] [--write PATH…] [--hide FOLDER…] [--loopback-only] [--private] [--alone] [--trusted] -- command [argument…]
       supervise --layers

Runs the command in its own session and kills everything that is left of it when it is over.
A tree that takes more than a limit is killed; each --place is a folder whose contents count.
With --read or --write the command sees nothing else of the file system, where the kernel has Landlock;
a folder that is hidden is not granted with those above it.
With --loopback-only the command reaches no other network, or is not started.
With --private the command has namespaces of its own for mounts, processes, System V objects and the host's name,
with its own /tmp, /var/tmp, /dev/shm, /dev/pts and /proc, or is not started; what it may not write is read-only.
With --alone no other run is on this host: the command may trace processes and use System V objects,
which are removed at its end.
With --trusted the command is no client's code and has no seccomp filter, so that it can put one on what it
starts.
--layers prints the layers of confinement that this host has for this user, as JSON.
Standard input takes lines; its end means `kill`:
  int [ms]   SIGINT to the command's process group, kill after so many milliseconds
  term [ms]  SIGTERM to the whole tree, kill what is left of it after so many milliseconds
  stop       SIGTERM to the command alone, which sees to its own tree
  kill       SIGKILL to the whole tree";

/// How long a tree that was asked to stop may take, unless `--term-grace-ms` says otherwise.
const DEFAULT_GRACE_MS: u64 = 5_000;
/// Longest grace that can be asked for.
pub(crate) const MAX_GRACE_MS: u64 = 600_000;
/// The first descriptor that is not a standard stream.
const FIRST_FREE_FD: RawFd = 3;
const NO_PLACE: &str = "--place needs a folder";
const NO_PATH: &str = "--read, --write and --hide need a path";

/// A command to supervise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// User and group that the command runs as; the supervisor's own where absent. It counts
    /// only if the supervisor is root: nobody else can change.
    pub user: Option<(u32, u32)>,
    /// From a request to stop that names no time of its own until the tree is killed.
    pub term_grace: Duration,
    /// An inherited descriptor that takes the report.
    pub report_fd: Option<RawFd>,
    /// What the whole tree may take.
    pub limits: Limits,
    /// What it sees of the file system; everything where absent.
    pub sandbox: Option<Sandbox>,
    /// True if it reaches no network but loopback.
    pub loopback_only: bool,
    /// True if it has namespaces of its own.
    pub is_private: bool,
    /// True if this host has no process of another run, as a task of the cloud.
    pub is_alone: bool,
    /// True if the command is no client's code, and puts filters on what it starts itself.
    pub is_trusted: bool,
    /// The command; never empty.
    pub argv: Vec<OsString>,
}

impl Order {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// A sentence that names the argument.
    pub fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Order, String> {
        let mut uid = None;
        let mut gid = None;
        let mut grace_ms = DEFAULT_GRACE_MS;
        let mut report_fd = None;
        let mut limits = Limits::default();
        let mut sandbox = Sandbox::default();
        let mut loopback_only = false;
        let mut is_private = false;
        let mut is_alone = false;
        let mut is_trusted = false;
        loop {
            let flag = args
                .next()
                .ok_or("a command is needed after `--`".to_owned())?;
            match flag.to_str() {
                Some("--") => break,
                Some("--uid") => uid = Some(number(&mut args, "--uid")?),
                Some("--gid") => gid = Some(number(&mut args, "--gid")?),
                Some("--term-grace-ms") => grace_ms = number(&mut args, "--term-grace-ms")?,
                Some("--report-fd") => report_fd = Some(number(&mut args, "--report-fd")?),
                Some(flag @ "--max-memory-mb") => limits.memory_mb = Some(number(&mut args, flag)?),
                Some(flag @ "--max-disk-mb") => limits.disk_mb = Some(number(&mut args, flag)?),
                Some(flag @ "--max-processes") => limits.processes = Some(number(&mut args, flag)?),
                Some("--place") => limits.places.push(args.next().ok_or(NO_PLACE)?.into()),
                Some("--read") => sandbox.reads.push(args.next().ok_or(NO_PATH)?.into()),
                Some("--write") => sandbox.writes.push(args.next().ok_or(NO_PATH)?.into()),
                Some("--hide") => sandbox.hidden.push(args.next().ok_or(NO_PATH)?.into()),
                Some("--loopback-only") => loopback_only = true,
                Some("--private") => is_private = true,
                Some("--alone") => is_alone = true,
                Some("--trusted") => is_trusted = true,
                _ => return Err(format!("unknown argument {}", flag.to_string_lossy())),
            }
        }
        let user = match (uid, gid) {
            (None, None) => None,
            (Some(uid), Some(gid)) => Some((uid, gid)),
            _ => return Err("--uid and --gid go together".to_owned()),
        };
        if grace_ms > MAX_GRACE_MS {
            return Err(format!("--term-grace-ms must not exceed {MAX_GRACE_MS}"));
        }
        if report_fd.is_some_and(|fd| fd < FIRST_FREE_FD) {
            return Err(format!("--report-fd must be {FIRST_FREE_FD} or more"));
        }
        let argv: Vec<OsString> = args.collect();
        if argv.is_empty() {
            return Err("a command is needed after `--`".to_owned());
        }
        Ok(Order {
            user,
            term_grace: Duration::from_millis(grace_ms),
            report_fd,
            limits,
            sandbox: (sandbox != Sandbox::default()).then_some(sandbox),
            loopback_only,
            is_private,
            is_alone,
            is_trusted,
            argv,
        })
    }

    /// The command line that [`Self::parse`] reads back.
    #[must_use]
    pub fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::with_capacity(self.argv.len() + 9);
        let mut push = |flag: &str, value: String| args.extend([flag.into(), value.into()]);
        if let Some((uid, gid)) = self.user {
            push("--uid", uid.to_string());
            push("--gid", gid.to_string());
        }
        push("--term-grace-ms", self.term_grace.as_millis().to_string());
        if let Some(fd) = self.report_fd {
            push("--report-fd", fd.to_string());
        }
        for (flag, limit) in [
            ("--max-memory-mb", self.limits.memory_mb),
            ("--max-disk-mb", self.limits.disk_mb),
            ("--max-processes", self.limits.processes),
        ] {
            if let Some(limit) = limit {
                args.extend([flag.into(), limit.to_string().into()]);
            }
        }
        for place in &self.limits.places {
            args.extend(["--place".into(), place.into()]);
        }
        for (flag, paths) in self.sandbox.iter().flat_map(|sandbox| {
            [
                ("--read", &sandbox.reads),
                ("--write", &sandbox.writes),
                ("--hide", &sandbox.hidden),
            ]
        }) {
            args.extend(paths.iter().flat_map(|path| [flag.into(), path.into()]));
        }
        if self.loopback_only {
            args.push("--loopback-only".into());
        }
        if self.is_private {
            args.push("--private".into());
        }
        if self.is_trusted {
            args.push("--trusted".into());
        }
        if self.is_alone {
            args.push("--alone".into());
        }
        args.push("--".into());
        args.extend(self.argv.iter().cloned());
        args
    }
}

fn number<T: std::str::FromStr>(
    args: &mut impl Iterator<Item = OsString>,
    flag: &str,
) -> Result<T, String> {
    args.next()
        .and_then(|value| value.to_str()?.parse().ok())
        .ok_or_else(|| format!("{flag} needs a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Order, String> {
        Order::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn an_order_reads_back_from_its_command_line() {
        let order = Order {
            user: Some((1_000, 1_001)),
            term_grace: Duration::from_millis(250),
            report_fd: Some(7),
            limits: Limits {
                memory_mb: Some(64),
                disk_mb: None,
                processes: Some(8),
                places: vec!["/a b".into(), "/c".into()],
            },
            sandbox: Some(Sandbox {
                reads: vec!["/usr".into()],
                writes: vec!["/a b".into(), "/c".into()],
                hidden: vec!["/d".into()],
            }),
            loopback_only: true,
            is_private: true,
            is_alone: true,
            is_trusted: true,
            argv: vec!["sh".into(), "-c".into(), "--".into()],
        };
        assert_eq!(Order::parse(order.to_args().into_iter()), Ok(order));
    }

    #[test]
    fn a_command_line_with_a_fault_is_refused_with_a_reason() {
        for (args, word) in [
            (&["--uid", "1", "--", "x"][..], "--gid"),
            (&["--uid", "x", "--gid", "1", "--", "x"], "--uid"),
            (&["--report-fd", "1", "--", "x"], "--report-fd"),
            (&["--max-memory-mb", "x", "--", "x"], "--max-memory-mb"),
            (&["--place"], "--place"),
            (&["--term-grace-ms", "99999999", "--", "x"], "exceed"),
            (&["--"], "command"),
            (&["x"], "unknown"),
            (&[], "command"),
        ] {
            let why = parse(args).unwrap_err();
            assert!(why.contains(word), "{args:?}: {why}");
        }
    }
}
