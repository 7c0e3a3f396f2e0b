//! Machine limits of a tree.

use std::path::Path;
use std::time::{Duration, Instant};

use awo_supervisor::{Breach, Limit, Report};

use crate::scene::{SupervisedTree, exited};

/// From the start of something greedy until nothing of it is alive, on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// Grows by so many bytes at once, and stays.
const HOG: &str = "head -c 300000000 /dev/zero | tail -c 300000000 | sleep 300";

fn run(script: &str, extra: &[&str]) -> Report {
    let began = Instant::now();
    let (report, left) = SupervisedTree::start(script, extra).finish();
    assert_eq!(left, Vec::<String>::new());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    report
}

fn broke(report: &Report) -> (Limit, u64) {
    let Breach {
        limit,
        granted,
        measured,
    } = report.breach.unwrap_or_else(|| panic!("{report:?}"));
    assert!(measured > granted, "{report:?}");
    (limit, granted)
}

/// As `nobody`, where the tests run as root: then the kernel counts, too.
fn as_nobody<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let nobody = if nix::unistd::geteuid().is_root() {
        &["--uid", "65534", "--gid", "65534"][..]
    } else {
        &[]
    };
    [nobody, more].concat()
}

#[test]
fn a_fork_bomb_is_dead_before_it_takes_the_machine() {
    // The kernel does not hold root's processes back, so that a real bomb is nobody's here.
    let bomb = "trap '' TERM; bomb() { bomb | bomb & bomb; }; bomb; sleep 300";
    let report = run(bomb, &as_nobody(&["--max-processes", "16"]));
    assert_eq!(report.survivors, 0, "{report:?}");
    // Where the kernel is first, the shell cannot fork, and ends before anybody has looked; what it
    // leaves may have to be killed.
    let kernel_was_first = report.breach.is_none() && report.end == exited(2).end;
    if !kernel_was_first {
        assert_eq!(broke(&report), (Limit::Processes, 16));
        let measured = report.breach.unwrap().measured;
        assert!(measured < 1_500, "{measured}");
    }

    let quick = "while :; do sleep 300 & done";
    let report = run(quick, &["--max-processes", "16"]);
    assert_eq!(broke(&report), (Limit::Processes, 16));
}

#[test]
fn a_tree_that_takes_more_memory_than_it_may_is_killed_and_one_that_shares_is_not() {
    let report = run(HOG, &as_nobody(&["--max-memory-mb", "64"]));
    assert_eq!(broke(&report), (Limit::Memory, 64));
    let measured = report.breach.unwrap().measured;
    assert!(measured < 300, "killed on the way: {measured}");

    // Together over the limit, of which each process has a part.
    let parts = "for i in 1 2 3 4; do head -c 30000000 /dev/zero | tail -c 30000000 | sleep 300 & done; wait";
    assert_eq!(
        broke(&run(parts, &["--max-memory-mb", "64"])),
        (Limit::Memory, 64)
    );

    // The same pages in many processes are there once.
    let shared = "x=$(head -c 20000000 /dev/zero | tr '\\0' x); \
                  for i in 1 2 3 4 5 6; do (sleep 1; : ${#x}) & done; wait; exit 7";
    let report = run(shared, &as_nobody(&["--max-memory-mb", "200"]));
    assert_eq!(report, exited(7));
}

#[test]
fn what_lies_in_memory_without_a_process_that_maps_it_counts() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    let script = format!(
        "exec 3<> {0}/x; rm {0}/x; head -c 100000000 /dev/zero >&3; sleep 300",
        dir.path().display()
    );
    let report = run(&script, &["--max-memory-mb", "64"]);
    assert_eq!(broke(&report), (Limit::Memory, 64));
}

fn writes(script: &str, dir: &Path) -> Report {
    let place = dir.to_str().unwrap();
    let script = format!("cd {place}; {script}");
    run(&script, &["--max-disk-mb", "64", "--place", place])
}

#[test]
fn more_on_the_disk_than_granted_ends_a_tree_whichever_way_it_lies_there() {
    let hole = "exec 3> x; rm x; for i in 1 2 3 4 5 6 7 8; do head -c 10000000 /dev/urandom >&3; done; sleep 300";
    for script in [
        // Many files, quick or slow; quick ones are found at the end.
        "for i in 1 2 3 4 5 6 7 8; do head -c 10000000 /dev/urandom > $i; done",
        "for i in 1 2 3 4 5 6 7 8; do head -c 10000000 /dev/urandom > $i; done; sleep 300",
        // A file without a name.
        hole,
        // Out of the reach of a path.
        "n=$(printf %0200d 0); i=0; while [ $i -lt 25 ]; do mkdir $n; cd -P ./$n || exit 9; i=$((i+1)); done; sleep 300",
    ] {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            broke(&writes(script, dir.path())),
            (Limit::Disk, 64),
            "{script}"
        );
    }
}

#[test]
fn one_file_cannot_grow_beyond_the_disk_that_is_granted() {
    let dir = tempfile::tempdir().unwrap();
    let report = writes("head -c 900000000 /dev/zero > x; sleep 300", dir.path());
    assert_eq!(broke(&report), (Limit::Disk, 64));
    assert!(dir.path().join("x").metadata().unwrap().len() <= 68_157_440);
}

#[test]
fn names_of_one_file_count_once_and_what_was_too_much_before_may_be_put_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let links = "head -c 40000000 /dev/urandom > a; for i in 1 2 3; do ln a b$i; done; sleep 0.6";
    assert_eq!(writes(links, dir.path()), exited(0));
    std::fs::write(dir.path().join("before"), vec![7; 90_000_000]).unwrap();
    assert_eq!(
        writes("sleep 0.6; rm before; exit 3", dir.path()),
        exited(3)
    );
    std::fs::write(dir.path().join("before"), vec![7; 90_000_000]).unwrap();
    let more = writes(
        "head -c 40000000 /dev/urandom > more; sleep 300",
        dir.path(),
    );
    assert_eq!(broke(&more), (Limit::Disk, 64));
}

#[test]
fn a_command_leaves_no_core_and_has_sane_limits_of_its_own() {
    let script = "[ $(ulimit -c) = 0 ] && [ $(ulimit -n) -le 4096 ] && [ $(cat /proc/self/oom_score_adj) = 1000 ]";
    assert_eq!(run(script, &[]), exited(0));
}
