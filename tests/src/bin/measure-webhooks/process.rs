//! A process of the deliverer: its input is a batch of messages as a line, its output a line.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Stdio;

use awo_cloud::Cloud;
use awo_cloud::telemetry::{self, LEVELS};
use awo_local::function::event_function;
use awo_tests::measure::cpu_seconds;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

pub struct Process {
    child: Child,
    /// Where batches go and answers come from.
    ends: Mutex<(ChildStdin, Lines<BufReader<ChildStdout>>)>,
}

impl Process {
    pub fn start(settings: &BTreeMap<String, String>) -> Process {
        let this = std::env::current_exe().expect("this program");
        let mut command = Command::new(this);
        command
            .arg("deliver")
            .env_clear()
            .envs(settings)
            .envs(std::env::var_os(LEVELS).map(|levels| (LEVELS, levels)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("a process");
        let input = child.stdin.take().expect("its input");
        let output = child.stdout.take().expect("its output");
        let ends = (input, BufReader::new(output).lines());
        Process {
            child,
            ends: Mutex::new(ends),
        }
    }

    pub async fn deliver(&self, records: &[Value]) -> Value {
        let batch = format!("{}\n", json!({ "Records": records }));
        let mut ends = self.ends.lock().await;
        let (input, output) = &mut *ends;
        let written = input.write_all(batch.as_bytes()).await;
        written.expect("a process that reads");
        let answer = output.next_line().await.expect("a process that answers");
        serde_json::from_str(&answer.expect("an answer")).expect("JSON")
    }

    /// CPU that it has used so far, in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.child.id().expect("a living process"))
    }
}

/// The process itself, until its input ends.
pub async fn answer_batches() {
    telemetry::start();
    let cloud = Cloud::from_process().of_function("deliver-webhooks");
    let function = awo_workers::deliver_webhooks::function(&cloud);
    let function = event_function(function.expect("settings"));
    let file = |end: BorrowedFd<'_>| {
        let end = end.try_clone_to_owned().expect("a descriptor");
        tokio::fs::File::from_std(end.into())
    };
    let (input, output) = (std::io::stdin(), std::io::stdout());
    let mut batches = BufReader::new(file(input.as_fd())).lines();
    let mut output = file(output.as_fd());
    while let Some(batch) = batches.next_line().await.expect("batches") {
        let answer = function(batch, lambda_runtime::Context::default()).await;
        let answer = format!("{}\n", answer.expect("an answer"));
        let written = output.write_all(answer.as_bytes()).await;
        written.expect("somebody who reads");
        output.flush().await.expect("somebody who reads");
    }
}
