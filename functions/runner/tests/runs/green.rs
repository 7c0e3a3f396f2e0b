//! Green means tested: the tests that ran, those that did not, the delivery, and the reports of
//! both.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use awo_domain::WorkOrderId;
use awo_domain::control::RunnerEvent as E;
use awo_domain::profile::{Baseline, EvidenceRequirement};
use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::Status;

use crate::scene::{EndedRunner, Scene, git};

fn once(files: &[(&str, &str)], agent: &str) -> Scene {
    Scene::new(files, agent).once()
}

/// Whether the last verification verified anything, and the tests that were changed.
pub fn verified(ended: &EndedRunner) -> (bool, Vec<String>) {
    let last = ended.events.iter().rev().find_map(|event| match event {
        E::VerificationFinished {
            verified,
            tests_changed,
            ..
        } => Some((*verified, tests_changed.clone())),
        _ => None,
    });
    last.unwrap()
}

const NO_TESTS: &str = "tests: [{name: unit, run: \"echo 'Ran 0 tests in 0.000s'; echo OK\"}]\n";

#[test]
fn a_tool_that_ran_no_test_is_a_warning_and_its_branch_says_that_nothing_was_verified() {
    let scene = once(&[("verify.yaml", NO_TESTS)], "date > x");
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    assert_eq!(ended.check("unit").status, Status::Warning);
    let check = ended.check("no tests ran");
    assert_eq!(check.status, Status::Warning, "{}", check.message);
    assert!(!verified(&ended).0);
    let summary = ended.events.iter().find_map(|event| match event {
        E::VerificationFinished { summary, .. } => Some(summary.as_str()),
        _ => None,
    });
    assert_eq!(summary, Some("nothing was verified: unit, no tests ran"));
    let message = git(
        &scene.origin(),
        &["log", "-1", "--format=%B", branch.unwrap()],
    );
    assert!(message.contains("Unverified: "), "{message}");
    let head = git(&scene.origin(), &["rev-parse", branch.unwrap()]);
    assert_eq!(ended.succeeded().0, Some(head.trim()));
}

#[test]
fn the_count_of_tests_is_in_the_check() {
    let plan = "tests: [{name: unit, run: \"echo '3 passed, 1 skipped in 0.05s'\"}]\n";
    let scene = once(&[("verify.yaml", plan)], "date > x");
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    let unit = ended.check("unit");
    assert_eq!(unit.status, Status::Passed);
    assert!(
        unit.message.contains("4 tests: 3 passed, 1 skipped"),
        "{}",
        unit.message
    );
    assert!(verified(&ended).0);
    let message = git(
        &scene.origin(),
        &["log", "-1", "--format=%B", branch.unwrap()],
    );
    assert!(!message.contains("Unverified"), "{message}");
}

#[test]
fn tests_that_fail_are_named_where_the_output_is_tap() {
    let plan = "tests: [{name: unit, run: \"printf '1..2\\nok 1 - a\\nnot ok 2 - divides by zero\\n'; exit 1\"}]\n";
    let ended = once(&[("verify.yaml", plan)], "date > x").run();
    ended.failed(Code::MaxIterationsReached);
    let message = &ended.check("unit").message;
    assert!(
        message.starts_with("2 tests: 1 passed, 1 failed; exit code 1"),
        "{message}"
    );
    let named = ended.check("unit: divides by zero");
    assert_eq!(named.status, Status::Failed);
}

#[test]
fn a_profile_that_wants_verification_ends_a_run_without_any_before_its_delivery() {
    for files in [&[("verify.yaml", NO_TESTS)][..], &[("README.md", "x")]] {
        let mut scene = once(files, "date > x");
        scene.spec.profile.verification.required = EvidenceRequirement::Any;
        let ended = scene.run();
        let why = ended.failed(Code::NotVerified);
        assert!(why.contains("verification.required"), "{why}");
        assert_eq!(git(&scene.origin(), &["branch", "--list", "awo/*"]), "");
    }
}

#[test]
fn protected_files_are_put_back_in_the_delivered_commit_and_an_event_names_them() {
    let plan =
        "protected: ['tests/**', verify.yaml]\ntests: [{name: unit, run: 'sh tests/t.sh'}]\n";
    let files = [
        ("verify.yaml", plan),
        ("tests/t.sh", "test -e answer\n"),
        ("tests/more.txt", "more\n"),
    ];
    for agent in [
        "touch answer; rm -r tests; echo 'tests: []' > verify.yaml",
        "touch answer; rm -r tests; echo file > tests",
        "touch answer; rm -r tests; mkdir x; echo y > x/t.sh; ln -s x tests; rm verify.yaml",
        "touch answer; echo 'exit 0' > tests/t.sh; echo new > tests/new.txt",
    ] {
        let scene = once(&files, agent);
        let ended = scene.run();
        let (_, branch) = ended.succeeded();
        let branch = branch.unwrap();
        let show = |name: &str| git(&scene.origin(), &["show", &format!("{branch}:{name}")]);
        for (name, text) in files {
            assert_eq!(show(name), text, "{agent}");
        }
        let names = git(&scene.origin(), &["ls-tree", "-r", "--name-only", branch]);
        assert!(
            names.contains("answer") && !names.contains("tests/new.txt"),
            "{names}"
        );
        let restored = ended.events.iter().find_map(|event| match event {
            E::ProtectedRestored { files, iteration } => Some((files.clone(), *iteration)),
            _ => None,
        });
        let (restored, iteration) = restored.unwrap();
        assert_eq!(iteration, 1);
        assert!(restored.contains(&"tests/t.sh".to_owned()), "{restored:?}");
        assert!(verified(&ended).0);
        let here = fs::read_to_string(ended.run_dir.join("workspace/tests/t.sh")).unwrap();
        assert_eq!(here, files[1].1, "the agent's workspace is as its commit");
    }
}

#[test]
fn an_agent_that_has_to_go_on_gets_the_restored_files() {
    let plan = "protected: ['t.sh']\ntests: [{name: unit, run: 'sh t.sh'}]\n";
    let files = [("verify.yaml", plan), ("t.sh", "test -e answer\n")];
    let agent = "if test $AWO_ITERATION = 1; then echo 'exit 0' > t.sh; echo > x; \
                 else grep -q 'protected.*t.sh' \"$AWO_PROMPT_FILE\" && touch answer; fi";
    let ended = Scene::new(&files, agent).run();
    ended.succeeded();
    assert_eq!(ended.finish.unwrap().iterations, 2);
}

#[test]
fn an_agent_that_only_touched_protected_files_has_changed_nothing() {
    let plan = "protected: ['t.sh']\ntests: [{name: unit, run: 'sh t.sh'}]\n";
    let scene = once(
        &[("verify.yaml", plan), ("t.sh", "true\n")],
        "echo 'exit 1' > t.sh",
    );
    assert_eq!(scene.run().succeeded(), (None, None));
}

#[test]
fn changed_tests_that_are_not_protected_are_named_unless_the_profile_protects_tests() {
    let plan = "tests: [{name: unit, run: 'sh tests/t.sh'}]\n";
    let files = [
        ("verify.yaml", plan),
        ("tests/t.sh", "test -e answer\n"),
        ("tests/b", "b\n"),
    ];
    let agent = "touch answer; echo 'exit 0' > tests/t.sh; rm tests/b; echo x > tests/new";
    let ended = once(&files, agent).run();
    ended.succeeded();
    let check = ended.check("tests changed");
    assert_eq!(check.status, Status::Warning);
    assert!(
        check
            .message
            .contains("tests/b (removed), tests/t.sh (changed)"),
        "{}",
        check.message
    );
    let changed = ["tests/b", "tests/t.sh"].map(str::to_owned).to_vec();
    assert_eq!(verified(&ended), (true, changed));

    let mut scene = once(&files, agent);
    scene.spec.profile.verification.protect_tests = true;
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    let names = git(
        &scene.origin(),
        &["ls-tree", "-r", "--name-only", branch.unwrap()],
    );
    assert!(
        names.contains("tests/b\n") && names.contains("tests/new"),
        "{names}"
    );
    assert_eq!(verified(&ended), (true, Vec::new()));
}

#[test]
fn what_can_switch_the_tests_of_a_detected_plan_off_counts_as_a_test_file() {
    let files = &[("Makefile", "test:\n\ttrue\n")];
    for name in [
        "conftest.py",
        "pytest.ini",
        "a.egg-info/x",
        "sub/pytest.py",
        "package.json",
    ] {
        let text = r#"{"scripts": {"test": "true"}}"#;
        let agent = format!("mkdir -p $(dirname {name}); echo '{text}' > {name}");
        let ended = once(files, &agent).run();
        ended.succeeded();
        let check = ended.check("tests changed");
        assert!(check.message.contains(name), "{name}: {}", check.message);
        let gate = ended.check("gate changed");
        assert!(gate.message.contains(name), "{name}: {}", gate.message);
    }
}

#[test]
fn a_command_that_is_not_there_ends_the_run_before_anything_is_executed() {
    for plan in [
        "tests: [{name: unit, run: 'no-such-tool-here -q'}]\n",
        "contracts: {commands: [{run: no-such-tool-here}]}\n",
        "setup: [{run: no-such-tool-here x}]\ntests: [{run: 'true'}]\n",
    ] {
        let ended = Scene::new(&[("verify.yaml", plan)], "date > x").run();
        let why = ended.failed(Code::WorkspaceFailed);
        assert!(
            why.contains("no-such-tool-here") && why.contains("install it"),
            "{why}"
        );
        let finish = ended.finish.unwrap();
        assert_eq!((finish.iterations, finish.executed), (0, false));
    }
}

#[test]
fn a_command_that_turns_out_not_to_be_there_ends_the_run_after_one_iteration() {
    for (run, name) in [
        ("cd . && no-such-tool-here -q", "no-such-tool-here"),
        ("./t.sh", "t.sh"),
    ] {
        let plan = format!("tests: [{{name: unit, run: '{run}'}}]\n");
        let files = [
            ("verify.yaml", &*plan),
            ("t.sh", "#!/no/such/interpreter\n"),
        ];
        let ended = Scene::new(&files, "date > x").run();
        let why = ended.failed(Code::WorkspaceFailed);
        assert!(why.contains("unit") && why.contains(name), "{why}");
        assert_eq!(ended.check("unit").status, Status::Error);
        let finish = ended.finish.unwrap();
        assert_eq!((finish.iterations, finish.executed), (1, true));
    }
}

#[test]
fn tests_for_pytest_are_never_run_by_another_runner() {
    let files = [
        ("pyproject.toml", "[project]\n"),
        ("test_a.py", "def test_a():\n    assert False\n"),
    ];
    let mut scene = Scene::new(&files, "date > x");
    // A python3 without pytest, whose unittest finds nothing.
    let programs = scene.dir.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let python = programs.join("python3");
    fs::write(
        &python,
        "#!/bin/sh\ntest \"$1\" = -I && exit 1\necho 'Ran 0 tests in 0.0s'; echo OK\n",
    )
    .unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    scene.programs = Some(programs);
    let ended = scene.run();
    let why = ended.failed(Code::WorkspaceFailed);
    assert!(why.contains("pytest") && why.contains("install"), "{why}");
    let finish = ended.finish.unwrap();
    assert_eq!((finish.iterations, finish.executed), (0, false));
}

#[test]
fn the_base_is_held_against_the_plan_first_where_the_profile_wants_that() {
    let plan = "tests: [{name: unit, run: 'test -e answer || { echo lacks it; exit 1; }'}]\n";
    let agent = "cp \"$AWO_PROMPT_FILE\" prompt; cp \"$AWO_REQUEST\" request; touch answer";
    let mut scene = once(&[("verify.yaml", plan)], agent);
    scene.spec.profile.verification.baseline = Baseline::Before;
    let ended = scene.run();
    ended.succeeded();
    let baseline = ended.events.iter().position(|event| {
        matches!(
            event,
            E::BaselineFinished {
                overall_status: Status::Failed,
                ..
            }
        )
    });
    let started = |event: &E| matches!(event, E::IterationStarted { .. });
    assert!(baseline.unwrap() < ended.events.iter().position(started).unwrap());
    let prompt = fs::read_to_string(ended.run_dir.join("workspace/prompt")).unwrap();
    assert!(
        prompt.contains("unit") && prompt.contains("lacks it"),
        "{prompt}"
    );
    assert!(prompt.contains("Before anything is changed"), "{prompt}");
    let request = fs::read_to_string(ended.run_dir.join("workspace/request")).unwrap();
    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
    assert_eq!(request["feedback"][0]["check"], "unit");
}

#[test]
fn an_agent_knows_how_deep_it_is_and_whose_part() {
    let agent = "cp \"$AWO_REQUEST\" request; cmp \"$AWO_PROMPT\" \"$AWO_PROMPT_FILE\" || exit 1; \
                 echo \"$AWO_DEPTH ${AWO_PARENT_ID-none}\" > noted";
    let reported = |scene: &Scene| {
        let ended = scene.run();
        ended.succeeded();
        let read =
            |name: &str| fs::read_to_string(ended.run_dir.join("workspace").join(name)).unwrap();
        let request: serde_json::Value = serde_json::from_str(&read("request")).unwrap();
        (read("noted"), request)
    };
    let mut scene = once(&[("README.md", "x")], agent);
    let (text, request) = reported(&scene);
    assert_eq!((text.as_str(), &request["depth"]), ("0 none\n", &0.into()));
    assert!(request.get("parentId").is_none());
    scene = once(&[("README.md", "x")], agent);
    let parent = WorkOrderId::parse("wo_01k00000000000000000000000").unwrap();
    scene.spec.depth = 2;
    scene.spec.parent_id = Some(parent.clone());
    let (text, request) = reported(&scene);
    assert_eq!(text, format!("2 {parent}\n"));
    assert_eq!(request["parentId"], parent.as_str());
}

#[test]
fn a_child_asks_for_children_only_where_the_profile_allows_the_depth() {
    let agent = "echo '{\"children\":[{\"taskPrompt\":\"x\"}]}' > \"$AWO_RESULT\"";
    let mut scene = once(&[("README.md", "x")], agent);
    scene.spec.depth = 1;
    let ended = scene.run();
    ended.failed(Code::AgentFailed);
    assert!(ended.children.is_empty());
    let refused = ended.events.iter().find_map(|event| match event {
        E::ChildrenRefused { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(refused.unwrap().contains("maxChildDepth"));
    let mut scene = once(&[("README.md", "x")], agent);
    scene.spec.depth = 1;
    scene.spec.profile.execution_limits.max_child_depth = 2;
    assert_eq!(scene.run().children.len(), 1);
}
