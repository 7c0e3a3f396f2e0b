//! Calls of git as the caller's user, for the checkout of a working copy.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use thiserror::Error;

/// Variables of git that name another repository: those of a hook that calls us, for example.
const VARIABLES: [&str; 9] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];
/// Author of a commit that exists in the checkout alone.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "awo verify"),
    ("GIT_AUTHOR_EMAIL", "awo@localhost"),
    ("GIT_COMMITTER_NAME", "awo verify"),
    ("GIT_COMMITTER_EMAIL", "awo@localhost"),
];

/// Reason why a working copy has no checkout.
#[derive(Debug, Error)]
pub enum CheckoutError {
    /// Git cannot be started: it has to be installed.
    #[error("git cannot be started: {0}")]
    NoGit(io::Error),
    /// Git refuses, with its own words: the repository has to be repaired.
    #[error("{0}")]
    Refused(String),
    /// The repository's index cannot be copied.
    #[error("the index cannot be read: {0}")]
    Index(io::Error),
    /// A file of the checkout cannot be read or written.
    #[error("the checkout cannot be made: {0}")]
    Files(#[from] io::Error),
}

/// One call of git.
pub(super) struct Git {
    pub(super) command: Command,
}

impl Git {
    pub(super) fn at(dir: &Path) -> Git {
        let mut command = Command::new("git");
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.envs(IDENTITY);
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        command.env("GIT_LFS_SKIP_PUSH", "1");
        // A clone of the caller's own files is no transport.
        command.args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "core.hooksPath=/dev/null",
        ]);
        command.args(["-c", "advice.addEmbeddedRepo=false", "-c", "gc.auto=0"]);
        command.arg("-C").arg(dir);
        Git { command }
    }

    pub(super) fn with_index(mut self, index: &Path) -> Git {
        self.command.env("GIT_INDEX_FILE", index);
        self
    }

    pub(super) fn output<const N: usize>(
        mut self,
        args: [&str; N],
    ) -> Result<Output, CheckoutError> {
        self.command.args(args);
        let output = self.command.stdin(Stdio::null()).output();
        output.map_err(CheckoutError::NoGit)
    }

    pub(super) fn bytes<const N: usize>(self, args: [&str; N]) -> Result<Vec<u8>, CheckoutError> {
        printed(self.output(args)?)
    }

    pub(super) fn line<const N: usize>(self, args: [&str; N]) -> Result<String, CheckoutError> {
        let bytes = self.bytes(args)?;
        Ok(String::from_utf8_lossy(&bytes)
            .trim_end_matches('\n')
            .to_owned())
    }

    pub(super) fn run<const N: usize>(self, args: [&str; N]) -> Result<(), CheckoutError> {
        self.bytes(args).map(drop)
    }

    pub(super) fn done(self) -> Result<(), CheckoutError> {
        self.run([])
    }

    pub(super) fn done_with(mut self, input: &[u8]) -> Result<(), CheckoutError> {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(CheckoutError::NoGit)?;
        // A git that ends early says why; what it did not read is of no use.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
        printed(child.wait_with_output()?).map(drop)
    }
}

/// Output of a git that succeeded.
fn printed(output: Output) -> Result<Vec<u8>, CheckoutError> {
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(refusal(&output.stderr))
    }
}

/// Refusal in git's own words, without the first one.
pub(super) fn refusal(reason: &[u8]) -> CheckoutError {
    let reason = String::from_utf8_lossy(reason);
    let reason = reason.trim().replace("fatal: ", "");
    CheckoutError::Refused(if reason.is_empty() {
        "git failed without a reason".to_owned()
    } else {
        reason
    })
}
