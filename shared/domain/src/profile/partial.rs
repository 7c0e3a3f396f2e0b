//! A profile as its client wrote it: every key may be inherited from the profile that it extends.
//!
//! The limits here bound a resolved profile: only `params` grows along a chain.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Baseline, EvidenceRequirement, GitMode, ProfileName, RequiredValue, StrategyType};
use crate::environment::EnvironmentName;
use crate::money::MicroCredits;
use crate::run_report::{CheckMode, CommentMode, UnverifiedMode};
use crate::source::Branch;
use crate::verification::Level;
use crate::{Fault, RunId, Timestamp};

/// Most profiles of an organization.
pub const MAX_PROFILES: u32 = 100;
/// Largest profile, in bytes of its JSON: all of an organization's are one query of 1 MB.
pub const MAX_PROFILE_BYTES: usize = 8_192;
/// Longest description, in characters.
pub const MAX_DESCRIPTION: usize = 1_000;
/// Iterations, where a profile speaks of them.
pub const ITERATIONS: RangeInclusive<u64> = 1..=100;
/// Iterations beyond the base.
pub const BONUS_ITERATIONS: RangeInclusive<u64> = 0..=100;
/// Outputs that are compared.
pub const WINDOW: RangeInclusive<u64> = 2..=super::convergence::MAX_WINDOW as u64;
/// Most completion signals.
pub const MAX_SIGNALS: usize = 10;
/// Longest completion signal, in characters.
pub const MAX_SIGNAL: usize = 200;
/// Longest name of a custom strategy, in characters.
pub const MAX_STRATEGY_NAME: usize = 64;
/// Largest parameters of a custom strategy, in bytes of their JSON.
pub const MAX_PARAMS_BYTES: usize = 2_048;
/// Longest name of a parameter, in characters.
pub const MAX_PARAM_NAME: usize = 64;
/// Most levels in a list of them.
pub const MAX_LEVELS: usize = 5;
/// Most plugins that a profile names.
pub const MAX_PLUGINS: usize = 20;
/// Milliseconds of one verification.
pub const VERIFICATION_MS: RangeInclusive<u64> = 1_000..=3_600_000;
/// How often a check may be tried again.
pub const RETRIES: RangeInclusive<u64> = 0..=3;
/// Longest prefix of branches, in characters.
pub const MAX_BRANCH_PREFIX: usize = 100;
/// Longest prefix of commit messages, in characters.
pub const MAX_COMMIT_PREFIX: usize = 100;
/// Most reviewers.
pub const MAX_REVIEWERS: usize = 15;
/// Longest name of a reviewer, in characters.
pub const MAX_REVIEWER: usize = 100;
/// Most labels.
pub const MAX_LABELS: usize = 20;
/// Longest label, in characters.
pub const MAX_LABEL: usize = 50;
/// Milliseconds of a run, and of an iteration.
pub const DURATION_MS: RangeInclusive<u64> = crate::work_order::DURATION_MS;
/// Tokens of a run.
pub const TOKENS: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Memory, in MiB.
pub const MEMORY_MB: RangeInclusive<u64> = 64..=1_048_576;
/// Disk, in MiB.
pub const DISK_MB: RangeInclusive<u64> = 64..=10_485_760;
/// Processes at once.
pub const PROCESSES: RangeInclusive<u64> = 8..=65_536;
/// Depth from which on agents ask for no children.
pub const CHILD_DEPTH: RangeInclusive<u64> = 0..=3;
/// Largest whole number that every reader of JSON takes for the same.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// A loop strategy that may be partial: absent members come from the profile that this one extends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = PartialLoopStrategy)]
pub struct PartialLoopStrategy {
    /// Its kind.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<StrategyType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bonus_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convergence_threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_signals: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Map<String, Value>>,
}

/// A verification policy that may be partial: absent members come from the profile that this one extends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = PartialVerification)]
pub struct PartialVerification {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<Level>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_levels: Option<Vec<Level>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_flaky: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RequiredValue>)]
    pub required: Option<EvidenceRequirement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect_tests: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgive: Option<bool>,
}

/// Use of git that may be partial: absent members come from the profile that this one extends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = PartialGitOps)]
pub struct PartialGitOps {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<GitMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_message_prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub target_branch: Option<Branch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<UnverifiedMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub show_cost: Option<bool>,
}

/// Limits that may be partial: absent members come from the profile that this one extends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = PartialExecutionLimits)]
pub struct PartialExecutionLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iteration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_credits: Option<MicroCredits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_memory_mb: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_disk_mb: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_child_depth: Option<u32>,
}

/// The configuration groups with gaps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = ProfileGroups)]
pub struct Groups {
    /// How often the agent may try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_strategy: Option<PartialLoopStrategy>,
    /// The verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<PartialVerification>,
    /// The delivery of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_ops: Option<PartialGitOps>,
    /// Ends of patience.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_limits: Option<PartialExecutionLimits>,
    /// The environment of work orders that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentName>,
}

/// The fields of a profile that a client sets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialContent {
    /// For people.
    pub description: String,
    /// The profile that fills its gaps; `default` where it is absent.
    #[serde(default)]
    pub extends: Option<ProfileName>,
    /// Its own settings, without those of its parents.
    #[serde(flatten)]
    pub groups: Groups,
}

impl PartialContent {
    /// What is wrong with it as a whole, with JSON pointers; single values are their readers'.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |path: &str, message: String| {
            let path = path.to_owned();
            faults.push(Fault { path, message });
        };
        let strategy = self.groups.loop_strategy.as_ref();
        let is_custom = strategy.is_some_and(|s| s.kind == Some(StrategyType::Custom));
        if is_custom && strategy.is_some_and(|s| s.name.is_none()) {
            let message = "is required where the type is \"custom\"";
            fault("/loopStrategy/name", message.to_owned());
        }
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_PROFILE_BYTES {
            let message = format!("describes a profile larger than {MAX_PROFILE_BYTES} bytes");
            fault("", message);
        }
        faults
    }
}

/// Checks a prefix of branches: with a run's id behind it, git must take it for a branch.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_branch_prefix(text: &str) -> Result<String, String> {
    let sample = RunId::new(Timestamp::from_epoch_ms(0), 0);
    if text.chars().count() > MAX_BRANCH_PREFIX {
        return Err(format!(
            "must not be longer than {MAX_BRANCH_PREFIX} characters"
        ));
    }
    Branch::parse(&format!("{text}{sample}"))
        .map(|_| text.to_owned())
        .map_err(|_| "is not a valid beginning of a git branch name".to_owned())
}

/// Checks a text that must be one line, with something on it.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_line(text: &str, most: usize) -> Result<String, String> {
    let characters = text.chars().count();
    if text.trim().is_empty() || characters > most {
        Err(format!(
            "must have 1 to {most} characters that are not all white space"
        ))
    } else if text.trim() != text || text.chars().any(char::is_control) {
        Err("must be one line, without control characters or white space at its ends".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Checks the parameters of a custom strategy: they are hashed, so that all readers must take
/// them for the same.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_params(params: Value) -> Result<Map<String, Value>, String> {
    if params.to_string().len() > MAX_PARAMS_BYTES {
        return Err(format!("must not be larger than {MAX_PARAMS_BYTES} bytes"));
    }
    check_param(&params)?;
    match params {
        Value::Object(params) => Ok(params),
        _ => Err("must be an object".to_owned()),
    }
}

fn check_param(value: &Value) -> Result<(), String> {
    let is_name = |name: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        (1..=MAX_PARAM_NAME).contains(&name.len()) && name.bytes().all(allowed)
    };
    match value {
        Value::Number(number) if number.as_f64().is_none_or(|n| n.abs() > MAX_EXACT) => Err(
            format!("contains the number {number}, which JSON cannot represent exactly"),
        ),
        Value::Array(items) => items.iter().try_for_each(check_param),
        Value::Object(members) => members.iter().try_for_each(|(name, value)| {
            if is_name(name) {
                check_param(value)
            } else {
                let shown: String = name.chars().take(MAX_PARAM_NAME).collect();
                Err(format!(
                    "contains the name {shown:?}: names are 1 to {MAX_PARAM_NAME} letters, digits, \
                     underscores and hyphens"
                ))
            }
        }),
        _ => Ok(()),
    }
}
