//! The rule of comparisons, by tables of checks.

use awo_domain::verification::{CheckTests, Level, TestCounts};

use super::*;

fn result(checks: &[(&str, Status)]) -> Vec<PluginResult> {
    let checks = checks.iter().map(|(name, status)| Check {
        name: (*name).to_owned(),
        status: *status,
        message: String::new(),
        tests: None,
        location: None,
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
fn compared(now: &[(&str, Status)], base: &[(&str, Status)]) -> (Vec<String>, Vec<String>, bool) {
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
fn of_a_base_what_was_counted_is_stored_and_what_was_not_judged_is_not() {
    let mut results = result(&[
        ("unit", Failed),
        ("unit: a", Failed),
        ("plain", Failed),
        ("slow", Error),
    ]);
    let counted = CheckTests::counted(TestCounts::default(), TestSource::Summary);
    for (index, tests) in [(0, counted), (2, CheckTests::UNCOUNTED), (3, counted)] {
        results[0].checks[index].tests = Some(tests);
    }
    let stored = storable(&results);
    let names: Vec<&str> = stored[0]
        .checks
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["unit", "unit: a"]);
    assert!(storable(&result(&[("plain", Failed)])).is_empty());
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
