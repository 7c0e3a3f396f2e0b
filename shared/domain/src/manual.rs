//! A manual verification: the request, and the protocol between runner and control function.
//!
//! As with a run, a single-use nonce (`<orgId>.<verificationId>.<secret>`) is exchanged for the
//! right to a token that the runner generated. The runner then reports first whether the workspace
//! can be verified, and last the results; nothing in between.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::control::RunEnvironment;
use crate::plugin::{Plugin, PluginId};
use crate::verification::{CombinedResult, Level};
use crate::{OrgId, RunId, VerificationId};

/// The path of the claim; `POST` with a [`crate::control::Claim`], answered by a
/// [`VerificationSpec`].
pub const CLAIM_VERIFICATION_PATH: &str = "/control/verifications/claim";

/// The path of reports; `POST` with a [`VerificationReport`], answered by an empty object.
#[must_use]
pub fn verification_report_path(org: &OrgId, id: &VerificationId) -> String {
    format!("/control/{org}/verifications/{id}/report")
}

/// Wall time that a client can give all of it.
pub const TIMEOUT_MS: RangeInclusive<u64> = 1_000..=600_000;
/// Wall time without a client's setting.
pub const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// Longest path of a workspace, in bytes: what Linux takes.
pub const MAX_WORK_DIR_BYTES: usize = 4_095;
/// Most modified files.
pub const MAX_MODIFIED_FILES: usize = 5_000;
/// Longest path of one of them, in bytes.
pub const MAX_FILE_BYTES: usize = 4_095;
/// Largest result that is stored, in bytes of its JSON: it is part of one item.
pub const MAX_RESULT_BYTES: usize = 300_000;
/// What is wrong with a workspace, at most, in bytes.
pub const MAX_REFUSAL_BYTES: usize = 2_048;

/// A client's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Absolute; the runner decides whether it may be read.
    pub work_dir: String,
    /// What the workspace is about, for custom plugins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_prompt: Option<String>,
    /// The files that checks of files read, relative; all files where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_files: Option<Vec<String>>,
    /// In order.
    pub levels: Vec<Level>,
    /// The plugins that may run; all that are enabled where it is empty.
    pub plugin_ids: Vec<PluginId>,
    /// Wall time of all of it, from the moment that the first plugin begins.
    pub timeout_ms: u64,
}

/// All that the runner needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationSpec {
    /// The owner.
    pub org_id: OrgId,
    /// The verification.
    pub verification_id: VerificationId,
    /// As the client asked.
    pub work_dir: String,
    /// As the client asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_prompt: Option<String>,
    /// As the client asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_files: Option<Vec<String>>,
    /// What runs, in order.
    pub plugins: Vec<Plugin>,
    /// As the client asked.
    pub timeout_ms: u64,
    /// The run that the path names and its cost is put down to; a path that leads elsewhere is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The environment of the run whose workspace the path names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<VerificationEnvironment>,
}

/// The environment that a verification happens in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationEnvironment {
    /// The run that it is of; a path that leads elsewhere is refused.
    pub run_id: RunId,
    /// With the values of its secrets.
    pub environment: RunEnvironment,
}

/// The runner's report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum VerificationReport {
    /// The workspace is the organization's and has a plan, no file leads out of it; the plugins
    /// begin.
    Begun {},
    /// It is not, or it has none that reads.
    Refused {
        /// The modified file that is wrong, from 0; the workspace where it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u32>,
        /// What is wrong with the path, as a predicate.
        message: String,
    },
    /// All that was to be found.
    Finished {
        /// The answer.
        result: CombinedResult,
    },
}

/// The answer to a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {}

/// Reads a path of a workspace from outside.
///
/// # Errors
/// What is wrong with it, as a predicate.
pub fn check_work_dir(text: &str) -> Result<String, String> {
    if !text.starts_with('/') || text.len() > MAX_WORK_DIR_BYTES || text.contains('\0') {
        return Err(format!(
            "must be an absolute path of at most {MAX_WORK_DIR_BYTES} bytes, such as a run's workDir"
        ));
    }
    Ok(text.to_owned())
}

/// The run in whose folder a workspace lies, by the words of its path alone: `…/<orgId>/<runId>/…`.
#[must_use]
pub fn run_named_by(org: &OrgId, work_dir: &str) -> Option<RunId> {
    let mut parts = work_dir
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .skip_while(|part| *part != org.as_str());
    RunId::parse(parts.nth(1)?).ok()
}

/// Reads the path of a modified file from outside: it is relative and stays below the workspace.
/// It comes back without `.` and doubled slashes, so that it compares.
///
/// # Errors
/// What is wrong with it, as a predicate.
pub fn check_modified_file(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let is_bad = parts.is_empty()
        || text.starts_with('/')
        || parts.contains(&"..")
        || text.len() > MAX_FILE_BYTES
        || text.contains('\0');
    if is_bad {
        return Err(format!(
            "must be a path of at most {MAX_FILE_BYTES} bytes, relative to workDir and without \"..\""
        ));
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modified_file_never_leads_out_of_its_workspace() {
        for (good, read) in [("a", "a"), ("./a//b/.", "a/b"), ("..a/b..", "..a/b..")] {
            assert_eq!(check_modified_file(good).as_deref(), Ok(read));
        }
        for bad in [
            "",
            ".",
            "/",
            "/etc/passwd",
            "..",
            "a/../b",
            "a/..",
            "../x",
            "a\0",
        ] {
            assert!(check_modified_file(bad).is_err(), "{bad}");
        }
        assert!(check_modified_file(&"x".repeat(MAX_FILE_BYTES + 1)).is_err());
    }

    #[test]
    fn a_path_names_the_run_behind_its_organization() {
        let at = crate::Timestamp::from_epoch_ms(1);
        let (org, other, run) = (OrgId::new(at, 1), OrgId::new(at, 2), RunId::new(at, 1));
        for good in [
            format!("/w/{org}/{run}/workspace"),
            format!("/w//{org}/./{run}"),
            format!("/w/{other}/x/{org}/{run}/y"),
        ] {
            assert_eq!(run_named_by(&org, &good).as_ref(), Some(&run), "{good}");
        }
        for bad in [
            format!("/w/{other}/{run}/workspace"),
            format!("/w/{org}/x/{run}"),
            format!("/w/{run}/{org}"),
            format!("/w/{org}"),
            "/w".to_owned(),
        ] {
            assert_eq!(run_named_by(&org, &bad), None, "{bad}");
        }
    }

    #[test]
    fn a_workspace_has_an_absolute_path() {
        assert!(check_work_dir("/w/org/run/workspace").is_ok());
        for bad in [
            "",
            "w",
            "./w",
            "/w\0",
            &format!("/{}", "x".repeat(MAX_WORK_DIR_BYTES)),
        ] {
            assert!(check_work_dir(bad).is_err(), "{bad}");
        }
    }
}
