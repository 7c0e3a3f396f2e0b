//! A killed cloud leaves no process of a task, however the task tried to escape, and the next cloud
//! reports the task as stopped.
//!
//! This is a program without a test harness because it is its own supervisor: no other program that
//! could be one is built for these tests.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has to fail loudly"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use aws_sdk_ecs::config::{BehaviorVersion, Credentials, Region};
use serde_json::{Value, json};

/// Longest wait for anything here; on an idle machine all of it takes a second.
const PATIENCE: Duration = Duration::from_secs(30);
const MARK: &str = "AWO_TEST_MARK";
const REVISION: &str = "arn:aws:ecs:us-east-1:000000000000:task-definition/runner:1";
/// Away from the supervisor's session, from the parent, and deaf to what can be ignored.
const ESCAPE: &str = "trap '' TERM INT HUP; echo up
    setsid sh -c 'trap \"\" TERM INT HUP; (setsid sleep 600 &) ; sleep 600' &
    sleep 600";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == "supervise") {
        return awo_supervisor::main(args);
    }
    a_cloud_that_is_killed_leaves_nothing_running_and_the_next_one_knows();
    println!("test a_cloud_that_is_killed_leaves_nothing_running_and_the_next_one_knows ... ok");
    ExitCode::SUCCESS
}

/// A `local-ecs` and what it prints.
struct Cluster {
    child: Child,
    lines: Receiver<Value>,
    client: aws_sdk_ecs::Client,
}

impl Cluster {
    fn start(settings: &Value) -> Cluster {
        let mut child = Command::new(env!("CARGO_BIN_EXE_local-ecs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.as_ref().unwrap();
        writeln!(input, "{settings}").unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let at: Value = lines.recv_timeout(PATIENCE).unwrap();
        let key = at["accessKeyId"].as_str().unwrap();
        let config = aws_sdk_ecs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(awo_local::REGION))
            .credentials_provider(Credentials::new(key, "any", None, None, "test"))
            .endpoint_url(at["url"].as_str().unwrap())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        let client = aws_sdk_ecs::Client::from_conf(config);
        Cluster {
            child,
            lines,
            client,
        }
    }

    /// The next event that says this of a task.
    fn event(&self, status: &str) -> Value {
        loop {
            let event = self.lines.recv_timeout(PATIENCE).unwrap();
            if event["detail"]["lastStatus"] == status {
                return event;
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn a_cloud_that_is_killed_leaves_nothing_running_and_the_next_one_knows() {
    let directory = tempfile::tempdir().unwrap();
    let mark = format!("killed-{}", std::process::id());
    let settings = json!({
        "cluster": "local",
        "taskDefinition": REVISION,
        "container": "main",
        "command": ["/bin/sh", "-c", ESCAPE],
        "supervisor": [std::env::current_exe().unwrap(), "supervise", "--"],
        "environment": {MARK: mark},
        "stopTimeoutS": 120,
        "logDirectory": directory.path(),
        "journal": directory.path().join("ecs-tasks.jsonl"),
        "files": directory.path().join("files"),
        "volumes": [],
        "mountPoints": [],
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut cluster = Cluster::start(&settings);
    let run = cluster.client.run_task().cluster("local");
    let run = runtime.block_on(run.task_definition("runner").send());
    let task = run.unwrap().tasks.unwrap().remove(0);
    cluster.event("RUNNING");
    // The supervisor, two shells and three sleepers, each in its place.
    until("the task has spread", || marked(&mark).len() >= 6);

    cluster.child.kill().unwrap();
    let killed = Instant::now();
    until("every process of the task is gone", || {
        marked(&mark).is_empty()
    });
    println!("all gone {:?} after the kill", killed.elapsed());

    let cluster = Cluster::start(&settings);
    let event = cluster.event("STOPPED");
    assert_eq!(event["detail"]["taskArn"], json!(task.task_arn()));
    assert_eq!(event["detail"]["stopCode"], "TerminationNotice");
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The command lines of living processes that carry the mark in their environment.
fn marked(mark: &str) -> Vec<String> {
    let mark = format!("{MARK}={mark}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let marked = processes.filter(|process| {
        std::fs::read(process.path().join("environ"))
            .is_ok_and(|environment| String::from_utf8_lossy(&environment).contains(&mark))
    });
    marked
        .map(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ")
        })
        .collect()
}
