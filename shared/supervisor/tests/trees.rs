//! Whatever a command does to get away, nothing of it is alive when the supervisor has reported.
//!
//! Every test marks its processes by a variable of its own in their environment and looks for
//! that mark in all of `/proc`.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use awo_supervisor::{Ended, Report};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Longest wait for anything in these tests; nothing here takes a second on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);
const MARK: &str = "AWO_TEST_MARK";

struct Supervised {
    mark: String,
    child: Child,
    report: std::io::PipeReader,
}

impl Supervised {
    fn start(script: &str, extra: &[&str]) -> Supervised {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{MARK}=m{}-{number}-", std::process::id());
        let (report, writer) = std::io::pipe().unwrap();
        // The child gets the write end under its present number; other tests' children may
        // inherit it too, which is why `finish` reads a line and not up to the end.
        fcntl(&writer, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_supervise-command"))
            .args(["--report-fd", &writer.as_raw_fd().to_string()])
            .args(extra)
            .args(["--", "sh", "-c", script])
            .env(MARK, mark.split_once('=').unwrap().1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Supervised {
            mark,
            child,
            report,
        }
    }

    fn wish(&mut self, wish: &str) {
        let mut stdin = self.child.stdin.as_ref().unwrap();
        stdin.write_all(wish.as_bytes()).unwrap();
    }

    /// Waits until the script has written `ready`.
    fn ready(&mut self) {
        let mut line = [0; 6];
        let stdout = self.child.stdout.as_mut().unwrap();
        stdout.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
    }

    /// Waits for the end; returns the report and the survivors by their marks.
    fn finish(mut self) -> (Report, Vec<String>) {
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

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The command lines of living processes that carry the mark.
fn marked(mark: &str) -> Vec<String> {
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

fn exited(code: i32) -> Report {
    Report {
        end: Ended::Exited { code },
        forced: false,
        survivors: 0,
    }
}

fn signaled(signal: i32) -> Report {
    Report {
        end: Ended::Signaled { signal },
        forced: false,
        survivors: 0,
    }
}

/// Something had to be killed.
fn forced(report: Report) -> Report {
    Report {
        forced: true,
        ..report
    }
}

const TERM: i32 = 15;
const KILL: i32 = 9;
const INT: i32 = 2;

#[test]
fn the_end_of_the_command_is_reported_as_it_was() {
    assert_eq!(Supervised::start("exit 7", &[]).finish().0, exited(7));
    let by_signal = Supervised::start("kill -TERM $$", &[]).finish().0;
    assert_eq!(by_signal, signaled(TERM));
    let missing = Supervised::start("exec /no/such/program", &[]).finish().0;
    assert_eq!(missing, exited(127));
}

#[test]
fn a_command_that_cannot_start_is_reported_with_the_reason() {
    let output = Command::new(env!("CARGO_BIN_EXE_supervise-command"))
        .args(["--", "/no/such/program"])
        .stdin(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No such file"));
}

#[test]
fn a_grandchild_in_its_own_session_does_not_outlive_the_command() {
    let script = "setsid sh -c 'sleep 300; :' & exit 3";
    assert_eq!(
        Supervised::start(script, &[]).finish(),
        (forced(exited(3)), Vec::new())
    );
}

#[test]
fn a_daemon_that_forked_twice_does_not_outlive_the_command() {
    let script = "(setsid sh -c '(trap \"\" TERM HUP INT; sleep 300 & wait) &' &) ; exit 0";
    assert_eq!(
        Supervised::start(script, &[]).finish(),
        (forced(exited(0)), Vec::new())
    );
}

#[test]
fn a_chain_of_successors_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link.sh");
    fs::write(&link, "setsid sh \"$0\" & exit 0\n").unwrap();
    let script = format!("setsid sh '{}' & exit 0", link.display());
    for _ in 0..5 {
        assert_eq!(
            Supervised::start(&script, &[]).finish(),
            (forced(exited(0)), Vec::new())
        );
    }
}

#[test]
fn a_fan_out_is_caught_while_it_grows() {
    let script = "i=0; while [ $i -lt 50 ]; do setsid sh -c 'trap \"\" TERM; sleep 300 & wait' & \
                  i=$((i+1)); done; exit 0";
    assert_eq!(
        Supervised::start(script, &[]).finish(),
        (forced(exited(0)), Vec::new())
    );
}

#[test]
fn term_reaches_the_whole_tree_and_a_polite_tree_ends_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let seen = dir.path().join("seen");
    let script = format!(
        "setsid sh -c 'trap \"echo seen > {}; exit 0\" TERM; echo ready; while :; do sleep 0.01; done' & \
         trap 'wait; exit 5' TERM; wait; exit 6",
        seen.display()
    );
    let mut supervised = Supervised::start(&script, &["--term-grace-ms", "20000"]);
    supervised.ready();
    supervised.wish("term\n");
    assert_eq!(supervised.finish(), (exited(5), Vec::new()));
    assert_eq!(fs::read_to_string(seen).unwrap(), "seen\n");
}

#[test]
fn a_tree_that_ignores_term_is_killed_after_the_grace() {
    let script = "trap '' TERM INT; setsid sh -c 'sleep 300; :' & echo ready; \
                  while :; do sleep 1; done";
    let mut supervised = Supervised::start(script, &["--term-grace-ms", "150"]);
    supervised.ready();
    let start = Instant::now();
    supervised.wish("term\n");
    assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
    assert!(start.elapsed() >= Duration::from_millis(150));
}

#[test]
fn int_interrupts_the_command_alone_and_what_it_leaves_is_killed() {
    let script = "setsid sh -c 'echo ready; sleep 300; :' & while :; do sleep 0.01; done";
    let mut supervised = Supervised::start(script, &[]);
    supervised.ready();
    supervised.wish("int\n");
    assert_eq!(supervised.finish(), (forced(signaled(INT)), Vec::new()));
}

#[test]
fn kill_needs_no_grace() {
    let script = "trap '' TERM; setsid sh -c 'sleep 300; :' & echo ready; wait; sleep 300";
    let mut supervised = Supervised::start(script, &["--term-grace-ms", "600000"]);
    supervised.ready();
    supervised.wish("kill\n");
    assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
}

#[test]
fn a_tree_that_was_asked_to_end_may_take_longer_than_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said");
    let script = format!(
        "setsid sh -c 'trap \"sleep 0.3; echo goodbye > {}; exit 0\" TERM; echo ready; \
         while :; do sleep 0.01; done' & wait",
        said.display()
    );
    let mut supervised = Supervised::start(&script, &[]);
    supervised.ready();
    supervised.wish("term 20000\n");
    assert_eq!(supervised.finish(), (signaled(TERM), Vec::new()));
    assert_eq!(fs::read_to_string(said).unwrap(), "goodbye\n");
}

#[test]
fn an_orphan_of_a_tree_that_was_asked_to_end_is_asked_too() {
    // A child that is forked in answer to the request, and left behind.
    let script = "setsid sh -c 'trap \"setsid sleep 300 & exit 0\" TERM; echo ready; \
                  while :; do sleep 0.01; done' & wait";
    let mut supervised = Supervised::start(script, &[]);
    supervised.ready();
    supervised.wish("term 20000\n");
    assert_eq!(supervised.finish(), (signaled(TERM), Vec::new()));
}

#[test]
fn a_second_wish_takes_time_away_and_never_gives_any() {
    let script = "trap '' TERM INT; echo ready; while :; do sleep 0.01; done";
    for wishes in [
        &["term 150\n", "term 600000\n", "int 600000\n"][..],
        &["int 600000\n", "term 600000\n", "term 150\n"],
        &["int 600000\nterm 600000\nterm 150\n"],
    ] {
        let mut supervised = Supervised::start(script, &[]);
        supervised.ready();
        let start = Instant::now();
        for wish in wishes {
            supervised.wish(wish);
        }
        assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
        assert!(start.elapsed() >= Duration::from_millis(150));
    }
}

#[test]
fn a_stopped_command_hears_int_all_the_same() {
    let script = "trap 'exit 4' INT; echo ready; kill -STOP $$; while :; do sleep 0.01; done";
    let mut supervised = Supervised::start(script, &[]);
    supervised.ready();
    supervised.wish("int 20000\n");
    assert_eq!(supervised.finish(), (exited(4), Vec::new()));
}

#[test]
fn stop_is_for_the_command_alone_and_sets_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let seen = dir.path().join("seen");
    let script = format!(
        "setsid sh -c 'trap \"echo seen > {}; exit 0\" TERM; echo ready; \
         while :; do sleep 0.01; done' & trap 'sleep 0.3; exit 5' TERM; \
         while :; do sleep 0.01; done",
        seen.display()
    );
    let mut supervised = Supervised::start(&script, &["--term-grace-ms", "1"]);
    supervised.ready();
    supervised.wish("stop\n");
    assert_eq!(supervised.finish(), (forced(exited(5)), Vec::new()));
    assert!(!seen.exists());
}

#[test]
fn a_signal_to_the_supervisor_means_term() {
    let mut supervised = Supervised::start("echo ready; sleep 300", &["--term-grace-ms", "20000"]);
    supervised.ready();
    kill(supervised.child.id(), "TERM");
    assert_eq!(supervised.finish(), (signaled(TERM), Vec::new()));
}

#[test]
fn everything_dies_with_the_one_who_started_the_supervisor() {
    let script = "trap '' TERM HUP; setsid sh -c 'sleep 300; :' & echo ready; wait; sleep 300";
    let mut supervised = Supervised::start(script, &["--term-grace-ms", "600000"]);
    supervised.ready();
    drop(supervised.child.stdin.take());
    assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
}

#[test]
fn when_the_supervisor_is_killed_the_next_subreaper_finishes_the_job() {
    // Stands in for the runner: the outer supervisor is the subreaper above the inner one. The
    // inner one's command dies by the parent-death signal, its orphans by the outer one.
    let inner = env!("CARGO_BIN_EXE_supervise-command");
    let script =
        format!("sleep 300 | '{inner}' -- sh -c 'setsid sleep 300 & echo ready; sleep 300; :'");
    let mut supervised = Supervised::start(&script, &[]);
    supervised.ready();
    assert!(marked(&supervised.mark).len() >= 4);
    let inner_pid = inner_supervisor(supervised.child.id());
    kill(inner_pid, "KILL");
    until("the inner command dies with its supervisor", || {
        marked(&supervised.mark)
            .iter()
            .all(|line| !line.starts_with("sh -c setsid"))
    });
    supervised.wish("kill\n");
    let (report, left) = supervised.finish();
    assert_eq!((report.survivors, left), (0, Vec::new()));
}

/// The supervisor that descends from the supervisor `outer`.
fn inner_supervisor(outer: u32) -> u32 {
    let is_ours = |pid: u32| {
        let mut at = pid;
        while at > 1 {
            let stat = fs::read_to_string(format!("/proc/{at}/stat")).unwrap_or_default();
            let after = stat.rsplit(')').next().unwrap_or_default().to_owned();
            at = after
                .split_ascii_whitespace()
                .nth(1)
                .and_then(|p| p.parse().ok())
                .unwrap_or(0);
            if at == outer {
                return true;
            }
        }
        false
    };
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.starts_with(env!("CARGO_BIN_EXE_supervise-command").as_bytes()) && is_ours(*pid)
        })
        .unwrap()
}

fn kill(pid: u32, signal: &str) {
    let script = format!("kill -{signal} {pid}");
    let status = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert!(status.success());
}

#[test]
fn the_command_gains_no_rights_and_inherits_no_descriptor() {
    let script = "grep -q 'NoNewPrivs:.*1' /proc/self/status || exit 1; \
                  for fd in /proc/self/fd/*; do case ${fd##*/} in 0|1|2) ;; \
                  *) [ ! -e \"$fd\" ] || [ \"$(readlink \"$fd\")\" = \"\" ] || exit 2 ;; esac; done; \
                  read line && exit 3; exit 0";
    assert_eq!(Supervised::start(script, &[]).finish().0, exited(0));
}

#[test]
fn root_gives_up_its_user_for_the_command() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let script = "[ \"$(id -u):$(id -g):$(id -G)\" = 65534:65533:65533 ]";
    let supervised = Supervised::start(script, &["--uid", "65534", "--gid", "65533"]);
    assert_eq!(supervised.finish().0, exited(0));
}
