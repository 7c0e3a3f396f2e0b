//! Requests and responses of an inspection: JSON, in which file names and command output are
//! base64, since they may be any bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use awo_domain::verification::Check;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::plan::{Coverage, Expect, FrozenPlan, Glob, SchemaCheck, TestReport};
use crate::verify::{Findings, Moment};

/// Tasks for one folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) files: Files,
    pub(crate) tasks: Vec<Task>,
}

/// The files that tasks read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Files {
    /// The files that [`Task::LargeFiles`] and [`Task::Leftovers`] read; all where absent.
    pub(crate) changed: Option<Paths>,
    /// The only files in which [`Task::Forbidden`] finds something, where there is a limit.
    pub(crate) only: Option<Paths>,
}

/// A task of inspection; each but the first two answers with a check, unless it states otherwise.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// The plan of the folder; answers [`Answer::Plan`].
    Plan,
    /// Which of these paths match; answers [`Answer::Matching`].
    Match {
        globs: Vec<Glob>,
        paths: Paths,
    },
    /// A file before a change and after it; answers [`Answer::Gate`].
    Gate {
        path: Paths,
        before: Option<Bytes>,
        after: Option<Bytes>,
        /// The content whose parts are put back.
        base: Option<Bytes>,
    },
    Required(Glob),
    Forbidden(Glob),
    Schema(SchemaCheck),
    /// A report of tests; answers [`Answer::Findings`].
    Report {
        report: TestReport,
        /// The moment before its command, for a pattern.
        since: Option<Moment>,
    },
    /// What a command wrote; answers [`Answer::Faults`].
    Blackbox {
        expect: Expect,
        output: Bytes,
        stdout: Bytes,
        stdout_was_cut: bool,
    },
    LargeFiles {
        limit: u64,
    },
    Leftovers,
    Coverage(Coverage),
}

/// The answer to one task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The plan, or what is wrong with it and where.
    Plan(Box<Result<FrozenPlan, String>>),
    /// By their numbers.
    Matching(Vec<usize>),
    Gate(GatePart),
    Check(Check),
    /// The report's findings, or why it cannot be relied on.
    Findings(Result<Findings, String>),
    /// What does not hold.
    Faults(Vec<String>),
}

/// Comparison of the parts of a file that decide what commands do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GatePart {
    pub(crate) differs: bool,
    /// The later text with the base's parts, where that can be made.
    pub(crate) merged: Option<String>,
}

/// Any bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> String {
        STANDARD.encode(bytes.0)
    }
}

impl TryFrom<String> for Bytes {
    type Error = String;
    fn try_from(text: String) -> Result<Bytes, String> {
        STANDARD.decode(text).map(Bytes).map_err(|e| e.to_string())
    }
}

/// Paths, which may be any bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Bytes", into = "Bytes")]
pub(crate) struct Paths(pub(crate) Vec<PathBuf>);

impl From<Paths> for Bytes {
    fn from(paths: Paths) -> Bytes {
        let mut bytes = Vec::new();
        for path in paths.0 {
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        Bytes(bytes)
    }
}

impl From<Bytes> for Paths {
    fn from(bytes: Bytes) -> Paths {
        let names = bytes.0.split(|byte| *byte == 0);
        let names = names.filter(|name| !name.is_empty());
        Paths(
            names
                .map(|name| OsString::from_vec(name.to_vec()).into())
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_come_back_as_they_were() {
        let names: [&[u8]; 3] = [b"a b", b"\xff\n", "ä".as_bytes()];
        let paths = names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec())));
        let json = serde_json::to_vec(&Paths(paths.to_vec())).unwrap();
        let back: Paths = serde_json::from_slice(&json).unwrap();
        assert_eq!(back.0, paths);
    }
}
