//! The configuration groups of a profile's body: as the answers show them, with the limits by which
//! they are read, and closed.

use awo_domain::plugin::PluginId;
use awo_domain::profile::partial::{
    self, BONUS_ITERATIONS, CHILD_DEPTH, DISK_MB, DURATION_MS, ITERATIONS, MAX_BRANCH_PREFIX,
    MAX_COMMIT_PREFIX, MAX_LABEL, MAX_LABELS, MAX_LEVELS, MAX_PLUGINS, MAX_REVIEWER, MAX_REVIEWERS,
    MAX_SIGNAL, MAX_SIGNALS, MAX_STRATEGY_NAME, MEMORY_MB, PROCESSES, RETRIES, TOKENS,
    VERIFICATION_MS, WINDOW,
};
use awo_domain::profile::{ExecutionLimits, GitOps, LoopStrategy, Verification};
use awo_domain::source::MAX_BRANCH;
use awo_domain::verification::Level;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::document::schema::{Schemas, credits, input, list, refined, text, whole};

/// A group as bodies have it; its component of the answers is described at the same time.
fn group<'a, P: ToSchema, W: ToSchema>(
    schemas: &mut Schemas,
    name: &str,
    limits: impl IntoIterator<Item = (&'a str, Value)>,
) -> Value {
    schemas.of::<P>();
    let shown = schemas.with_gaps::<P, W>();
    schemas.replace(&P::name(), shown.clone());
    let description = shown["description"].as_str().unwrap_or_default().to_owned();
    let mut body = refined(shown, limits);
    body["additionalProperties"] = json!(false);
    input(name, &description, body)
}

fn lines(many: usize, most: usize) -> Value {
    list(&text(1..=most), 0..=many)
}

pub fn loop_strategy(schemas: &mut Schemas) -> Value {
    let limits = [
        ("baseIterations", whole(ITERATIONS)),
        ("bonusIterations", whole(BONUS_ITERATIONS)),
        ("minIterations", whole(ITERATIONS)),
        (
            "convergenceThreshold",
            json!({ "minimum": 0, "maximum": 1 }),
        ),
        ("windowSize", whole(WINDOW)),
        ("completionSignals", lines(MAX_SIGNALS, MAX_SIGNAL)),
        ("name", text(1..=MAX_STRATEGY_NAME)),
    ];
    group::<partial::PartialLoopStrategy, LoopStrategy>(schemas, "LoopStrategyInput", limits)
}

pub fn verification(schemas: &mut Schemas) -> Value {
    let levels = list(&schemas.of::<Level>(), 0..=MAX_LEVELS);
    let plugins = list(&schemas.of::<PluginId>(), 0..=MAX_PLUGINS);
    let limits = [
        ("levels", levels.clone()),
        ("skipLevels", levels),
        ("pluginIds", plugins),
        ("timeoutMs", whole(VERIFICATION_MS)),
        ("retryFlaky", whole(RETRIES)),
    ];
    group::<partial::PartialVerification, Verification>(schemas, "VerificationPolicyInput", limits)
}

pub fn git_ops(schemas: &mut Schemas) -> Value {
    let limits = [
        ("branchPrefix", text(0..=MAX_BRANCH_PREFIX)),
        ("commitMessagePrefix", text(0..=MAX_COMMIT_PREFIX)),
        ("targetBranch", text(1..=MAX_BRANCH)),
        ("reviewers", lines(MAX_REVIEWERS, MAX_REVIEWER)),
        ("labels", lines(MAX_LABELS, MAX_LABEL)),
    ];
    group::<partial::PartialGitOps, GitOps>(schemas, "GitOpsInput", limits)
}

pub fn execution_limits(schemas: &mut Schemas) -> Value {
    let limits = [
        (
            "maxCredits",
            credits("The hold of a work order that names none."),
        ),
        ("maxIterations", whole(ITERATIONS)),
        ("maxDurationMs", whole(DURATION_MS)),
        ("maxIterationMs", whole(DURATION_MS)),
        ("maxTotalTokens", whole(TOKENS)),
        ("maxMemoryMb", whole(MEMORY_MB)),
        ("maxDiskMb", whole(DISK_MB)),
        ("maxProcesses", whole(PROCESSES)),
        ("maxChildDepth", whole(CHILD_DEPTH)),
    ];
    group::<partial::PartialExecutionLimits, ExecutionLimits>(
        schemas,
        "ExecutionLimitsInput",
        limits,
    )
}
