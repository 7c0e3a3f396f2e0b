//! The profiles that every organization has.

use super::partial::{self, Groups, PartialContent};
use super::{
    Baseline, EvidenceRequirement, ExecutionLimits, GitMode, GitOps, LoopStrategy, Profile,
    ProfileName, StrategyType, Verification,
};
use crate::run_report::{CHECK_NAME, CheckMode, CommentMode, UnverifiedMode};
use crate::verification::Level;

/// Their names, in the order in which they are listed.
pub const BUILT_IN_NAMES: [&str; 4] = ["default", "ci-focused", "rapid-iteration", "ralph-style"];

impl Profile {
    /// The built-in profile `default`: three iterations, two more while there is progress. It
    /// fills every gap that a chain of profiles leaves.
    #[must_use]
    pub fn default_profile() -> Profile {
        Profile {
            name: Self::DEFAULT_NAME.to_owned(),
            loop_strategy: LoopStrategy {
                kind: StrategyType::Hybrid,
                base_iterations: 3,
                bonus_iterations: 2,
                min_iterations: 1,
                convergence_threshold: 0.95,
                window_size: 3,
                completion_signals: Vec::new(),
                name: None,
                params: None,
            },
            verification: Verification {
                levels: vec![Level::L0, Level::L1, Level::L2, Level::L3, Level::Custom],
                skip_levels: Vec::new(),
                plugin_ids: Vec::new(),
                timeout_ms: 600_000,
                retry_flaky: 0,
                required: EvidenceRequirement::No,
                protect_tests: false,
                baseline: Baseline::Lazy,
                forgive: false,
            },
            git_ops: GitOps {
                mode: GitMode::Push,
                branch_prefix: "awo/".to_owned(),
                commit_message_prefix: String::new(),
                target_branch: None,
                draft: false,
                reviewers: Vec::new(),
                labels: Vec::new(),
                checks: CheckMode::Off,
                check_name: CHECK_NAME.to_owned(),
                unverified: UnverifiedMode::Fail,
                comment: CommentMode::Off,
                show_cost: false,
            },
            execution_limits: ExecutionLimits {
                max_iterations: 100,
                max_duration_ms: 3_600_000,
                max_iteration_ms: 600_000,
                max_total_tokens: None,
                max_credits: None,
                max_memory_mb: None,
                max_disk_mb: None,
                max_processes: None,
                max_child_depth: 1,
            },
            environment: None,
        }
    }
}

/// The built-in profile of that name, as if a client had written it.
#[must_use]
pub fn built_in(name: &ProfileName) -> Option<PartialContent> {
    match name.as_str() {
        "default" => Some(default_content()),
        "ci-focused" => Some(ci_focused()),
        "rapid-iteration" => Some(rapid_iteration()),
        "ralph-style" => Some(ralph_style()),
        _ => None,
    }
}

/// `default`, which leaves no gaps.
fn default_content() -> PartialContent {
    let whole = serde_json::to_value(Profile::default_profile()).unwrap_or_default();
    PartialContent {
        description: "Three iterations, two more while there is progress; the result is pushed."
            .to_owned(),
        extends: None,
        groups: serde_json::from_value(whole).unwrap_or_default(),
    }
}

fn over_default(description: &str, groups: Groups) -> PartialContent {
    PartialContent {
        description: description.to_owned(),
        extends: ProfileName::parse(Profile::DEFAULT_NAME).ok(),
        groups,
    }
}

fn ci_focused() -> PartialContent {
    let groups = Groups {
        loop_strategy: Some(partial::PartialLoopStrategy {
            kind: Some(StrategyType::Fixed),
            base_iterations: Some(8),
            ..partial::PartialLoopStrategy::default()
        }),
        verification: Some(partial::PartialVerification {
            timeout_ms: Some(1_800_000),
            retry_flaky: Some(1),
            ..partial::PartialVerification::default()
        }),
        git_ops: Some(partial::PartialGitOps {
            mode: Some(GitMode::PullRequest),
            draft: Some(true),
            ..partial::PartialGitOps::default()
        }),
        execution_limits: Some(partial::PartialExecutionLimits {
            max_duration_ms: Some(7_200_000),
            ..partial::PartialExecutionLimits::default()
        }),
        environment: None,
    };
    over_default(
        "Up to eight iterations, all levels, and a draft pull request for the result.",
        groups,
    )
}

fn rapid_iteration() -> PartialContent {
    let groups = Groups {
        loop_strategy: Some(partial::PartialLoopStrategy {
            kind: Some(StrategyType::Fixed),
            base_iterations: Some(2),
            ..partial::PartialLoopStrategy::default()
        }),
        verification: Some(partial::PartialVerification {
            skip_levels: Some(vec![Level::L2, Level::L3]),
            timeout_ms: Some(120_000),
            ..partial::PartialVerification::default()
        }),
        git_ops: Some(partial::PartialGitOps {
            mode: Some(GitMode::Push),
            ..partial::PartialGitOps::default()
        }),
        execution_limits: Some(partial::PartialExecutionLimits {
            max_duration_ms: Some(900_000),
            max_iteration_ms: Some(300_000),
            ..partial::PartialExecutionLimits::default()
        }),
        environment: None,
    };
    over_default(
        "Two quick iterations, without the blackbox and sanity levels.",
        groups,
    )
}

fn ralph_style() -> PartialContent {
    let groups = Groups {
        loop_strategy: Some(partial::PartialLoopStrategy {
            kind: Some(StrategyType::Ralph),
            min_iterations: Some(1),
            convergence_threshold: Some(0.95),
            window_size: Some(3),
            ..partial::PartialLoopStrategy::default()
        }),
        verification: Some(partial::PartialVerification {
            timeout_ms: Some(600_000),
            ..partial::PartialVerification::default()
        }),
        git_ops: Some(partial::PartialGitOps {
            mode: Some(GitMode::Push),
            ..partial::PartialGitOps::default()
        }),
        execution_limits: Some(partial::PartialExecutionLimits {
            max_iterations: Some(15),
            max_duration_ms: Some(14_400_000),
            ..partial::PartialExecutionLimits::default()
        }),
        environment: None,
    };
    over_default(
        "The same prompt again, up to 15 times, until verification passes or nothing new comes.",
        groups,
    )
}
