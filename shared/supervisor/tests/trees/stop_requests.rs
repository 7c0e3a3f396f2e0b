//! The stop requests of a supervisor's owner, and the time that a tree then has.

use std::fs;
use std::time::{Duration, Instant};

use crate::EXTRA;
use crate::scene::{INT, KILL, SupervisedTree, TERM, exited, forced, kill, signaled};

#[test]
fn term_reaches_the_whole_tree_and_a_polite_tree_ends_by_itself() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let seen = dir.path().join("seen");
    let script = format!(
        "setsid sh -c 'trap \"echo seen > {}; exit 0\" TERM; echo ready; while :; do sleep 0.01; done' & \
         trap 'wait; exit 5' TERM; wait; exit 6",
        seen.display()
    );
    let mut supervised =
        SupervisedTree::start(&script, &["--term-grace-ms", "20000", "--write", "/"]);
    supervised.ready();
    supervised.stop_request("term\n");
    assert_eq!(supervised.finish(), (exited(5), Vec::new()));
    assert_eq!(fs::read_to_string(seen).unwrap(), "seen\n");
}

#[test]
fn a_tree_that_ignores_term_is_killed_after_the_grace() {
    let script = "trap '' TERM INT; setsid sh -c 'sleep 300; :' & echo ready; \
                  while :; do sleep 1; done";
    let mut supervised = SupervisedTree::start(script, &["--term-grace-ms", "150"]);
    supervised.ready();
    let start = Instant::now();
    supervised.stop_request("term\n");
    assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
    assert!(start.elapsed() >= Duration::from_millis(150));
}

#[test]
fn int_interrupts_the_command_alone_and_what_it_leaves_is_killed() {
    let script = "setsid sh -c 'echo ready; sleep 300; :' & while :; do sleep 0.01; done";
    let mut supervised = SupervisedTree::start(script, &[]);
    supervised.ready();
    supervised.stop_request("int\n");
    assert_eq!(supervised.finish(), (forced(signaled(INT)), Vec::new()));
}

/// As a service is that a script started with `nohup … &`.
#[test]
fn a_supervisor_that_inherits_ignored_signals_still_reads_them_and_its_command_gets_them() {
    let ignoring = "trap '' INT HUP QUIT TERM USR1";
    let script = "echo ready; while :; do sleep 0.01; done";
    let mut supervised = SupervisedTree::start_with(ignoring, script, &[]);
    supervised.ready();
    supervised.stop_request("int\n");
    assert_eq!(supervised.finish(), (signaled(INT), Vec::new()));

    let mut supervised = SupervisedTree::start_with(ignoring, script, &[]);
    supervised.ready();
    kill(supervised.child.id(), "TERM");
    assert_eq!(supervised.finish(), (signaled(TERM), Vec::new()));
}

#[test]
fn kill_needs_no_grace() {
    let script = "trap '' TERM; setsid sh -c 'sleep 300; :' & echo ready; wait; sleep 300";
    let mut supervised = SupervisedTree::start(script, &["--term-grace-ms", "600000"]);
    supervised.ready();
    supervised.stop_request("kill\n");
    assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
}

#[test]
fn a_tree_that_was_asked_to_end_may_take_longer_than_its_command() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let reported = dir.path().join("output");
    let script = format!(
        "setsid sh -c 'trap \"sleep 0.3; echo goodbye > {}; exit 0\" TERM; echo ready; \
         while :; do sleep 0.01; done' & wait",
        reported.display()
    );
    let mut supervised = SupervisedTree::start(&script, &["--write", "/"]);
    supervised.ready();
    supervised.stop_request("term 20000\n");
    assert_eq!(supervised.finish(), (signaled(TERM), Vec::new()));
    assert_eq!(fs::read_to_string(reported).unwrap(), "goodbye\n");
}

#[test]
fn an_orphan_of_a_tree_that_was_asked_to_end_is_asked_too() {
    // A child that is forked in answer to the request, and left behind.
    let script = "setsid sh -c 'trap \"setsid sleep 300 & exit 0\" TERM; echo ready; \
                  while :; do sleep 0.01; done' & wait";
    let mut supervised = SupervisedTree::start(script, &[]);
    supervised.ready();
    supervised.stop_request("term 20000\n");
    let (mut report, left) = supervised.finish();
    // A namespace ends with its first process: an orphan in it may die before it is asked.
    report.forced &= EXTRA.is_empty();
    assert_eq!((report, left), (signaled(TERM), Vec::new()));
}

#[test]
fn a_second_stop_request_takes_time_away_and_never_gives_any() {
    let script = "trap '' TERM INT; echo ready; while :; do sleep 0.01; done";
    for requests in [
        &["term 150\n", "term 600000\n", "int 600000\n"][..],
        &["int 600000\n", "term 600000\n", "term 150\n"],
        &["int 600000\nterm 600000\nterm 150\n"],
    ] {
        let mut supervised = SupervisedTree::start(script, &[]);
        supervised.ready();
        let start = Instant::now();
        for stop_request in requests {
            supervised.stop_request(stop_request);
        }
        assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
        assert!(start.elapsed() >= Duration::from_millis(150));
    }
}

#[test]
fn a_stopped_command_hears_int_all_the_same() {
    let script = "trap 'exit 4' INT; echo ready; kill -STOP $$; while :; do sleep 0.01; done";
    let mut supervised = SupervisedTree::start(script, &[]);
    supervised.ready();
    supervised.stop_request("int 20000\n");
    assert_eq!(supervised.finish(), (exited(4), Vec::new()));
}

#[test]
fn a_stopped_command_hears_stop_all_the_same() {
    let script = "trap 'exit 4' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done";
    let mut supervised = SupervisedTree::start(script, &[]);
    supervised.ready();
    supervised.stop_request("stop\n");
    assert_eq!(supervised.finish(), (exited(4), Vec::new()));
}

#[test]
fn stop_is_for_the_command_alone_and_sets_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let seen = dir.path().join("seen");
    let script = format!(
        "trap 'sleep 0.3; exit 5' TERM; \
         setsid sh -c 'trap \"echo seen > {}; exit 0\" TERM; echo ready; \
         while :; do sleep 0.01; done' & while :; do sleep 0.01; done",
        seen.display()
    );
    let mut supervised = SupervisedTree::start(&script, &["--term-grace-ms", "1"]);
    supervised.ready();
    supervised.stop_request("stop\n");
    assert_eq!(supervised.finish(), (forced(exited(5)), Vec::new()));
    assert!(!seen.exists());
}

#[test]
fn a_signal_to_the_supervisor_means_term() {
    let mut supervised =
        SupervisedTree::start("echo ready; sleep 300", &["--term-grace-ms", "20000"]);
    supervised.ready();
    kill(supervised.child.id(), "TERM");
    assert_eq!(supervised.finish(), (signaled(TERM), Vec::new()));
}

#[test]
fn everything_dies_with_the_one_who_started_the_supervisor() {
    let script = "trap '' TERM HUP; setsid sh -c 'sleep 300; :' & echo ready; wait; sleep 300";
    let mut supervised = SupervisedTree::start(script, &["--term-grace-ms", "600000"]);
    supervised.ready();
    drop(supervised.child.stdin.take());
    assert_eq!(supervised.finish(), (forced(signaled(KILL)), Vec::new()));
}
