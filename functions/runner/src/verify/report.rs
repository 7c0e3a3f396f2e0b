//! From checks to results, and from results to the next iteration's feedback. All texts together
//! fit into one event.

use std::time::Duration;

use awo_domain::agent::Feedback;
use awo_domain::plugin::Plugin;
use awo_domain::verification::{Check, CombinedResult, Evidence, Level, PluginResult, Status};

use super::Judgement;
use crate::output::last_bytes;

/// Most entries of an iteration's feedback.
const MAX_FEEDBACK: usize = 50;
/// Longest text of one of them.
const MAX_FEEDBACK_BYTES: usize = 4_096;
/// All messages of a result together.
const MAX_MESSAGES_BYTES: usize = 131_072;
/// All results as JSON, in which a message may be much longer.
const MAX_JSON_BYTES: usize = 280_000;
/// Longest name of a check; a command without a name is its own.
pub(super) const MAX_NAME_CHARS: usize = 120;
/// Checks of each plugin that stay where even their names are too much.
const MAX_CHECKS: usize = 200;
/// Most checks that a summary names.
const MAX_NAMED: usize = 5;

/// The result of a plugin that ran.
pub(super) fn plugin(plugin: &Plugin, mut checks: Vec<Check>, took: Duration) -> PluginResult {
    for check in &mut checks {
        check.name = check.name.chars().take(MAX_NAME_CHARS).collect();
    }
    let status = if checks.is_empty() {
        Status::Skipped
    } else {
        Status::worst(checks.iter().map(|check| check.status))
    };
    PluginResult {
        plugin_id: plugin.id.to_string(),
        status,
        level: plugin.level,
        summary: summary_of(&checks),
        checks,
        duration_ms: millis(took),
    }
}

fn summary_of(checks: &[Check]) -> String {
    let passing = checks.iter().filter(|check| check.status.passes()).count();
    match checks.len() {
        0 => "nothing to check".to_owned(),
        all => match named(checks.iter()) {
            None => format!("{passing} of {all} checks passed"),
            Some(names) => format!("{passing} of {all} checks passed; not: {names}"),
        },
    }
}

/// Adds warnings to a result that do not come of its plugins; the first plugin has them.
pub(crate) fn remark(judgement: &mut Judgement, warnings: Vec<Check>) {
    let result = &mut judgement.result;
    let Some(first) = result.results.first_mut().filter(|_| !warnings.is_empty()) else {
        return;
    };
    first.checks.extend(warnings);
    recombined(judgement);
}

/// Brings a verdict in line with its checks, which were changed.
pub(crate) fn recombined(judgement: &mut Judgement) {
    let result = &mut judgement.result;
    let passed_before = result.overall_status.passes();
    for one in result
        .results
        .iter_mut()
        .filter(|one| !one.checks.is_empty())
    {
        one.status = Status::worst(one.checks.iter().map(|check| check.status));
        one.summary = summary_of(&one.checks);
    }
    let took = Duration::from_millis(result.duration_ms);
    let summary = std::mem::take(&mut result.summary);
    *result = combined(std::mem::take(&mut result.results), took);
    if result.overall_status.passes() && judgement.evidence == Evidence::None {
        if passed_before {
            // It says already why nothing was verified.
            result.summary = summary;
        } else {
            unverified(result, None);
        }
    }
}

/// The result of a plugin behind a closed gate.
pub(super) fn not_run(plugin: &Plugin, gate: Level) -> PluginResult {
    PluginResult {
        plugin_id: plugin.id.to_string(),
        status: Status::Skipped,
        level: plugin.level,
        summary: format!("not run, because {gate:?} did not pass"),
        checks: Vec::new(),
        duration_ms: 0,
    }
}

/// A verification that ended before its first plugin ran, with the check that gives the reason.
pub(crate) fn not_judged(plugins: &[Plugin], check: Check) -> CombinedResult {
    let level = check.status;
    let mut plugins = plugins.iter();
    let first = plugins.next();
    let first = first.map(|first| (plugin(first, vec![check], Duration::ZERO), first.level));
    let gate = first.as_ref().map_or(Level::L0, |(_, level)| *level);
    let results = first.into_iter().map(|(result, _)| result);
    let results: Vec<PluginResult> = results
        .chain(plugins.map(|plugin| not_run(plugin, gate)))
        .collect();
    let mut combined = combined(results, Duration::ZERO);
    // Without any plugin the check counts all the same.
    combined.overall_status = combined.overall_status.max(level);
    combined
}

/// The whole.
pub(super) fn combined(mut results: Vec<PluginResult>, took: Duration) -> CombinedResult {
    let overall_status = Status::worst(results.iter().map(|result| result.status));
    let checks = || results.iter().flat_map(|result| &result.checks);
    let summary = match named(checks()) {
        Some(names) => format!("verification did not pass: {names}"),
        None if checks().next().is_none() => {
            "nothing was verified: add a verify.yaml or tests".to_owned()
        }
        None => match checks().count() {
            1 => "verification passed: 1 check".to_owned(),
            count => format!("verification passed: {count} checks"),
        },
    };
    bound(&mut results);
    CombinedResult {
        overall_status,
        results,
        summary,
        duration_ms: millis(took),
    }
}

/// The remark on a verification that passes, and in which no test is known to have run and passed.
pub(super) fn unverified(result: &mut CombinedResult, advice: Option<&str>) {
    let checks = || result.results.iter().flat_map(|result| &result.checks);
    let warnings = checks().filter(|check| check.status == Status::Warning);
    let mut names: Vec<&str> = warnings.map(|check| check.name.as_str()).collect();
    names.truncate(MAX_NAMED);
    let because = match (names.is_empty(), checks().next(), advice) {
        (_, _, Some(advice)) => advice.to_owned(),
        (false, ..) => names.join(", "),
        (true, None, None) => "add a verify.yaml or tests".to_owned(),
        (true, Some(_), None) => "no test is known to have run and passed; add tests".to_owned(),
    };
    result.summary = format!("nothing was verified: {because}");
}

/// The names of the checks that do not pass.
fn named<'a>(checks: impl Iterator<Item = &'a Check>) -> Option<String> {
    let names: Vec<&str> = checks
        .filter(|check| !check.status.passes())
        .map(|check| check.name.as_str())
        .collect();
    match names.len() {
        0 => None,
        count if count > MAX_NAMED => Some(format!(
            "{} and {} more",
            names[..MAX_NAMED].join(", "),
            count - MAX_NAMED
        )),
        _ => Some(names.join(", ")),
    }
}

/// Cuts messages until the whole is small enough for one item.
fn bound(results: &mut [PluginResult]) {
    let mut limit = MAX_MESSAGES_BYTES;
    bound_messages(results, limit);
    let is_large = |results: &[PluginResult]| {
        serde_json::to_vec(results).is_ok_and(|json| json.len() > MAX_JSON_BYTES)
    };
    while limit > 0 && is_large(results) {
        limit /= 2;
        bound_messages(results, limit);
    }
    let mut most = MAX_CHECKS;
    while most > 0 && is_large(results) {
        for result in results.iter_mut() {
            cut(&mut result.checks, most);
        }
        most /= 2;
    }
}

/// Keeps so many checks, and of these rather those that do not pass; the summary counts them all.
fn cut(checks: &mut Vec<Check>, most: usize) {
    if checks.len() > most {
        checks.sort_by_key(|check| check.status.passes());
        checks.truncate(most);
    }
}

/// Cuts messages so that all of them fit, the last ones most.
fn bound_messages(results: &mut [PluginResult], limit: usize) {
    let mut left = limit;
    for check in results.iter_mut().flat_map(|result| &mut result.checks) {
        check.message = last_bytes(&check.message, left);
        left = left.saturating_sub(check.message.len());
    }
}

/// How many checks do not pass.
pub(crate) fn failing(result: &CombinedResult) -> usize {
    bad(result).count()
}

/// What the next iteration needs to know.
pub(crate) fn feedback(result: &CombinedResult) -> Vec<Feedback> {
    bad(result)
        .take(MAX_FEEDBACK)
        .map(|(level, check)| Feedback {
            level: Some(level),
            check: check.name.clone(),
            message: last_bytes(&check.message, MAX_FEEDBACK_BYTES),
        })
        .collect()
}

fn bad(result: &CombinedResult) -> impl Iterator<Item = (Level, &Check)> {
    result.results.iter().flat_map(|result| {
        let bad = result.checks.iter().filter(|check| !check.status.passes());
        bad.map(|check| (result.level, check))
    })
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use awo_domain::manual::MAX_RESULT_BYTES;
    use awo_domain::verification::CheckTests;

    use super::*;

    #[test]
    fn a_result_fits_into_an_item_whatever_commands_say() {
        let checks = (0..900).map(|n| Check {
            name: format!("{n:0120}"),
            status: Status::Failed,
            message: "\"\n".repeat(8_000),
            tests: Some(CheckTests::UNCOUNTED),
            location: None,
        });
        let tests = Plugin::all_built_in().remove(1);
        let result = plugin(&tests, checks.collect(), Duration::ZERO);
        let result = combined(vec![result], Duration::ZERO);
        let length = serde_json::to_vec(&result).unwrap().len();
        assert!(length < MAX_RESULT_BYTES, "{length}");
        assert_eq!(result.results[0].checks.len(), 900);
        assert!(result.results[0].checks[0].message.len() > 1_000);
    }

    #[test]
    fn names_that_are_too_much_together_are_cut_to_those_that_do_not_pass() {
        let checks = (0..3_000).map(|n| Check {
            name: format!("{n}{}", "\"".repeat(120)),
            status: if n == 2_999 {
                Status::Failed
            } else {
                Status::Passed
            },
            message: String::new(),
            tests: None,
            location: None,
        });
        let tests = Plugin::all_built_in().remove(1);
        let result = plugin(&tests, checks.collect(), Duration::ZERO);
        let result = combined(vec![result], Duration::ZERO);
        assert!(serde_json::to_vec(&result).unwrap().len() < MAX_RESULT_BYTES);
        assert_eq!(result.results[0].checks[0].status, Status::Failed);
        assert!(
            result.results[0]
                .summary
                .starts_with("2999 of 3000 checks passed")
        );
    }
}
