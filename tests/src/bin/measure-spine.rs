//! `make bench`: request latency over fifty work orders on the local service, and the idle cost of
//! the service. Prints numbers; nothing here can fail a build.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_domain::Timestamp;
use awo_tests::agents::{order, submit};
use awo_tests::local::Local;
use awo_tests::measure::{Goal, cpu_seconds, print, row};
use awo_tests::repository::Repository;
use serde_json::Value;

const ORDERS: usize = 50;
const IDLE: Duration = Duration::from_secs(10);

fn now_ms() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock")
        .as_secs_f64()
        * 1e3
}

fn stamp(path: &Path) -> f64 {
    let nanos: f64 = std::fs::read_to_string(path)
        .expect("a stamp")
        .trim()
        .parse()
        .expect("a number");
    nanos / 1e6
}

fn time(run: &Value, name: &str) -> f64 {
    let at = Timestamp::parse(run[name].as_str().expect("a time")).expect("a time");
    Duration::from_millis(u64::try_from(at.epoch_ms()).unwrap_or(0)).as_secs_f64() * 1e3
}

/// `marks` is a folder that agents may write.
async fn one(local: &Local, marks: &Path, repository: &Repository) -> (f64, f64) {
    let script = format!(
        "date +%s%N > {0}/start-$AWO_RUN_ID; echo done > done.txt; date +%s%N > {0}/exit-$AWO_RUN_ID",
        marks.display()
    );
    let submitted = now_ms();
    let order = submit(&local.client, &order(&repository.url(), &script)).await;
    let run = local.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let id = run["runId"].as_str().expect("an id");
    let mark = |what: &str| stamp(&marks.join(format!("{what}-{id}")));
    (
        mark("start") - submitted,
        time(&run, "completedAt") - mark("exit"),
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let local = Local::start(dir.path(), &[]);
    // Not beside the service's data, where agents write nothing.
    let marks = tempfile::tempdir().expect("a temporary directory");
    let all = Permissions::from_mode(0o777);
    std::fs::set_permissions(marks.path(), all).expect("a mode");
    println!("service ready after {:?}", local.ready_after);
    let repository =
        Repository::with(&[("Makefile", "test:\n\t@true\n"), ("README.md", "small\n")]);
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..ORDERS {
        let (start, end) = one(&local, marks.path(), &repository).await;
        starts.push(start);
        ends.push(end);
    }
    let goal = |p50: u32| format!("goal p50 {p50} ms, none above 500 ms");
    let times = [
        ("submit to agent start", 100, starts),
        ("agent exit to succeeded", 50, ends),
    ];
    for (what, p50, samples) in times {
        let longest = samples.iter().copied().fold(0.0, f64::max);
        row(
            &format!("{what}: longest"),
            (longest, "ms"),
            Goal::AtMost(500.0),
        );
        print(what, &goal(p50), samples);
    }
    let before = cpu_seconds(local.pid());
    tokio::time::sleep(IDLE).await;
    let used = (cpu_seconds(local.pid()) - before) / IDLE.as_secs_f64() * 100.0;
    row("idle CPU", (used, "% of a core"), Goal::AtMost(2.0));
    println!("{:<36} {used:.2} % of a core (goal below 2 %)", "idle CPU");
}
