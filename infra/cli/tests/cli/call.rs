//! Calls `awo` as a separate process, without this one's environment.

use std::ffi::OsStr;
use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The output of a call.
#[derive(Debug)]
pub struct CallOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl CallOutput {
    pub fn of(output: Output) -> CallOutput {
        CallOutput {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

pub fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_awo"));
    command.args(args).env_clear().kill_on_drop(true);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Calls with an address and a key.
pub async fn at(url: &str, args: &[&str]) -> CallOutput {
    let output = command(args)
        .env("AWO_URL", url)
        .env("AWO_API_KEY", KEY)
        .output()
        .await;
    let called = CallOutput::of(output.unwrap());
    assert!(
        !called.out.contains(KEY) && !called.err.contains(KEY),
        "the key is shown: {called:?}"
    );
    called
}

/// Calls with something to read.
pub async fn fed(mut command: Command, input: &str) -> CallOutput {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // One that refuses its arguments may have ended before it reads anything.
    match stdin.write_all(input.as_bytes()).await {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => panic!("{why}"),
        _ => drop(stdin),
    }
    CallOutput::of(child.wait_with_output().await.unwrap())
}

pub const KEY: &str = "org_live_of_the_tests";
