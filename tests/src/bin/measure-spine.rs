//! `make bench`: how long a client waits, over fifty work orders on the local service, and what
//! the service costs while it idles. Prints numbers; nothing here can fail a build.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use awo_domain::Timestamp;
use awo_tests::client::Client;
use awo_tests::repository::Repository;
use serde_json::{Value, json};

const ORDERS: usize = 50;
const IDLE: Duration = Duration::from_secs(10);
/// Clock ticks in a second, as `/proc` counts them.
const TICKS: f64 = 100.0;

struct Running {
    child: Child,
    client: Client,
    dir: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(
            Command::new("kill")
                .arg(self.child.id().to_string())
                .status(),
        );
        drop(self.child.wait());
    }
}

fn start() -> Running {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let ready = dir.path().join("ready.json");
    let program: PathBuf = std::env::current_exe()
        .expect("this program")
        .with_file_name("awo-local");
    let child = Command::new(program)
        .env("AWO_DATA_DIR", dir.path().join("data"))
        .env("AWO_PORT", "0")
        .env("AWO_READY_FILE", &ready)
        .env("AWO_REQUESTS_PER_MINUTE", "1000000")
        .env("AWO_LOG", "warn")
        .stdout(Stdio::null())
        .spawn()
        .expect("awo-local beside this program: cargo build -p awo-local -p awo-runner");
    let began = Instant::now();
    while !ready.exists() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the service does not start"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let told: Value =
        serde_json::from_slice(&std::fs::read(&ready).expect("a file")).expect("JSON");
    println!("service ready after {:?}", began.elapsed());
    let client = Client::new(
        told["baseUrl"].as_str().expect("a URL"),
        told["apiKey"].as_str(),
    );
    Running { child, client, dir }
}

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

async fn one(running: &Running, repository: &Repository) -> (f64, f64) {
    let marks = running.dir.path().display();
    let script = format!(
        "date +%s%N > {marks}/start-$AWO_RUN_ID; echo done > done.txt; date +%s%N > {marks}/exit-$AWO_RUN_ID"
    );
    let body = json!({
        "taskPrompt": "measure",
        "workspaceSource": { "type": "git", "repository": repository.url() },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
    });
    let submitted = now_ms();
    let order = running.client.post("/v1/work-orders", &body).await;
    assert_eq!(order.status, 201, "{}", order.text);
    let run = running.client.finished_run(&order.body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let id = run["runId"].as_str().expect("an id");
    let mark = |what: &str| stamp(&running.dir.path().join(format!("{what}-{id}")));
    (
        mark("start") - submitted,
        time(&run, "completedAt") - mark("exit"),
    )
}

fn print(what: &str, goal_ms: f64, mut samples: Vec<f64>) {
    samples.sort_by(f64::total_cmp);
    let at = |percent: usize| samples[(samples.len() - 1) * percent / 100];
    println!(
        "{what:<24} p50 {:>6.1} ms   p95 {:>6.1} ms   max {:>6.1} ms   (goal p50 {goal_ms} ms, none above 500 ms)",
        at(50),
        at(95),
        at(100)
    );
}

fn cpu_ticks(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .expect("a stat line")
        .1
        .split_whitespace()
        .collect();
    fields[11].parse::<f64>().unwrap_or(0.0) + fields[12].parse::<f64>().unwrap_or(0.0)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let running = start();
    let repository =
        Repository::with(&[("Makefile", "test:\n\t@true\n"), ("README.md", "small\n")]);
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..ORDERS {
        let (start, end) = one(&running, &repository).await;
        starts.push(start);
        ends.push(end);
    }
    print("submit to agent start", 100.0, starts);
    print("agent exit to succeeded", 50.0, ends);
    let before = cpu_ticks(running.child.id());
    tokio::time::sleep(IDLE).await;
    let used = (cpu_ticks(running.child.id()) - before) / TICKS / IDLE.as_secs_f64() * 100.0;
    println!("{:<24} {used:.2} % of a core (goal below 2 %)", "idle CPU");
}
