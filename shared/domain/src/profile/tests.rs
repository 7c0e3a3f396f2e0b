use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::chain::merge;
use super::partial::{self, Groups, PartialContent, check_branch_prefix, check_line, check_params};
use super::*;
use crate::audit::canonical_hash;

fn name(text: &str) -> ProfileName {
    ProfileName::parse(text).unwrap()
}

fn built_in_profile(name: &str) -> Profile {
    resolve_built_in(name).unwrap()
}

fn failed(done: u32, failing: usize, best: Option<usize>) -> IterationOutcome {
    IterationOutcome {
        done,
        passed: false,
        failing,
        best,
        signaled: false,
        converged: false,
    }
}

#[test]
fn bonus_iterations_are_earned_by_progress() {
    let profile = Profile::default_profile();
    assert_eq!(profile.max_iterations(None), 5);
    let goes_on = |asked, done, failing, best| profile.goes_on(asked, &failed(done, failing, best));
    assert!(
        goes_on(None, 2, 4, Some(4)),
        "base iterations need no progress"
    );
    assert!(goes_on(None, 3, 3, Some(4)));
    assert!(!goes_on(None, 3, 4, Some(4)));
    assert!(!goes_on(None, 5, 1, Some(4)));
    assert!(
        goes_on(Some(7), 6, 4, Some(4)),
        "an asked number is granted whole"
    );
    assert!(!goes_on(Some(1), 1, 0, None));
}

#[test]
fn built_in_profiles_iterate_as_they_say() {
    let counts = BUILT_IN_NAMES.map(|name| built_in_profile(name).max_iterations(None));
    assert_eq!(counts, [5, 8, 2, 15]);
    let rapid = built_in_profile("rapid-iteration");
    assert_eq!(rapid.levels(), [Level::L0, Level::L1, Level::Custom]);
    assert!(!rapid.goes_on(None, &failed(2, 1, Some(5))));
    let ci = built_in_profile("ci-focused");
    assert!(ci.git_ops.mode == GitMode::PullRequest && ci.git_ops.draft);
    for name in BUILT_IN_NAMES {
        let profile = built_in_profile(name);
        assert_eq!(
            (profile.name.as_str(), profile.not_runnable()),
            (name, None)
        );
    }
    assert_eq!(built_in_profile("default"), Profile::default_profile());
    assert!(resolve_built_in("nobody").is_none());
}

#[test]
fn ralph_goes_on_until_it_passes_converges_or_says_that_it_is_done() {
    let mut profile = built_in_profile("ralph-style");
    profile.loop_strategy.min_iterations = 3;
    let after = |done, passed, signaled, converged| {
        let last = IterationOutcome {
            passed,
            signaled,
            converged,
            ..failed(done, 1, Some(0))
        };
        profile.goes_on(None, &last)
    };
    assert!(after(2, true, false, true), "it has a least number");
    assert!(!after(3, true, false, false), "passed");
    assert!(!after(3, false, false, true), "converged");
    assert!(after(14, false, true, false), "done, and yet it fails");
    assert!(!after(1, true, true, false), "done, and it is true");
    assert!(!after(15, false, false, false), "the limit");
    assert!(!profile.goes_on(Some(2), &failed(2, 1, None)), "asked");
}

#[test]
fn outputs_converge_when_all_of_the_window_say_the_same() {
    let mut strategy = built_in_profile("ralph-style").loop_strategy;
    strategy.convergence_threshold = 0.5;
    let outputs = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    for (texts, wanted) in [
        (vec!["a b", "a  b", "b\na"], true),
        (vec!["x y", "a b", "a b", "a b"], true),
        (vec!["a b c", "a b d", "a b e"], true),
        (vec!["a b", "a b"], false),
        (vec!["a b", "a b", "a c"], false),
        (vec!["", "", ""], false),
    ] {
        assert_eq!(
            strategy.has_converged(&outputs(&texts)),
            wanted,
            "{texts:?}"
        );
    }
    strategy.completion_signals = vec!["ALL DONE".to_owned()];
    assert!(strategy.is_signaled("x\n  ALL DONE \r\ny"));
    assert!(!strategy.is_signaled("not ALL DONE"));
}

#[test]
fn a_custom_strategy_cannot_be_run() {
    let mut profile = Profile::default_profile();
    profile.loop_strategy.kind = StrategyType::Custom;
    profile.loop_strategy.name = Some("ours".to_owned());
    assert!(profile.not_runnable().unwrap().contains("\"ours\""));
    let strategy = partial::PartialLoopStrategy {
        kind: Some(StrategyType::Custom),
        ..partial::PartialLoopStrategy::default()
    };
    let mut content = PartialContent::default();
    content.groups.loop_strategy = Some(strategy);
    assert_eq!(content.faults()[0].path, "/loopStrategy/name");
}

#[test]
fn single_values_are_checked() {
    for good in ["", "awo/", "a-", "team/x/"] {
        assert!(check_branch_prefix(good).is_ok(), "{good}");
    }
    for bad in [
        "-x/", "a..", "a b/", "/", ".a/", "x.lock/", "a~", "a//", "\u{7}",
    ] {
        assert!(check_branch_prefix(bad).is_err(), "{bad}");
    }
    assert!(check_line("DONE now", 8).is_ok());
    for bad in ["", " ", "a\nb", " a", "123456789"] {
        assert!(check_line(bad, 8).is_err(), "{bad:?}");
    }
    assert!(check_params(json!({ "a": [1, { "b_-": 1.5 }] })).is_ok());
    for bad in [
        json!(1),
        json!({ "a b": 1 }),
        json!({ "a": { "": 1 } }),
        json!({ "a": 9_007_199_254_740_992_u64 }),
        json!({ "a": "x".repeat(partial::MAX_PARAMS_BYTES) }),
    ] {
        assert!(check_params(bad.clone()).is_err(), "{bad}");
    }
    for bad in ["", "a b", "a_b", "ü", &"a".repeat(129)] {
        assert!(ProfileName::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn an_array_is_replaced_and_an_object_is_not() {
    let with_git_ops = |git_ops| PartialContent {
        groups: Groups {
            git_ops: Some(git_ops),
            ..Groups::default()
        },
        ..PartialContent::default()
    };
    let parent = with_git_ops(partial::PartialGitOps {
        labels: Some(vec!["a".to_owned()]),
        reviewers: Some(vec!["r".to_owned()]),
        ..partial::PartialGitOps::default()
    });
    let child = PartialContent {
        extends: Some(name("p")),
        ..with_git_ops(partial::PartialGitOps {
            labels: Some(Vec::new()),
            ..partial::PartialGitOps::default()
        })
    };
    let profile = resolve(&name("c"), &child, |_| Some(parent.clone())).unwrap();
    assert_eq!(profile.git_ops.labels, Vec::<String>::new());
    assert_eq!(profile.git_ops.reviewers, ["r"]);
    assert_eq!(profile.git_ops.branch_prefix, "awo/");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop::collection::btree_map("[a-c]", inner, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
}

fn merged(base: &Value, over: &Value) -> Value {
    let mut merged = base.clone();
    merge(&mut merged, over.clone());
    merged
}

proptest! {
    #[test]
    fn merging_is_associative_idempotent_and_the_last_value_wins(
        a in json_value(), b in json_value(), c in json_value()
    ) {
        prop_assert_eq!(merged(&a, &a), a.clone());
        prop_assert_eq!(merged(&merged(&a, &b), &b), merged(&a, &b));
        let objects = [&a, &b, &c].iter().all(|v| v.is_object());
        if objects {
            prop_assert_eq!(merged(&a, &json!({})), a.clone());
            prop_assert_eq!(merged(&json!({}), &a), a.clone());
        }
    }

    #[test]
    fn a_hash_does_not_depend_on_the_order_of_names(a in json_value()) {
        fn reversed(value: &Value) -> String {
            match value {
                Value::Object(members) => {
                    let text = members.iter().rev();
                    let text = text.map(|(k, v)| format!("{}: {}", Value::from(k.as_str()), reversed(v)));
                    format!("{{ {} }}", text.collect::<Vec<_>>().join(" , "))
                }
                other => other.to_string(),
            }
        }
        let again: Value = serde_json::from_str(&reversed(&a)).unwrap();
        prop_assert_eq!(canonical_hash(&a).unwrap(), canonical_hash(&again).unwrap());
    }

    /// Any way in which up to 14 profiles may extend each other: each resolves, or its error names a
    /// reason that is true.
    #[test]
    fn every_chain_is_resolved_or_refused_for_a_true_reason(
        parents in prop::collection::vec(prop::option::of(0..16_u32), 14)
    ) {
        let named = |i: usize| name(&format!("p{i}"));
        let contents: BTreeMap<ProfileName, PartialContent> = parents.iter().enumerate().map(|(i, parent)| {
            let limits = partial::PartialExecutionLimits {
                max_iterations: Some(u32::try_from(i).unwrap() + 1),
                ..partial::PartialExecutionLimits::default()
            };
            let groups = Groups { execution_limits: Some(limits), ..Groups::default() };
            let extends = parent.map(|p| named(p as usize));
            (named(i), PartialContent { extends, groups, ..PartialContent::default() })
        }).collect();
        for (i, _) in parents.iter().enumerate() {
            let mut seen = vec![i];
            let reason = loop {
                let last = seen[seen.len() - 1];
                match parents.get(last) {
                    None => break Some("is not the name"),
                    Some(None) if seen.len() > MAX_CHAIN => break Some("creates a chain"),
                    Some(None) => break None,
                    Some(Some(next)) if seen.contains(&(*next as usize)) => {
                        break Some(if seen.len() > MAX_CHAIN { "creates a chain" } else { "creates a cycle" });
                    }
                    Some(Some(next)) => seen.push(*next as usize),
                }
            };
            let reason = if seen.len() > MAX_CHAIN { Some("creates a chain") } else { reason };
            let me = named(i);
            let got = resolve(&me, &contents[&me], |name| contents.get(name).cloned());
            match (got, reason) {
                (Ok(profile), None) => {
                    prop_assert_eq!(profile.execution_limits.max_iterations as usize, i + 1);
                }
                (Err(fault), Some(reason)) => {
                    prop_assert!(fault.message.starts_with(reason), "{} / {}", fault.message, reason);
                }
                (got, reason) => prop_assert!(false, "{got:?} / {reason:?}"),
            }
        }
    }
}
