//! Calls of the `git` program that execute nothing but git.
//!
//! Environment and configuration are the runner's own: no system or user configuration, no hooks,
//! no prompts, no submodules, no filters. Every call has a limit of time and of output, and its
//! whole process group is killed at its end. Credentials are only in the environment of calls to a
//! remote: not on disk, not in an argument, not in a message.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use awo_domain::control::GitCredential;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::git_credentials::{CREDENTIAL_KEY, GitCredentials, is_refusal_of, settings_of};
use crate::git_settings::CONFIG;
use crate::output::Tail;
use crate::stop::StopSignal;

/// For a call without a remote.
pub(crate) const LOCAL_LIMIT: Duration = Duration::from_secs(120);
/// Interval at which a watched folder is measured.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);
/// Most bytes that are read of an answer.
const MAX_STDOUT_BYTES: u64 = 32 * 1_024 * 1_024;
/// Most bytes of complaints that are stored.
const KEEP_STDERR_BYTES: usize = 8_192;

/// Why a call failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum GitError {
    #[error("git timed out after {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("{0}")]
    Failed(String),
    #[error("the run was stopped")]
    Stopped,
    /// The host refuses a token that ends, and the one after it.
    #[error(
        "{host} does not accept the token of the organization's App, and a new one did not help: check that \
         the App is still installed for the repository ({reported})"
    )]
    TokenRefused { host: String, reported: String },
    /// More was fetched than the caller wants.
    #[error("more than {0} bytes were fetched, or they took too long")]
    TooLarge(u64),
}

impl From<std::io::Error> for GitError {
    fn from(why: std::io::Error) -> GitError {
        GitError::Failed(why.to_string())
    }
}

/// A folder that a call fills, and the limits of that beyond which another way is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeLimit<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) most_bytes: u64,
    /// From when on any content of the folder is too late.
    pub(crate) patience: Duration,
}

/// One call.
#[derive(Debug, Default)]
pub(crate) struct Call<'a> {
    pub(crate) args: Vec<OsString>,
    pub(crate) git_dir: Option<&'a Path>,
    pub(crate) work_tree: Option<&'a Path>,
    pub(crate) index: Option<&'a Path>,
    pub(crate) input: Option<Vec<u8>>,
    /// Whether it talks to a remote, and so gets the credentials.
    pub(crate) remote: bool,
    /// True if it gets no credentials all the same.
    pub(crate) anonymous: bool,
    /// True for a submodule, which has credentials of its own.
    pub(crate) submodule: bool,
    /// Of what it writes only so many bytes matter; the rest is counted.
    pub(crate) head: Option<u64>,
    pub(crate) limit: Option<Duration>,
    pub(crate) watched: Option<SizeLimit<'a>>,
    /// Settings beyond those of every call.
    pub(crate) settings: &'a [(String, String)],
}

impl<'a> Call<'a> {
    pub(crate) fn new<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Call<'a> {
        Call {
            args: args.into_iter().map(|arg| arg.as_ref().into()).collect(),
            ..Call::default()
        }
    }
}

/// What git answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) success: bool,
    pub(crate) stdout: Vec<u8>,
    /// Bytes that it wrote in all.
    pub(crate) written: u64,
    pub(crate) stderr: String,
}

/// Calls git.
pub(crate) struct Git {
    path: OsString,
    stop: StopSignal,
    protocols: &'static str,
    config_file: PathBuf,
    ca_file: Option<PathBuf>,
    pub(crate) credentials: GitCredentials,
}

impl Git {
    /// `config_file` is the only configuration file that git and the local servers that it
    /// starts for `file://` will see.
    pub(crate) fn new(
        path: OsString,
        stop: StopSignal,
        allow_file: bool,
        config_file: PathBuf,
        credentials: GitCredentials,
        ca_file: Option<&Path>,
    ) -> Git {
        Git {
            path,
            stop,
            protocols: if allow_file { "https:file" } else { "https" },
            config_file,
            ca_file: ca_file.map(Path::to_owned),
            credentials,
        }
    }

    /// A call that must succeed; returns what it wrote.
    ///
    /// # Errors
    /// With git's own complaint, when it fails.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Vec<u8>, GitError> {
        let answer = self.answer(call).await?;
        if answer.success {
            Ok(answer.stdout)
        } else {
            Err(GitError::Failed(answer.stderr))
        }
    }

    /// A call whose failure means something to the caller.
    ///
    /// # Errors
    /// If there was no answer at all.
    pub(crate) async fn answer(&self, call: Call<'_>) -> Result<Answer, GitError> {
        if self.stop.reason().is_some() {
            return Err(GitError::Stopped);
        }
        if !call.remote {
            return self.answer_with(&call, &[]).await;
        }
        if call.submodule {
            let own = self.credentials.valid_for_submodules();
            let own = self.unless_stopped(own).await?;
            return self.answer_with(&call, &own).await;
        }
        let credentials = self.unless_stopped(self.credentials.valid()).await?;
        let answer = self.answer_with(&call, &credentials).await?;
        if answer.success || call.anonymous {
            return Ok(answer);
        }
        let ends = credentials.iter().filter(|one| one.expires_at.is_some());
        let mut hosts = ends.map(|one| one.host.as_str());
        let Some(host) = hosts.find(|host| is_refusal_of(host, &answer.stderr)) else {
            return Ok(answer);
        };
        let others = self.credentials.instead_of(&credentials);
        let answer = match self.unless_stopped(others).await? {
            Some(others) => self.answer_with(&call, &others).await?,
            None => answer,
        };
        if answer.success || !is_refusal_of(host, &answer.stderr) {
            return Ok(answer);
        }
        Err(GitError::TokenRefused {
            host: host.to_owned(),
            reported: answer.stderr,
        })
    }

    async fn answer_with(
        &self,
        call: &Call<'_>,
        credentials: &[GitCredential],
    ) -> Result<Answer, GitError> {
        let limit = call.limit.unwrap_or(LOCAL_LIMIT);
        let mut command = self.command(call, credentials);
        let mut child = command
            .spawn()
            .map_err(|why| GitError::Failed(format!("git could not be started: {why}")))?;
        let group = child.id();
        let mut result = tokio::select! {
            answer = converse(&mut child, call.input.clone(), call.head) => answer,
            () = sleep(limit) => Err(GitError::TimedOut(limit)),
            () = self.stop.stopped() => Err(GitError::Stopped),
            most = outgrown(call.watched) => Err(GitError::TooLarge(most)),
        };
        if result.is_err() {
            // Its helpers are in its group; none of them makes a session of its own.
            if let Some(group) = group {
                let _ = killpg(Pid::from_raw(group.cast_signed()), Signal::SIGKILL);
            }
            let _ = child.wait().await;
        }
        if let Ok(answer) = &mut result {
            // A remote may quote what it was sent.
            let stderr = std::mem::take(&mut answer.stderr);
            answer.stderr = self.credentials.hidden_in(stderr);
        }
        result
    }

    /// True if there is a program of this name.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let mut folders = std::env::split_paths(&self.path);
        folders.any(|folder| folder.join(name).is_file())
    }

    /// Does something that is neither git nor hostile.
    ///
    /// # Errors
    /// If the run is stopped meanwhile.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, GitError> {
        tokio::select! {
            done = work => Ok(done),
            () = self.stop.stopped() => Err(GitError::Stopped),
        }
    }

    fn command(&self, call: &Call<'_>, credentials: &[GitCredential]) -> Command {
        let mut command = Command::new("git");
        command
            .args(&call.args)
            .process_group(0)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", "/nonexistent")
            .env("LC_ALL", "C.UTF-8")
            .env("LANGUAGE", "en")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", &self.config_file)
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", self.protocols)
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_AUTHOR_NAME", AUTHOR_NAME)
            .env("GIT_AUTHOR_EMAIL", AUTHOR_EMAIL)
            .env("GIT_COMMITTER_NAME", AUTHOR_NAME)
            .env("GIT_COMMITTER_EMAIL", AUTHOR_EMAIL)
            .stdin(if call.input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let places = [
            ("GIT_DIR", call.git_dir),
            ("GIT_WORK_TREE", call.work_tree),
            ("GIT_INDEX_FILE", call.index),
        ];
        for (name, place) in places {
            if let Some(place) = place {
                command.env(name, place);
            }
        }
        if let Some(work_tree) = call.work_tree {
            command.current_dir(work_tree);
        }
        let of_remotes = if call.remote {
            settings_of(credentials, self.ca_file.as_deref())
        } else {
            Vec::new()
        };
        let of_remotes = of_remotes
            .iter()
            .filter(|(key, _)| !call.anonymous || !key.ends_with(CREDENTIAL_KEY))
            .map(|(key, value)| (&**key, &**value));
        let settings = CONFIG
            .iter()
            .map(|(key, value)| (*key, *value))
            .chain(of_remotes)
            .chain(call.settings.iter().map(|(key, value)| (&**key, &**value)));
        let mut count = 0_usize;
        for (key, value) in settings {
            command
                .env(format!("GIT_CONFIG_KEY_{count}"), key)
                .env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command
    }
}

/// The committer.
const AUTHOR_NAME: &str = "Agent Work Order Service";
const AUTHOR_EMAIL: &str = "awo@localhost";

/// Returns once a folder has outgrown its limits; never, where none is watched.
async fn outgrown(watched: Option<SizeLimit<'_>>) -> u64 {
    let Some(watched) = watched else {
        return std::future::pending().await;
    };
    let began = Instant::now();
    loop {
        sleep(WATCH_INTERVAL).await;
        let bytes = size_of_tree(watched.dir);
        if bytes > watched.most_bytes || (bytes > 0 && began.elapsed() > watched.patience) {
            return watched.most_bytes;
        }
    }
}

/// Bytes of the files below a folder of git's; what vanishes meanwhile counts for nothing.
pub(crate) fn size_of_tree(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of_tree(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

async fn converse(
    child: &mut Child,
    input: Option<Vec<u8>>,
    head: Option<u64>,
) -> Result<Answer, GitError> {
    let lost = |why: std::io::Error| GitError::Failed(format!("git's output was lost: {why}"));
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let write = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A git that does not read to the end reports why itself.
            let _ = stdin.write_all(&input).await;
        }
    };
    let read = async {
        let (mut bytes, mut rest) = (Vec::new(), 0);
        if let Some(stdout) = stdout {
            let mut limited = stdout.take(head.unwrap_or(MAX_STDOUT_BYTES + 1));
            limited.read_to_end(&mut bytes).await?;
            if head.is_some() {
                rest = tokio::io::copy(&mut limited.into_inner(), &mut tokio::io::sink()).await?;
            }
        }
        Ok((bytes, rest))
    };
    let complain = async {
        let mut tail = Tail::new(KEEP_STDERR_BYTES);
        let mut chunk = [0; 4_096];
        if let Some(mut stderr) = stderr {
            loop {
                match stderr.read(&mut chunk).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => tail.push(&chunk[..count]),
                }
            }
        }
        tail.text()
    };
    let ((), stdout, stderr) = tokio::join!(write, read, complain);
    let (stdout, rest) = stdout.map_err(lost)?;
    if stdout.len() as u64 > MAX_STDOUT_BYTES {
        return Err(GitError::Failed("git's answer is too long".to_owned()));
    }
    let status = child.wait().await.map_err(lost)?;
    Ok(Answer {
        success: status.success(),
        written: stdout.len() as u64 + rest,
        stdout,
        stderr: stderr.trim().to_owned(),
    })
}
