//! `verify` orders: a commit is judged by the plan of its base branch, and nothing is committed or
//! delivered.

use std::path::Path;

use awo_domain::agent::AgentType;
use awo_domain::control::{Gate, GateComparison, RunnerEvent as E};
use awo_domain::profile::EvidenceRequirement;
use awo_domain::run::RunErrorCode as Code;
use awo_domain::source::{Branch, CommitId};
use awo_domain::verification::Status;

use crate::scene::{EndedRunner, Scene, commit_files, git};

const PLAN: &str =
    "tests: [{name: unit, run: \"sh t.sh && echo '1 passed in 0.1s'\"}]\nprotected: ['t.sh']\n";
const RED: (&str, &str) = ("t.sh", "exit 1\n");
const GREEN: (&str, &str) = ("t.sh", "exit 0\n");

/// A base with this plan and these files, and a branch `next` from it.
fn scene(files: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new(files, "true");
    scene.spec.agent.kind = AgentType::Verify;
    scene.spec.agent.command = None;
    scene.spec.asked_iterations = Some(1);
    scene.spec.gate = Some(Gate::default());
    scene.spec.source.branch = Some(Branch::parse("next").unwrap());
    git(&scene.origin(), &["checkout", "-q", "-b", "next"]);
    scene
}

/// Commits to a branch, and leaves the origin on `main`, its default branch.
fn commit(origin: &Path, branch: &str, files: &[(&str, &str)]) -> String {
    git(origin, &["checkout", "-q", branch]);
    commit_files(origin, files);
    let head = git(origin, &["rev-parse", "HEAD"]).trim().to_owned();
    git(origin, &["checkout", "-q", "main"]);
    head
}

fn gate(ended: &EndedRunner) -> GateComparison {
    let last = ended.events.iter().rev().find_map(|event| match event {
        E::VerificationFinished { gate, .. } => gate.clone(),
        _ => None,
    });
    last.unwrap_or_else(|| panic!("no gate: {:#?}", ended.events))
}

#[test]
fn a_commit_that_passes_the_plan_of_its_base_succeeds_without_agent_commit_or_delivery() {
    let scene = scene(&[("verify.yaml", PLAN), GREEN]);
    let origin = scene.origin();
    let head = commit(&origin, "next", &[("a", "new\n")]);
    let branches = git(&origin, &["branch", "--list"]);
    let ended = scene.run();
    assert_eq!(ended.succeeded(), (Some(head.as_str()), None));
    assert_eq!(ended.check("unit").status, Status::Passed);
    assert_eq!(git(&origin, &["branch", "--list"]), branches);
    let kinds: Vec<bool> = ended
        .events
        .iter()
        .map(|event| {
            matches!(
                event,
                E::WorkspaceReady { .. }
                    | E::IterationStarted { iteration: 1 }
                    | E::VerificationStarted { .. }
                    | E::VerificationFinished { verified: true, .. }
            )
        })
        .collect();
    assert_eq!(kinds, [true; 4], "{:#?}", ended.events);
    let finish = ended.finish.as_ref().unwrap();
    assert_eq!((finish.iterations, finish.executed), (1, true));
    assert!(finish.usage.is_empty());
    let gate = gate(&ended);
    assert_eq!((gate.behind, gate.gate_changed), (Some(0), Vec::new()));
}

#[test]
fn a_commit_that_does_not_pass_fails_with_verification_failed() {
    let scene = scene(&[("verify.yaml", PLAN), ("u.sh", "true\n"), RED]);
    let head = commit(&scene.origin(), "next", &[("a", "new\n")]);
    let ended = scene.run();
    let message = ended.failed(Code::VerificationFailed);
    for part in [head.as_str(), "unit", "main"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_commit_cannot_weaken_the_plan_that_judges_it_and_is_named_for_trying() {
    let scene = scene(&[("verify.yaml", PLAN), RED]);
    let weak = "tests: [{name: nothing, run: 'true'}]\n";
    commit(&scene.origin(), "next", &[("verify.yaml", weak)]);
    let ended = scene.run();
    ended.failed(Code::VerificationFailed);
    assert_eq!(ended.check("unit").status, Status::Failed);
    let named = ended.check("gate changed");
    assert_eq!(named.status, Status::Warning);
    assert!(named.message.contains("verify.yaml"), "{}", named.message);
    assert_eq!(gate(&ended).gate_changed, ["verify.yaml"]);
}

#[test]
fn protected_files_are_the_commits_or_with_protect_the_bases() {
    for protect in [false, true] {
        let mut scene = scene(&[("verify.yaml", PLAN), RED]);
        scene.spec.gate = Some(Gate {
            base: Some(Branch::parse("main").unwrap()),
            protect,
        });
        commit(&scene.origin(), "next", &[GREEN]);
        let ended = scene.run();
        if protect {
            ended.failed(Code::VerificationFailed);
        } else {
            ended.succeeded();
        }
        assert_eq!(gate(&ended).gate_changed, ["t.sh"], "protect: {protect}");
    }
}

#[test]
fn a_commit_behind_its_base_is_judged_by_the_bases_newest_plan_and_learns_that() {
    let scene = scene(&[("a", "a\n"), RED]);
    let origin = scene.origin();
    commit(&origin, "next", &[GREEN]);
    commit(&origin, "main", &[("verify.yaml", PLAN)]);
    commit(&origin, "main", &[("b", "b\n")]);
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(ended.check("unit").status, Status::Passed);
    let gate = gate(&ended);
    assert_eq!(
        (gate.behind, gate.gate_changed),
        (Some(2), vec!["t.sh".to_owned()])
    );
    let behind = ended.check("behind the base");
    assert_eq!(behind.status, Status::Warning);
    assert!(behind.message.contains("2 commits"), "{}", behind.message);
}

#[test]
fn a_commit_is_verified_by_its_id_however_far_it_is_from_its_branch_and_base() {
    let mut scene = scene(&[("verify.yaml", PLAN), RED]);
    let origin = scene.origin();
    let head = commit(&origin, "next", &[GREEN]);
    for i in 0..60 {
        let text = format!("{i}\n");
        commit(&origin, "next", &[("a", &text)]);
        commit(&origin, "main", &[("b", &text)]);
    }
    scene.spec.source.commit = Some(CommitId::parse(&head).unwrap());
    scene.spec.source.branch = None;
    let ended = scene.run();
    assert_eq!(ended.succeeded().0, Some(head.as_str()));
    assert_eq!(gate(&ended).behind, Some(60));
}

#[test]
fn a_commit_branch_or_base_that_is_not_there_is_named_and_nothing_was_executed() {
    let absent = "0123456789abcdef0123456789abcdef01234567";
    for (field, name) in [
        ("commit", absent),
        ("branch", "nowhere"),
        ("base", "nobase"),
    ] {
        let mut scene = scene(&[("verify.yaml", PLAN), GREEN]);
        commit(&scene.origin(), "next", &[("a", "a\n")]);
        match field {
            "commit" => scene.spec.source.commit = Some(CommitId::parse(name).unwrap()),
            "branch" => scene.spec.source.branch = Some(Branch::parse(name).unwrap()),
            _ => scene.spec.gate.as_mut().unwrap().base = Some(Branch::parse(name).unwrap()),
        }
        let ended = scene.run();
        let message = ended.failed(Code::WorkspaceFailed);
        assert!(message.contains(name), "{field}: {message}");
        assert!(!ended.finish.as_ref().unwrap().executed);
    }
}

#[test]
fn a_commit_with_nothing_to_verify_ends_as_the_profile_demands() {
    for required in [false, true] {
        let mut scene = scene(&[("a", "a\n")]);
        scene.spec.profile.verification.required = if required {
            EvidenceRequirement::Any
        } else {
            EvidenceRequirement::No
        };
        commit(&scene.origin(), "next", &[("b", "b\n")]);
        let ended = scene.run();
        if required {
            ended.failed(Code::NotVerified);
        } else {
            ended.succeeded();
        }
    }
}
