//! A supervised command, and its remains.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use awo_supervisor::{ProcessEnd, Report};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Longest wait for anything in these tests; nothing here takes a second on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);
const MARK: &str = "AWO_TEST_MARK";

pub struct SupervisedTree {
    pub mark: String,
    pub child: Child,
    report: std::io::PipeReader,
}

impl SupervisedTree {
    pub fn start(script: &str, extra: &[&str]) -> SupervisedTree {
        SupervisedTree::start_with("", script, extra)
    }

    /// As [`SupervisedTree::start`], by a shell that has done something before.
    pub fn start_with(before: &str, script: &str, extra: &[&str]) -> SupervisedTree {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{MARK}=m{}-{number}-", std::process::id());
        let (report, writer) = std::io::pipe().unwrap();
        // The child gets the write end under its present number; other tests' children may
        // inherit it too, which is why `finish` reads a line and not up to the end.
        fcntl(&writer, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        let child = Command::new("sh")
            .args(["-c", &format!("{before}\nexec \"$0\" \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_supervise-command"))
            .args(["--report-fd", &writer.as_raw_fd().to_string()])
            .args(crate::EXTRA)
            .args(extra)
            .args(["--", "sh", "-c", script])
            .env(MARK, mark.split_once('=').unwrap().1)
            // The folder of the tests may lie in one that a command has for itself.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        SupervisedTree {
            mark,
            child,
            report,
        }
    }

    pub fn stop_request(&mut self, stop_request: &str) {
        let mut stdin = self.child.stdin.as_ref().unwrap();
        stdin.write_all(stop_request.as_bytes()).unwrap();
    }

    /// Waits until the script has written `ready`.
    pub fn ready(&mut self) {
        let mut line = [0; 6];
        let stdout = self.child.stdout.as_mut().unwrap();
        stdout.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
    }

    /// Waits for the end; returns the report and the survivors by their marks.
    pub fn finish(mut self) -> (Report, Vec<String>) {
        let status = wait(&mut self.child);
        let left = marked(&self.mark);
        let mut line = Vec::new();
        let mut byte = [0];
        while line.last() != Some(&b'\n') && self.report.read(&mut byte).unwrap() == 1 {
            line.push(byte[0]);
        }
        let report: Report = serde_json::from_slice(&line).unwrap();
        assert_eq!(status.code(), Some(i32::from(report.exit_code())));
        (report, left)
    }
}

fn wait(child: &mut Child) -> std::process::ExitStatus {
    let mut status = None;
    until("the supervisor ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The command lines of living processes that carry the mark.
pub fn marked(mark: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            fs::read(entry.path().join("environ"))
                .is_ok_and(|env| String::from_utf8_lossy(&env).contains(mark))
        })
        .map(|entry| {
            let cmdline = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&cmdline).replace('\0', " ")
        })
        .collect()
}

pub fn exited(code: i32) -> Report {
    Report {
        end: ProcessEnd::Exited { code },
        forced: false,
        survivors: 0,
        breach: None,
    }
}

pub fn signaled(signal: i32) -> Report {
    Report {
        end: ProcessEnd::Signaled { signal },
        forced: false,
        survivors: 0,
        breach: None,
    }
}

/// Something had to be killed.
pub fn forced(report: Report) -> Report {
    Report {
        forced: true,
        ..report
    }
}

pub const TERM: i32 = 15;
pub const KILL: i32 = 9;
pub const INT: i32 = 2;

pub fn kill(pid: u32, signal: &str) {
    let script = format!("kill -{signal} {pid}");
    let status = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(status.success());
}
