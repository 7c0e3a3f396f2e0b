//! Failures that the base has, too, are distinguished from those that a run introduced.

use std::fs;

use awo_domain::control::RunnerEvent as E;
use awo_domain::profile::Baseline;
use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::{BaselineComparison, Evidence, Status};

use crate::scene::{EndedRunner, Scene};

/// Fails without `answer`, and with `broken`.
const PLAN: &str =
    "tests: [{name: old, run: 'test -e answer'}, {name: new, run: 'test ! -e broken'}]\n";
/// Two tests with names, of which `old` always fails, and a command that always passes.
const NAMED: &str = r#"
tests:
  - name: unit
    run: |
      printf '1..2\nok 1 - good\nnot ok 2 - old\n' > out.tap
      if test -e broken; then printf '1..3\nok 1 - good\nnot ok 2 - old\nnot ok 3 - new\n' > out.tap; fi
      exit 1
    report: {format: tap, path: out.tap}
  - {name: other, run: "echo '1 passed in 0.1s'"}
blackbox: [{name: whole, run: 'echo done', expect: {contains: [done]}}]
"#;

fn comparison(ended: &EndedRunner) -> Option<BaselineComparison> {
    ended.events.iter().rev().find_map(|event| match event {
        E::VerificationFinished { baseline, .. } => Some(baseline.clone()),
        _ => None,
    })?
}

#[test]
fn a_run_whose_base_fails_learns_that_before_it_spends_another_iteration() {
    let agent = "cp \"$AWO_REQUEST\" request; date +%N > x";
    let mut scene = Scene::new(&[("verify.yaml", PLAN)], agent);
    scene.spec.asked_iterations = Some(2);
    let ended = scene.run();
    let message = ended.failed(Code::MaxIterationsReached);
    assert!(
        message.contains("fails on the base commit, too"),
        "{message}"
    );
    let compared = comparison(&ended).unwrap();
    assert_eq!(compared.pre_existing, ["old"]);
    assert_eq!(
        (compared.introduced, compared.only_pre_existing),
        (Vec::new(), true)
    );
    let request = fs::read_to_string(ended.run_dir.join("workspace/request")).unwrap();
    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
    let feedback = request["feedback"].as_array().unwrap();
    assert_eq!(feedback[0]["check"], "old", "{request:#}");
    let text = feedback[0]["message"].as_str().unwrap();
    assert!(
        text.starts_with("(fails on the base commit, too)"),
        "{text}"
    );
    let last = feedback.last().unwrap();
    assert_eq!(last["check"], "baseline", "{request:#}");
    let text = last["message"].as_str().unwrap();
    assert!(
        text.contains("old") && text.contains("nothing else fails"),
        "{text}"
    );
}

#[test]
fn what_a_run_breaks_is_introduced_and_what_it_repairs_is_fixed() {
    for (policy, fixed) in [
        (Baseline::Lazy, vec![]),
        (Baseline::Eager, vec!["old".to_owned()]),
        (Baseline::Before, vec!["old".to_owned()]),
    ] {
        let mut scene = Scene::new(&[("verify.yaml", PLAN)], "touch answer broken").once();
        scene.spec.profile.verification.baseline = policy;
        let ended = scene.run();
        let message = ended.failed(Code::MaxIterationsReached);
        assert!(!message.contains("base commit"), "{message}");
        let compared = comparison(&ended).unwrap();
        assert_eq!(compared.introduced, ["new"], "{policy:?}");
        assert_eq!((compared.pre_existing, compared.fixed), (Vec::new(), fixed));
    }
}

#[test]
fn nothing_is_compared_where_nothing_fails_or_the_profile_wants_none() {
    let ended = Scene::new(&[("verify.yaml", PLAN)], "touch answer")
        .once()
        .run();
    ended.succeeded();
    assert_eq!(comparison(&ended), None);
    let mut scene = Scene::new(&[("verify.yaml", PLAN)], "touch x").once();
    scene.spec.profile.verification.baseline = Baseline::Off;
    let ended = scene.run();
    ended.failed(Code::MaxIterationsReached);
    assert_eq!(comparison(&ended), None);
}

#[test]
fn forgiven_tests_leave_the_verdict_alone_and_the_levels_above_run() {
    for (agent, forgiven) in [("touch x", true), ("touch broken", false)] {
        let mut scene = Scene::new(&[("verify.yaml", NAMED)], agent).once();
        scene.spec.profile.verification.forgive = true;
        let ended = scene.run();
        if forgiven {
            ended.succeeded();
            assert_eq!(ended.check("unit").status, Status::Warning);
            assert_eq!(ended.check("whole").status, Status::Passed);
        } else {
            ended.failed(Code::MaxIterationsReached);
            assert_eq!(ended.check("unit").status, Status::Failed);
        }
    }
}

#[test]
fn without_forgiveness_or_without_names_a_failure_of_the_base_fails_the_verdict() {
    let nameless = "tests: [{name: unit, run: 'exit 1'}]\n";
    for (plan, forgive) in [(NAMED, false), (nameless, true)] {
        let mut scene = Scene::new(&[("verify.yaml", plan)], "touch x").once();
        scene.spec.profile.verification.forgive = forgive;
        let ended = scene.run();
        ended.failed(Code::MaxIterationsReached);
        assert!(comparison(&ended).unwrap().only_pre_existing);
    }
}

/// Returns whether the last verification was verified, and by which evidence.
fn evidence(ended: &EndedRunner) -> (bool, Evidence) {
    let verdict = ended.events.iter().rev().find_map(|event| match event {
        E::VerificationFinished {
            verified, evidence, ..
        } => Some((*verified, *evidence)),
        _ => None,
    });
    verdict.unwrap()
}

#[test]
fn a_verdict_that_forgives_is_verified_by_a_counted_test_that_passed_alone() {
    let forgiven = |unit: &str, other: &str| {
        let plan = format!(
            "tests:\n  - {{name: unit, run: \"printf '{unit}' > out.tap; exit 1\", \
             report: {{format: tap, path: out.tap}}}}\n  - {{name: other, run: \"{other}\"}}\n"
        );
        let mut scene = Scene::new(&[("verify.yaml", &plan)], "touch x").once();
        scene.spec.profile.verification.forgive = true;
        let ended = scene.run();
        ended.succeeded();
        evidence(&ended)
    };
    let old = r"1..1\\nnot ok 1 - old\\n";
    assert_eq!(forgiven(old, "true"), (false, Evidence::None));
    let counted = forgiven(old, "echo '1 passed in 0.1s'");
    assert_eq!(counted, (true, Evidence::Counted));
    let beside = r"1..2\\nok 1 - good\\nnot ok 2 - old\\n";
    assert_eq!(forgiven(beside, "true"), (true, Evidence::Counted));
}

#[test]
fn what_a_failing_check_needs_runs_on_the_base_too() {
    let plan = "contracts: {commands: [{name: made, run: 'echo x > made'}]}\n\
                tests:\n  - {name: old, run: 'test -e made && test -e answer', needs: [made]}\n\
                \x20 - {name: other, run: 'test -e x'}\n";
    let ended = Scene::new(&[("verify.yaml", plan)], "touch x").once().run();
    ended.failed(Code::MaxIterationsReached);
    assert_eq!(comparison(&ended).unwrap().pre_existing, ["old"]);
}
