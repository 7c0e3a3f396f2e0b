//! A client's profile, read and checked key by key. The effective profile, with those it extends,
//! is validated elsewhere.

use awo_domain::Error;
use awo_domain::environment::EnvironmentName;
use awo_domain::money::MicroCredits;
use awo_domain::plugin::PluginId;
use awo_domain::profile::partial::{
    BONUS_ITERATIONS, CHILD_DEPTH, DISK_MB, DURATION_MS, Groups, ITERATIONS, MAX_COMMIT_PREFIX,
    MAX_DESCRIPTION, MAX_LABEL, MAX_LABELS, MAX_LEVELS, MAX_PLUGINS, MAX_REVIEWER, MAX_REVIEWERS,
    MAX_SIGNAL, MAX_SIGNALS, MAX_STRATEGY_NAME, MEMORY_MB, PROCESSES, PartialContent,
    PartialExecutionLimits, PartialGitOps, PartialLoopStrategy, PartialVerification, RETRIES,
    TOKENS, VERIFICATION_MS, WINDOW, check_branch_prefix, check_line, check_params,
};
use awo_domain::profile::{Baseline, EvidenceRequirement, GitMode, ProfileName, StrategyType};
use awo_domain::source::Branch;
use awo_domain::verification::Level;
use awo_http::body::{Object, Value};

/// Reads the body of a create.
pub fn read_new(mut body: Object) -> Result<(ProfileName, PartialContent), Error> {
    let name = body.required("name", |v| v.parsed(ProfileName::parse));
    let content = content(&mut body);
    let read = body.finish(name.map(|name| (name, content)))?;
    Ok((read.0, checked(read.1)?))
}

/// Reads the body of a replacement, which may repeat the name but not change it.
pub fn read_replacement(mut body: Object, name: &ProfileName) -> Result<PartialContent, Error> {
    let same = |text: &str| {
        if text == name.as_str() {
            Ok(())
        } else {
            Err(format!("must be {name}: a profile cannot be renamed"))
        }
    };
    body.optional("name", |v| v.parsed(same));
    let content = content(&mut body);
    checked(body.finish(Some(content))?)
}

fn checked(content: PartialContent) -> Result<PartialContent, Error> {
    let faults = content.faults();
    if faults.is_empty() {
        Ok(content)
    } else {
        Err(Error::Invalid(faults))
    }
}

fn content(body: &mut Object) -> PartialContent {
    let description = body.optional("description", |v| v.text(0..=MAX_DESCRIPTION));
    PartialContent {
        description: description.unwrap_or_default(),
        extends: body.optional("extends", parent),
        groups: Groups {
            loop_strategy: body.optional("loopStrategy", loop_strategy),
            verification: body.optional("verification", verification),
            git_ops: body.optional("gitOps", git_ops),
            execution_limits: body.optional("executionLimits", execution_limits),
            environment: body.optional("environment", |v| v.parsed(EnvironmentName::parse)),
        },
    }
}

/// Null is what a profile shows that extends none.
fn parent(value: Value) -> Option<ProfileName> {
    if value.is_null() {
        None
    } else {
        value.parsed(ProfileName::parse)
    }
}

fn loop_strategy(value: Value) -> Option<PartialLoopStrategy> {
    value.object(|o| {
        Some(PartialLoopStrategy {
            kind: one_of(o, "type", StrategyType::ALL, StrategyType::as_str),
            base_iterations: small(o, "baseIterations", ITERATIONS),
            bonus_iterations: small(o, "bonusIterations", BONUS_ITERATIONS),
            min_iterations: small(o, "minIterations", ITERATIONS),
            convergence_threshold: o.optional("convergenceThreshold", |v| v.decimal(share)),
            window_size: small(o, "windowSize", WINDOW),
            completion_signals: lines(o, "completionSignals", MAX_SIGNALS, MAX_SIGNAL),
            name: line(o, "name", MAX_STRATEGY_NAME),
            params: o.optional("params", |v| v.json(check_params)),
        })
    })
}

fn verification(value: Value) -> Option<PartialVerification> {
    value.object(|o| {
        Some(PartialVerification {
            levels: levels(o, "levels"),
            skip_levels: levels(o, "skipLevels"),
            plugin_ids: o.optional("pluginIds", |v| {
                v.list(0..=MAX_PLUGINS, |v| v.parsed(plugin_id))
            }),
            timeout_ms: o.optional("timeoutMs", |v| v.whole(VERIFICATION_MS)),
            retry_flaky: small(o, "retryFlaky", RETRIES),
            required: o.optional("required", |v| v.json(required)),
            protect_tests: o.optional("protectTests", Value::flag),
            baseline: one_of(o, "baseline", Baseline::ALL, Baseline::as_str),
            forgive: o.optional("forgive", Value::flag),
        })
    })
}

fn required(value: serde_json::Value) -> Result<EvidenceRequirement, String> {
    serde_json::from_value(value).map_err(|_| "must be true, false or \"counted\"".to_owned())
}

fn git_ops(value: Value) -> Option<PartialGitOps> {
    value.object(|o| {
        Some(PartialGitOps {
            mode: one_of(o, "mode", GitMode::ALL, GitMode::as_str),
            branch_prefix: o.optional("branchPrefix", |v| v.parsed(check_branch_prefix)),
            commit_message_prefix: o.optional("commitMessagePrefix", |v| v.parsed(commit_prefix)),
            target_branch: o.optional("targetBranch", |v| v.parsed(Branch::parse)),
            draft: o.optional("draft", Value::flag),
            reviewers: lines(o, "reviewers", MAX_REVIEWERS, MAX_REVIEWER),
            labels: lines(o, "labels", MAX_LABELS, MAX_LABEL),
        })
    })
}

fn execution_limits(value: Value) -> Option<PartialExecutionLimits> {
    value.object(|o| {
        Some(PartialExecutionLimits {
            max_iterations: small(o, "maxIterations", ITERATIONS),
            max_duration_ms: o.optional("maxDurationMs", |v| v.whole(DURATION_MS)),
            max_iteration_ms: o.optional("maxIterationMs", |v| v.whole(DURATION_MS)),
            max_total_tokens: o.optional("maxTotalTokens", |v| v.whole(TOKENS)),
            max_credits: o.optional("maxCredits", |v| v.decimal(credits)),
            max_memory_mb: o.optional("maxMemoryMb", |v| v.whole(MEMORY_MB)),
            max_disk_mb: o.optional("maxDiskMb", |v| v.whole(DISK_MB)),
            max_processes: o.optional("maxProcesses", |v| v.whole(PROCESSES)),
            max_child_depth: small(o, "maxChildDepth", CHILD_DEPTH),
        })
    })
}

fn small(o: &mut Object, name: &str, range: std::ops::RangeInclusive<u64>) -> Option<u32> {
    let read = o.optional(name, |v| v.whole(range));
    read.and_then(|number| u32::try_from(number).ok())
}

fn one_of<T: Copy, const N: usize>(
    o: &mut Object,
    name: &str,
    all: [T; N],
    called: fn(T) -> &'static str,
) -> Option<T> {
    o.optional(name, |v| {
        v.parsed(|text| {
            let known = all.into_iter().find(|one| called(*one) == text);
            known.ok_or_else(|| format!("must be one of {}", all.map(called).join(", ")))
        })
    })
}

fn line(o: &mut Object, name: &str, most: usize) -> Option<String> {
    o.optional(name, |v| v.parsed(|text| check_line(text, most)))
}

fn lines(o: &mut Object, name: &str, many: usize, most: usize) -> Option<Vec<String>> {
    o.optional(name, |v| {
        v.list(0..=many, |v| v.parsed(|text| check_line(text, most)))
    })
}

fn levels(o: &mut Object, name: &str) -> Option<Vec<Level>> {
    let level = |text: &str| {
        serde_json::from_value(text.into())
            .map_err(|_| "must be one of L0, L1, L2, L3, custom".to_owned())
    };
    o.optional(name, |v| v.list(0..=MAX_LEVELS, |v| v.parsed(level)))
}

/// A plugin need not be there yet; what is no id would never be.
fn plugin_id(text: &str) -> Result<String, String> {
    PluginId::parse(text).map(|_| text.to_owned())
}

fn share(number: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err("must be from 0 to 1".to_owned())
    }
}

fn credits(number: f64) -> Result<MicroCredits, String> {
    match MicroCredits::from_decimal(number)? {
        MicroCredits::ZERO => Err("must be more than 0".to_owned()),
        credits => Ok(credits),
    }
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
