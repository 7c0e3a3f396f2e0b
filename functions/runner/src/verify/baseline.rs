//! The rule by which failures are compared with those of the base commit: which a change introduced,
//! which the base has, too, and which may be forgiven. Names decide, never counts.

use std::collections::BTreeMap;

use awo_domain::verification::{BaselineComparison, Check, MAX_COMPARED, PluginResult, Status};

use super::findings::MAX_COMMAND_CHARS;

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
/// alone. A check without names of tests is never forgiven.
pub(crate) fn forgive(results: &mut [PluginResult], base: &[PluginResult]) {
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
    for (r, c) in forgiven {
        let check = &mut results[r].checks[c];
        check.status = Status::Warning;
        check.message = format!("fails on the base, too: {}", check.message);
    }
}

#[cfg(test)]
mod tests {
    use awo_domain::verification::Level;

    use super::*;

    fn result(checks: &[(&str, Status)]) -> Vec<PluginResult> {
        let checks = checks.iter().map(|(name, status)| Check {
            name: (*name).to_owned(),
            status: *status,
            message: String::new(),
            tests: None,
        });
        vec![PluginResult {
            plugin_id: "built-in:tests".to_owned(),
            status: Status::Failed,
            level: Level::L1,
            summary: String::new(),
            checks: checks.collect(),
            duration_ms: 0,
        }]
    }

    /// Pre-existing, introduced, and whether only those are left that the base has.
    fn compared(
        now: &[(&str, Status)],
        base: &[(&str, Status)],
    ) -> (Vec<String>, Vec<String>, bool) {
        let comparison = compare(&result(now), &result(base), "b", false);
        let only = comparison.only_pre_existing;
        (comparison.pre_existing, comparison.introduced, only)
    }

    use Status::{Error, Failed, Passed};

    #[test]
    fn a_failure_is_the_bases_if_the_same_check_fails_there() {
        let now = [("unit", Failed), ("lint", Failed)];
        let (old, new, only) = compared(&now, &[("unit", Failed), ("lint", Passed)]);
        assert_eq!(
            (old, new, only),
            (vec!["unit".into()], vec!["lint".into()], false)
        );
        let (old, new, only) = compared(&now[..1], &[("unit", Failed)]);
        assert_eq!((old, new, only), (vec!["unit".into()], vec![], true));
    }

    #[test]
    fn what_was_not_judged_on_either_side_is_neither() {
        for (now, base) in [
            (("unit", Failed), ("unit", Error)),
            (("unit", Error), ("unit", Failed)),
            (("unit", Failed), ("other", Failed)),
        ] {
            assert_eq!(
                compared(&[now], &[base]),
                (vec![], vec![], false),
                "{now:?} {base:?}"
            );
        }
    }

    #[test]
    fn names_of_tests_decide_and_not_that_their_command_fails_on_both() {
        let base = [("unit", Failed), ("unit: a", Failed)];
        let (old, new, only) = compared(&[("unit", Failed), ("unit: a", Failed)], &base);
        assert_eq!((old.len(), new.len(), only), (2, 0, true));
        let (old, new, only) = compared(&[("unit", Failed), ("unit: b", Failed)], &base);
        assert_eq!((old.len(), new.len(), only), (0, 2, false));
    }

    #[test]
    fn findings_beyond_those_with_names_are_neither() {
        let now = [
            ("unit", Failed),
            ("unit: a", Failed),
            ("unit: 3 more", Failed),
        ];
        let base = [
            ("unit", Failed),
            ("unit: b", Failed),
            ("unit: 2 more", Failed),
        ];
        assert_eq!(compared(&now, &base), (vec![], vec![], false));
    }

    #[test]
    fn what_the_base_fails_and_passes_now_is_fixed() {
        let base = [("unit", Failed), ("unit: a", Failed), ("lint", Failed)];
        let now = [("unit", Passed), ("lint", Failed)];
        let comparison = compare(&result(&now), &result(&base), "b", true);
        assert_eq!(comparison.fixed, ["unit", "unit: a"]);
        assert_eq!(comparison.pre_existing, ["lint"]);
    }

    #[test]
    fn only_named_tests_that_the_base_fails_are_forgiven_with_their_command() {
        let statuses = |now: &[(&str, Status)], base: &[(&str, Status)]| {
            let mut now = result(now);
            forgive(&mut now, &result(base));
            let checks = now[0].checks.iter().map(|check| check.status.passes());
            checks.collect::<Vec<bool>>()
        };
        let old = [("unit", Failed), ("unit: a", Failed)];
        assert_eq!(statuses(&old, &old), [true, true]);
        let more = [("unit", Failed), ("unit: a", Failed), ("unit: b", Failed)];
        assert_eq!(statuses(&more, &old), [false, true, false]);
        let nameless = [("unit", Failed)];
        assert_eq!(statuses(&nameless, &nameless), [false]);
        let rest = [
            ("unit", Failed),
            ("unit: a", Failed),
            ("unit: 1 more", Failed),
        ];
        assert_eq!(statuses(&rest, &rest), [false, true, false]);
    }
}
