//! The process of a task. Invariants: it inherits only `PATH` from the local cloud; it leads its
//! own session; when it ends, its process group ends with it.
//!
//! A process that leaves its group escapes a bare launch. The supervisor prevents that: it contains
//! the whole tree, and ends with it when its standard input closes, also when the local cloud
//! itself was killed.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::{Mode, umask};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::logs;
use crate::shutdown::Shutdown;

/// How long a supervisor may take to kill its tree before it is killed itself.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// What is left of a stop timeout once the local cloud itself goes down.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// How long the rest of the output is read after the process ended.
const LOG_DRAIN: Duration = Duration::from_secs(2);

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Everything that a process is started from.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// Empty without a supervisor.
    pub supervisor: Vec<String>,
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub stop_timeout: Duration,
    pub log_directory: PathBuf,
    pub task_id: String,
}

pub(crate) struct Process {
    child: Child,
    group: Pid,
    /// Only with a supervisor, which takes orders there and dies with it.
    orders: Option<ChildStdin>,
    stop_timeout: Duration,
    logs: [JoinHandle<()>; 2],
}

impl Process {
    pub fn start(launch: &Launch) -> io::Result<Self> {
        let mut words = launch.supervisor.iter().chain(&launch.command);
        let program = words.next().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the container has no command")
        })?;
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        let supervised = !launch.supervisor.is_empty();
        let mut command = Command::new(program);
        command
            .args(words)
            .env_clear()
            .env("PATH", path)
            .envs(&launch.environment)
            .current_dir("/")
            .stdin(if supervised {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // SAFETY: setsid, umask and prctl are async-signal-safe, and nothing else runs between fork and
        // exec.
        unsafe {
            command.pre_exec(|| {
                nix::unistd::setsid()?;
                // The service may keep what it writes from others; a task is to share its workspace.
                umask(Mode::from_bits_truncate(0o022));
                // A supervisor that was stopped has to see that its standard input has closed.
                nix::sys::prctl::set_pdeathsig(Signal::SIGCONT)?;
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = Pid::from_raw(id.ok_or_else(|| io::Error::other("the process has no id"))?);
        let orders = child.stdin.take();
        let logs = [
            logs::keep(
                child.stdout.take(),
                logs::path(&launch.log_directory, &launch.task_id, "stdout"),
            ),
            logs::keep(
                child.stderr.take(),
                logs::path(&launch.log_directory, &launch.task_id, "stderr"),
            ),
        ];
        Ok(Self {
            child,
            group,
            orders,
            stop_timeout: launch.stop_timeout,
            logs,
        })
    }

    /// Waits for the end, and brings it about when it is asked for: SIGTERM, the stop timeout,
    /// SIGKILL. Gives the exit code as a shell would.
    pub async fn finish(
        mut self,
        mut stop: watch::Receiver<bool>,
        shutdown: &Shutdown,
    ) -> io::Result<i32> {
        let mut ended = tokio::select! {
            ended = self.child.wait() => Some(ended),
            _ = stop.wait_for(|stop| *stop) => None,
            () = shutdown.begun() => None,
        };
        if ended.is_none() {
            self.order(Signal::SIGTERM).await;
            ended = tokio::select! {
                ended = self.child.wait() => Some(ended),
                () = grace(self.stop_timeout, shutdown) => None,
            };
        }
        if ended.is_none() {
            self.order(Signal::SIGKILL).await;
            ended = tokio::time::timeout(KILL_WAIT, self.child.wait())
                .await
                .ok();
        }
        let status = match ended {
            Some(ended) => ended,
            None => {
                self.signal(Signal::SIGKILL);
                self.child.wait().await
            }
        };
        // What the main process left behind in its group. The group's id cannot have been
        // given away while members live; without members it would reach no process.
        self.signal(Signal::SIGKILL);
        let logs = self.logs;
        tokio::spawn(async move {
            tokio::time::sleep(LOG_DRAIN).await;
            logs.iter().for_each(JoinHandle::abort);
        });
        status.map(exit_code)
    }

    async fn order(&mut self, signal: Signal) {
        let Some(orders) = &mut self.orders else {
            return self.signal(signal);
        };
        let order: &[u8] = if signal == Signal::SIGKILL {
            b"kill\n"
        } else {
            b"stop\n"
        };
        if let Err(error) = orders.write_all(order).await {
            // The supervisor is about to end, or does not listen; the escalation deals with it.
            tracing::debug!(%error, "a supervisor took no order");
        }
        // What it supervises may have stopped it, and it has to read.
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        // An error means that the group is empty.
        let _ = killpg(self.group, signal);
    }
}

async fn grace(stop_timeout: Duration, shutdown: &Shutdown) {
    tokio::select! {
        () = tokio::time::sleep(stop_timeout) => {}
        () = async {
            shutdown.begun().await;
            tokio::time::sleep(SHUTDOWN_GRACE).await;
        } => {}
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1)
}
