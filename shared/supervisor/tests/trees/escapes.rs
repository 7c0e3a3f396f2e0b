//! A command's attempts to escape, and its initial environment.

use std::fs;
use std::process::{Command, Stdio};

use crate::scene::{SupervisedTree, TERM, exited, forced, kill, marked, signaled, until};

#[test]
fn the_end_of_the_command_is_reported_as_it_was() {
    assert_eq!(SupervisedTree::start("exit 7", &[]).finish().0, exited(7));
    let by_signal = SupervisedTree::start("kill -TERM $$", &[]).finish().0;
    assert_eq!(by_signal, signaled(TERM));
    let missing = SupervisedTree::start("exec /no/such/program", &[])
        .finish()
        .0;
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
        SupervisedTree::start(script, &[]).finish(),
        (forced(exited(3)), Vec::new())
    );
}

#[test]
fn a_daemon_that_forked_twice_does_not_outlive_the_command() {
    let script = "(setsid sh -c '(trap \"\" TERM HUP INT; sleep 300 & wait) &' &) ; exit 0";
    assert_eq!(
        SupervisedTree::start(script, &[]).finish(),
        (forced(exited(0)), Vec::new())
    );
}

#[test]
fn a_chain_of_successors_is_caught() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let link = dir.path().join("link.sh");
    fs::write(&link, "setsid sh \"$0\" & exit 0\n").unwrap();
    let script = format!("setsid sh '{}' & exit 0", link.display());
    for _ in 0..5 {
        assert_eq!(
            SupervisedTree::start(&script, &[]).finish(),
            (forced(exited(0)), Vec::new())
        );
    }
}

#[test]
fn a_fan_out_is_caught_while_it_grows() {
    let script = "i=0; while [ $i -lt 50 ]; do setsid sh -c 'trap \"\" TERM; sleep 300 & wait' & \
                  i=$((i+1)); done; exit 0";
    assert_eq!(
        SupervisedTree::start(script, &[]).finish(),
        (forced(exited(0)), Vec::new())
    );
}

#[test]
fn when_the_supervisor_is_killed_the_next_subreaper_finishes_the_job() {
    // Stands in for the runner: the outer supervisor is the subreaper above the inner one. The
    // inner one's command dies by the parent-death signal, its orphans by the outer one.
    let inner = env!("CARGO_BIN_EXE_supervise-command");
    let script =
        format!("sleep 300 | '{inner}' -- sh -c 'setsid sleep 300 & echo ready; sleep 300; :'");
    let mut supervised = SupervisedTree::start(&script, &[]);
    supervised.ready();
    assert!(marked(&supervised.mark).len() >= 4);
    let inner_pid = inner_supervisor(&supervised.mark);
    kill(inner_pid, "KILL");
    until("the inner command dies with its supervisor", || {
        marked(&supervised.mark)
            .iter()
            .all(|line| !line.starts_with("sh -c setsid"))
    });
    supervised.stop_request("kill\n");
    let (report, left) = supervised.finish();
    assert_eq!((report.survivors, left), (0, Vec::new()));
}

/// The supervisor whose child is the command of this mark that begins with `setsid`. Its command line alone
/// does not tell: the first process of the outer one's namespace has the same.
fn inner_supervisor(mark: &str) -> u32 {
    let supervisor = env!("CARGO_BIN_EXE_supervise-command").as_bytes();
    let read = |pid: u32, file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let parent_of_command = |pid: u32| {
        let is_command = read(pid, "cmdline").starts_with(b"sh\0-c\0setsid")
            && String::from_utf8_lossy(&read(pid, "environ")).contains(mark);
        let stat = String::from_utf8_lossy(&read(pid, "stat")).into_owned();
        let (_, after_name) = stat.rsplit_once(')').filter(|_| is_command)?;
        after_name.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(parent_of_command)
        .find(|parent| read(*parent, "cmdline").starts_with(supervisor))
        .unwrap()
}

#[test]
fn the_command_gains_no_rights_and_inherits_no_descriptor() {
    let script = "grep -q 'NoNewPrivs:.*1' /proc/self/status || exit 1; \
                  for fd in /proc/self/fd/*; do case ${fd##*/} in 0|1|2) ;; \
                  *) [ ! -e \"$fd\" ] || [ \"$(readlink \"$fd\")\" = \"\" ] || exit 2 ;; esac; done; \
                  read line && exit 3; exit 0";
    assert_eq!(SupervisedTree::start(script, &[]).finish().0, exited(0));
}

#[test]
fn root_gives_up_its_user_for_the_command() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let script = "[ \"$(id -u):$(id -g):$(id -G)\" = 65534:65533:65533 ]";
    let supervised = SupervisedTree::start(script, &["--uid", "65534", "--gid", "65533"]);
    assert_eq!(supervised.finish().0, exited(0));
}
