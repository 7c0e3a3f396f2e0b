//! The configuration groups of a profile's body. The descriptions of their members are those of the
//! group without gaps, which responses show.

use std::marker::PhantomData;

use awo_domain::money::MicroCredits;
use awo_domain::plugin::PluginId;
use awo_domain::profile::partial::{
    BONUS_ITERATIONS, CHILD_DEPTH, DISK_MB, DURATION_MS, ITERATIONS, MAX_BRANCH_PREFIX,
    MAX_COMMIT_PREFIX, MAX_LABEL, MAX_LABELS, MAX_LEVELS, MAX_PLUGINS, MAX_REVIEWER, MAX_REVIEWERS,
    MAX_SIGNAL, MAX_SIGNALS, MAX_STRATEGY_NAME, MEMORY_MB, PROCESSES, PartialExecutionLimits,
    PartialGitOps, PartialLoopStrategy, PartialVerification, RETRIES, TOKENS, VERIFICATION_MS,
    WINDOW, check_branch_prefix, check_line, check_params,
};
use awo_domain::profile::{
    Baseline, EvidenceRequirement, ExecutionLimits, GitMode, GitOps, LoopStrategy, RequiredValue,
    StrategyType, Verification,
};
use awo_domain::run_report::{CheckMode, CommentMode, MAX_CHECK_NAME, UnverifiedMode};
use awo_domain::source::{Branch, MAX_BRANCH};
use awo_domain::verification::Level;
use serde_json::{Map, Value as Json, json};
use utoipa::ToSchema;

use crate::body::Value;
use crate::field::{Field, credits, flag, list, one_of, parsed, small, text, typed, whole};
use crate::record::{Members, Record};
use crate::schema::{Schemas, input};

pub(super) fn loop_strategy() -> impl Field<Output = PartialLoopStrategy> {
    Group::<_, PartialLoopStrategy, LoopStrategy>::of("LoopStrategyInput", LoopStrategyGroup)
}

pub(super) fn verification() -> impl Field<Output = PartialVerification> {
    Group::<_, PartialVerification, Verification>::of("VerificationPolicyInput", VerificationGroup)
}

pub(super) fn git_ops() -> impl Field<Output = PartialGitOps> {
    Group::<_, PartialGitOps, GitOps>::of("GitOpsInput", GitOpsGroup)
}

pub(super) fn execution_limits() -> impl Field<Output = PartialExecutionLimits> {
    Group::<_, PartialExecutionLimits, ExecutionLimits>::of("ExecutionLimitsInput", LimitsGroup)
}

/// A group as bodies have it; the component that responses show is described at the same time.
struct Group<R, P, W> {
    name: &'static str,
    record: R,
    types: PhantomData<(P, W)>,
}

impl<R, P, W> Group<R, P, W> {
    fn of(name: &'static str, record: R) -> Group<R, P, W> {
        Group {
            name,
            record,
            types: PhantomData,
        }
    }
}

impl<R: Record, P: ToSchema, W: ToSchema> Field for Group<R, P, W> {
    type Output = R::Output;

    fn read(&self, value: Value) -> Option<R::Output> {
        self.record.read(value)
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        schemas.of::<P>();
        let shown = schemas.with_gaps::<P, W>();
        let mut body = self.record.schema(schemas);
        for (name, member) in body["properties"].as_object_mut().into_iter().flatten() {
            let described = &shown["properties"][name]["description"];
            if member["description"].is_null() {
                member["description"] = described.clone();
            }
        }
        let description = shown["description"].as_str().unwrap_or_default();
        let body = input(self.name, description, body);
        schemas.replace(&P::name(), shown);
        body
    }
}

struct LoopStrategyGroup;

impl Record for LoopStrategyGroup {
    type Output = PartialLoopStrategy;

    fn members<M: Members>(&self, members: &mut M) -> Option<PartialLoopStrategy> {
        Some(PartialLoopStrategy {
            kind: members.optional(
                "type",
                typed::<StrategyType, _, _>(|name| {
                    one_of(name, StrategyType::ALL, StrategyType::as_str)
                }),
            ),
            base_iterations: members.optional("baseIterations", small(ITERATIONS)),
            bonus_iterations: members.optional("bonusIterations", small(BONUS_ITERATIONS)),
            min_iterations: members.optional("minIterations", small(ITERATIONS)),
            convergence_threshold: members.optional("convergenceThreshold", Share),
            window_size: members.optional("windowSize", small(WINDOW)),
            completion_signals: members
                .optional("completionSignals", lines(MAX_SIGNALS, MAX_SIGNAL)),
            name: members.optional("name", line(MAX_STRATEGY_NAME)),
            params: members.optional("params", Parameters),
        })
    }
}

struct VerificationGroup;

impl Record for VerificationGroup {
    type Output = PartialVerification;

    fn members<M: Members>(&self, members: &mut M) -> Option<PartialVerification> {
        Some(PartialVerification {
            levels: members.optional("levels", levels()),
            skip_levels: members.optional("skipLevels", levels()),
            plugin_ids: members.optional(
                "pluginIds",
                list(typed::<PluginId, _, _>(plugin_id), 0..=MAX_PLUGINS),
            ),
            timeout_ms: members.optional("timeoutMs", whole(VERIFICATION_MS)),
            retry_flaky: members.optional("retryFlaky", small(RETRIES)),
            required: members.optional("required", Evidence),
            protect_tests: members.optional("protectTests", flag()),
            baseline: members.optional(
                "baseline",
                typed::<Baseline, _, _>(|name| one_of(name, Baseline::ALL, Baseline::as_str)),
            ),
            forgive: members.optional("forgive", flag()),
        })
    }
}

struct GitOpsGroup;

impl Record for GitOpsGroup {
    type Output = PartialGitOps;

    fn members<M: Members>(&self, members: &mut M) -> Option<PartialGitOps> {
        Some(PartialGitOps {
            mode: members.optional(
                "mode",
                typed::<GitMode, _, _>(|name| one_of(name, GitMode::ALL, GitMode::as_str)),
            ),
            branch_prefix: members.optional(
                "branchPrefix",
                parsed(text(0..=MAX_BRANCH_PREFIX), check_branch_prefix),
            ),
            commit_message_prefix: members.optional(
                "commitMessagePrefix",
                parsed(text(0..=MAX_COMMIT_PREFIX), commit_prefix),
            ),
            target_branch: members
                .optional("targetBranch", parsed(text(1..=MAX_BRANCH), Branch::parse)),
            draft: members.optional("draft", flag()),
            reviewers: members.optional("reviewers", lines(MAX_REVIEWERS, MAX_REVIEWER)),
            labels: members.optional("labels", lines(MAX_LABELS, MAX_LABEL)),
            checks: members.optional(
                "checks",
                typed::<CheckMode, _, _>(|name| one_of(name, CheckMode::ALL, CheckMode::as_str)),
            ),
            check_name: members.optional("checkName", line(MAX_CHECK_NAME)),
            unverified: members.optional(
                "unverified",
                typed::<UnverifiedMode, _, _>(|name| {
                    one_of(name, UnverifiedMode::ALL, UnverifiedMode::as_str)
                }),
            ),
            comment: members.optional(
                "comment",
                typed::<CommentMode, _, _>(|name| {
                    one_of(name, CommentMode::ALL, CommentMode::as_str)
                }),
            ),
            show_cost: members.optional("showCost", flag()),
        })
    }
}

struct LimitsGroup;

impl Record for LimitsGroup {
    type Output = PartialExecutionLimits;

    fn members<M: Members>(&self, members: &mut M) -> Option<PartialExecutionLimits> {
        Some(PartialExecutionLimits {
            max_iterations: members.optional("maxIterations", small(ITERATIONS)),
            max_duration_ms: members.optional("maxDurationMs", whole(DURATION_MS)),
            max_iteration_ms: members.optional("maxIterationMs", whole(DURATION_MS)),
            max_total_tokens: members.optional("maxTotalTokens", whole(TOKENS)),
            max_credits: members.optional("maxCredits", hold()),
            max_memory_mb: members.optional("maxMemoryMb", whole(MEMORY_MB)),
            max_disk_mb: members.optional("maxDiskMb", whole(DISK_MB)),
            max_processes: members.optional("maxProcesses", whole(PROCESSES)),
            max_child_depth: members.optional("maxChildDepth", small(CHILD_DEPTH)),
        })
    }
}

fn hold() -> impl Field<Output = MicroCredits> {
    credits().described(
        "The hold of a work order that names none. In credits, with at most six decimal places.",
    )
}

fn line(most: usize) -> impl Field<Output = String> {
    parsed(text(1..=most), move |text| check_line(text, most))
}

fn lines(many: usize, most: usize) -> impl Field<Output = Vec<String>> {
    list(line(most), 0..=many)
}

fn levels() -> impl Field<Output = Vec<Level>> {
    let level = |text: &str| {
        serde_json::from_value(text.into())
            .map_err(|_| "must be one of L0, L1, L2, L3, custom".to_owned())
    };
    list(typed::<Level, _, _>(level), 0..=MAX_LEVELS)
}

/// A plugin need not be there yet; what is no id would never be.
fn plugin_id(text: &str) -> Result<String, String> {
    PluginId::parse(text).map(|_| text.to_owned())
}

/// A prefix may end with a space, which stands between it and the message.
fn commit_prefix(text: &str) -> Result<String, String> {
    if text.chars().count() > MAX_COMMIT_PREFIX || text.chars().any(char::is_control) {
        Err(format!(
            "must be at most {MAX_COMMIT_PREFIX} characters, without control characters"
        ))
    } else {
        Ok(text.to_owned())
    }
}

/// A number from 0 to 1.
struct Share;

impl Field for Share {
    type Output = f64;

    fn read(&self, value: Value) -> Option<f64> {
        value.decimal(|number| {
            if (0.0..=1.0).contains(&number) {
                Ok(number)
            } else {
                Err("must be from 0 to 1".to_owned())
            }
        })
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "type": "number", "format": "double", "minimum": 0, "maximum": 1 })
    }
}

/// Parameters of a custom strategy.
struct Parameters;

impl Field for Parameters {
    type Output = Map<String, Json>;

    fn read(&self, value: Value) -> Option<Map<String, Json>> {
        value.json(check_params)
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "type": "object" })
    }
}

/// The evidence that a run needs.
struct Evidence;

impl Field for Evidence {
    type Output = EvidenceRequirement;

    fn read(&self, value: Value) -> Option<EvidenceRequirement> {
        value.json(|json| {
            serde_json::from_value(json)
                .map_err(|_| "must be true, false or \"counted\"".to_owned())
        })
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        schemas.of::<RequiredValue>()
    }
}
