//! A command to run, with its limits of time and of the machine.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use awo_supervisor::Limits;
use tokio::sync::watch;

use crate::live_output::Stream;
use crate::stop::TERM_GRACE;

/// What happens to a command whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtTimeout {
    /// It is asked to end and may still write its result.
    Ask,
    /// It is killed.
    Kill,
}

impl AtTimeout {
    pub(super) fn grace(self) -> Duration {
        match self {
            AtTimeout::Ask => TERM_GRACE,
            AtTimeout::Kill => Duration::ZERO,
        }
    }
}

/// Takes the sentence that ends a command before its time.
pub(crate) type CalledOff = watch::Receiver<Option<String>>;

/// A reader of a command's output while it comes.
pub(crate) trait Listener: fmt::Debug + Sync {
    /// Takes the next bytes of a stream.
    fn append(&self, stream: Stream, bytes: &[u8]);
}

/// Variables of a command.
pub(crate) type Variables = Vec<(String, OsString)>;

/// A hostile command.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) argv: &'a [OsString],
    pub(crate) dir: &'a Path,
    /// Private home of the command.
    pub(crate) home: &'a Path,
    /// Private place for temporary files.
    pub(crate) tmp: &'a Path,
    /// Files and folders beside these that the command may read.
    pub(crate) reads: &'a [&'a Path],
    /// Beyond PATH, HOME, TMPDIR and LANG.
    pub(crate) env: &'a [(&'a str, OsString)],
    pub(crate) limit: Duration,
    pub(crate) at_timeout: AtTimeout,
    /// What it may take of the machine, with everything that it starts.
    pub(crate) limits: Limits,
    /// Says why it must end before its time, once it must; nobody may say so where it is absent.
    pub(crate) called_off: Option<CalledOff>,
    /// Bytes at the end of its output that are stored.
    pub(crate) keep_bytes: usize,
    /// Who hears its output as it comes.
    pub(crate) heard: Option<&'a dyn Listener>,
}
