//! The rule by which failures are compared with those of the base commit: which a change introduced,
//! which the base has, too, and which may be forgiven. Names decide, never counts.

use std::collections::BTreeMap;

use awo_domain::verification::{
    BaselineComparison, Check, MAX_COMPARED, PluginResult, Status, TestSource,
};

use super::findings::MAX_COMMAND_CHARS;
use super::report::MAX_NAME_CHARS;

/// End of the name of a check that stands for findings without names.
const MORE: &str = " more";

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passes,
    Fails,
    /// Not run, not judged, or beyond the findings that have names.
    Unknown,
}

/// The checks of a verification, by plugin and name.
struct Checks<'a> {
    by_plugin: BTreeMap<&'a str, &'a [Check]>,
}

impl<'a> Checks<'a> {
    fn of(results: &'a [PluginResult]) -> Checks<'a> {
        let ran = results.iter().filter(|result| !result.checks.is_empty());
        let by_plugin = ran.map(|result| (result.plugin_id.as_str(), result.checks.as_slice()));
        Checks {
            by_plugin: by_plugin.collect(),
        }
    }

    fn named(&self, plugin: &str, name: &str) -> Option<&'a Check> {
        let checks = self.by_plugin.get(plugin)?;
        checks.iter().find(|check| check.name == name)
    }

    /// The command whose report the check is a finding of.
    fn owner(&self, plugin: &str, name: &str) -> Option<&'a Check> {
        let checks = self.by_plugin.get(plugin)?;
        checks.iter().find(|check| is_finding(name, &check.name))
    }

    /// The findings of a command that do not pass.
    fn failing_findings(&self, plugin: &str, command: &str) -> Vec<&'a Check> {
        let checks = self.by_plugin.get(plugin).copied().unwrap_or_default();
        let of_command = checks
            .iter()
            .filter(|check| is_finding(&check.name, command));
        of_command.filter(|check| !check.status.passes()).collect()
    }

    fn verdict(&self, plugin: &str, name: &str) -> Verdict {
        if let Some(check) = self.named(plugin, name) {
            return match check.status {
                Status::Passed | Status::Warning => Verdict::Passes,
                Status::Failed => Verdict::Fails,
                Status::Skipped | Status::Error => Verdict::Unknown,
            };
        }
        // Findings that pass have no checks: one that is absent passed, or is not there.
        let Some(owner) = self.owner(plugin, name) else {
            return Verdict::Unknown;
        };
        let is_judged = matches!(
            owner.status,
            Status::Passed | Status::Warning | Status::Failed
        );
        let findings = self.failing_findings(plugin, &owner.name);
        let are_all_named = !findings.iter().any(|check| is_rest(check));
        // A command that failed without any finding wrote no report.
        let has_report = owner.status != Status::Failed || !findings.is_empty();
        if is_judged && are_all_named && has_report {
            Verdict::Passes
        } else {
            Verdict::Unknown
        }
    }
}

/// True if the check stands for findings that have no names.
fn is_rest(check: &Check) -> bool {
    let count = check
        .name
        .strip_suffix(MORE)
        .and_then(|name| name.rsplit(": ").next());
    count.is_some_and(|count| count.parse::<usize>().is_ok())
}

/// True if the check is this command's own, or a finding of it.
pub(crate) fn is_of_command(check: &str, command: &str) -> bool {
    let own: String = command.chars().take(MAX_NAME_CHARS).collect();
    check == own || is_finding(check, command)
}

/// The failing checks of a verification that the results of the base say nothing of, by plugin.
pub(crate) fn unjudged<'a>(
    results: &'a [PluginResult],
    base: &[PluginResult],
) -> Vec<(&'a str, &'a str)> {
    let before = Checks::of(base);
    let failed = not_passing(results).filter(|(_, check)| check.status == Status::Failed);
    let is_new = |(plugin, check): &(&str, &Check)| {
        before.named(plugin, &check.name).is_none() && before.owner(plugin, &check.name).is_none()
    };
    let new = failed.filter(is_new);
    new.map(|(plugin, check)| (plugin, check.name.as_str()))
        .collect()
}

/// The results of a base that other runs may rely on: of commands whose tests were counted, and that could
/// be judged, with their findings. Messages are left out.
pub(crate) fn storable(results: &[PluginResult]) -> Vec<PluginResult> {
    let is_counted = |check: &Check| {
        let tests = check.tests.as_ref();
        let counted = tests.is_some_and(|tests| tests.source != TestSource::ExitCode);
        counted && check.status != Status::Error
    };
    let stored = results.iter().map(|result| {
        let commands = result.checks.iter().filter(|check| is_counted(check));
        let names: Vec<&str> = commands.map(|check| check.name.as_str()).collect();
        let checks = result.checks.iter().filter(|check| {
            let is_of_a_command = names.iter().any(|name| is_of_command(&check.name, name));
            is_of_a_command && check.status != Status::Error
        });
        PluginResult {
            summary: String::new(),
            checks: checks
                .map(|check| Check {
                    message: String::new(),
                    ..check.clone()
                })
                .collect(),
            ..result.clone()
        }
    });
    stored.filter(|result| !result.checks.is_empty()).collect()
}

/// Adds results of further checks of the base.
pub(crate) fn add(base: &mut Vec<PluginResult>, more: Vec<PluginResult>) {
    for result in more {
        match base
            .iter_mut()
            .find(|one| one.plugin_id == result.plugin_id)
        {
            None => base.push(result),
            Some(there) => {
                let is_new = |check: &Check| !there.checks.iter().any(|one| one.name == check.name);
                let new: Vec<Check> = result.checks.into_iter().filter(is_new).collect();
                there.checks.extend(new);
            }
        }
    }
}

fn is_finding(name: &str, command: &str) -> bool {
    let command: String = command.chars().take(MAX_COMMAND_CHARS).collect();
    name.strip_prefix(&command)
        .is_some_and(|rest| rest.starts_with(": "))
}

/// Compares a verification with that of the base. With `fixed`, what the base fails and now passes is
/// listed, too.
pub(crate) fn compare(
    results: &[PluginResult],
    base: &[PluginResult],
    base_commit: &str,
    fixed: bool,
) -> BaselineComparison {
    let (now, before) = (Checks::of(results), Checks::of(base));
    let mut comparison = BaselineComparison {
        base_commit: base_commit.to_owned(),
        ..BaselineComparison::default()
    };
    let mut are_all_there = true;
    for (plugin, check) in not_passing(results) {
        match standing(&now, &before, plugin, check) {
            Verdict::Fails => comparison.pre_existing.push(check.name.clone()),
            Verdict::Passes => comparison.introduced.push(check.name.clone()),
            Verdict::Unknown => are_all_there = false,
        }
    }
    comparison.only_pre_existing =
        are_all_there && comparison.introduced.is_empty() && !comparison.pre_existing.is_empty();
    if fixed {
        let failed = not_passing(base).filter(|(_, check)| check.status == Status::Failed);
        let is_fixed = |(plugin, check): &(&str, &Check)| {
            !is_rest(check) && now.verdict(plugin, &check.name) == Verdict::Passes
        };
        let names = failed.filter(is_fixed).map(|(_, check)| check.name.clone());
        comparison.fixed = names.collect();
    }
    for names in [
        &mut comparison.pre_existing,
        &mut comparison.introduced,
        &mut comparison.fixed,
    ] {
        names.truncate(MAX_COMPARED);
    }
    comparison
}

/// Verdict of the base on a failing check. A command with findings stands as they do: a test that
/// only fails now makes it another failure, although the command fails on both.
fn standing(now: &Checks<'_>, before: &Checks<'_>, plugin: &str, check: &Check) -> Verdict {
    if check.status == Status::Error || is_rest(check) {
        return Verdict::Unknown;
    }
    let own = before.verdict(plugin, &check.name);
    let findings = now.failing_findings(plugin, &check.name);
    if own != Verdict::Fails || findings.is_empty() {
        return own;
    }
    let mut verdict = Verdict::Fails;
    for finding in findings {
        match standing(now, before, plugin, finding) {
            Verdict::Fails => {}
            Verdict::Passes => return Verdict::Passes,
            Verdict::Unknown => verdict = Verdict::Unknown,
        }
    }
    verdict
}

fn not_passing(results: &[PluginResult]) -> impl Iterator<Item = (&str, &Check)> {
    results.iter().flat_map(|result| {
        let bad = result.checks.iter().filter(|check| !check.status.passes());
        bad.map(|check| (result.plugin_id.as_str(), check))
    })
}

/// Makes warnings of named tests that fail on the base, too, and of commands that fail because of these
/// alone. A check without names of tests is never forgiven. Returns true if a test that was counted passed in
/// a command that is forgiven.
pub(crate) fn forgive(results: &mut [PluginResult], base: &[PluginResult]) -> bool {
    let mut forgiven: Vec<(usize, usize)> = Vec::new();
    {
        let (now, before) = (Checks::of(results), Checks::of(base));
        for (r, result) in results.iter().enumerate() {
            let plugin = result.plugin_id.as_str();
            for (c, check) in result.checks.iter().enumerate() {
                let has_names = now.owner(plugin, &check.name).is_some()
                    || !now.failing_findings(plugin, &check.name).is_empty();
                let is_old = check.status == Status::Failed
                    && standing(&now, &before, plugin, check) == Verdict::Fails;
                if has_names && is_old {
                    forgiven.push((r, c));
                }
            }
        }
    }
    let mut has_passed = false;
    for (r, c) in forgiven {
        let check = &mut results[r].checks[c];
        has_passed |= check.tests.is_some_and(|tests| tests.counts().passed > 0);
        check.status = Status::Warning;
        check.message = format!("fails on the base, too: {}", check.message);
    }
    has_passed
}

#[cfg(test)]
mod tests;
