//! Whole runs that succeed.

use std::fs;

use awo_domain::control::RunnerEvent as E;
use awo_domain::verification::Status;

use crate::scene::{Scene, git};

const PLAN: &str = "tests: [{name: unit, run: 'sh test.sh'}]\n";
const TEST: &str = "grep -q right answer || { echo 'answer must be right'; exit 1; }\n";

#[test]
fn a_second_try_that_heeds_the_feedback_succeeds_and_is_delivered() {
    let agent = r#"
        cp "$AWO_REQUEST" "request-$AWO_ITERATION.json"
        if grep -q 'answer must be right' "$AWO_PROMPT"; then echo right > answer; else echo wrong > answer; fi
        echo '{"summary":"did it","sessionId":"s'$AWO_ITERATION'","usage":[{"model":"m","inputTokens":10,"outputTokens":1}]}' > "$AWO_RESULT"
    "#;
    let scene = Scene::new(&[("verify.yaml", PLAN), ("test.sh", TEST)], agent);
    let ended = scene.run();
    let (commit, branch) = ended.succeeded();
    let wanted_branch = format!("awo/{}", scene.spec.run_id);
    assert_eq!(branch, Some(wanted_branch.as_str()));
    let names: Vec<&str> = ended.events.iter().map(name).collect();
    let iteration = ["started", "agent", "committed", "verifying", "verified"];
    let wanted = [
        &["ready"][..],
        &iteration,
        &iteration,
        &["delivering", "delivered"],
    ]
    .concat();
    assert_eq!(names, wanted);

    let origin = scene.origin();
    let head = git(&origin, &["rev-parse", &wanted_branch]);
    assert_eq!(Some(head.trim()), commit);
    let log = git(&origin, &["log", "--format=%an <%ae> %s", &wanted_branch]);
    let by = "Agent Work Order Service <awo@localhost>";
    assert!(log.starts_with(&format!(
        "{by} iteration 2: Make the test pass\n{by} iteration 1: Make the test pass\n"
    )));
    let show = |path: &str| git(&origin, &["show", &format!("{wanted_branch}:{path}")]);
    assert_eq!(show("answer"), "right\n");

    let request: serde_json::Value = serde_json::from_str(&show("request-2.json")).unwrap();
    assert_eq!(request["feedback"][0]["level"], "L1");
    assert_eq!(request["feedback"][0]["check"], "unit");
    assert_eq!(request["sessionId"], "s1");
    assert_eq!(request["maxIterations"], 5);
    let finish = ended.finish.unwrap();
    assert_eq!(finish.iterations, 2);
    assert_eq!(
        (finish.usage.len(), finish.usage[0].usage.input_tokens),
        (1, 20)
    );
    assert_eq!(ended.code, Some(0));
}

fn name(event: &E) -> &'static str {
    match event {
        E::WorkspaceReady { .. } => "ready",
        E::IterationStarted { .. } => "started",
        E::AgentFinished { .. } => "agent",
        E::Committed { .. } => "committed",
        E::VerificationStarted { .. } => "verifying",
        E::VerificationFinished { .. } => "verified",
        E::DeliveryStarted {} => "delivering",
        E::Delivered { .. } => "delivered",
        E::AgentOutput { .. } => "output",
        E::DeliverySkipped { .. } => "skipped",
        E::ChildrenRefused { .. } => "children refused",
        E::IntegrationStarted { .. } => "integrating",
        E::ChildMerged { .. } => "merged",
        E::MergeConflict { .. } => "conflict",
        E::ProtectedRestored { .. } => "restored",
        E::BaselineFinished { .. } => "baseline",
        E::FollowupReady { .. } => "follow-up",
        E::CredentialsIssued { .. } => "credentials",
        E::EnvironmentReady { .. } => "environment",
        E::EnvironmentStep { .. } => "step",
        E::ProviderWaiting { .. } => "waiting",
        E::ProviderResumed { .. } => "resumed",
    }
}

#[test]
fn a_run_that_changes_nothing_succeeds_without_a_commit() {
    let scene = Scene::new(&[("README.md", "x\n")], "true");
    let ended = scene.run();
    assert_eq!(ended.succeeded(), (None, None));
    let last = ended.events.last().unwrap();
    assert!(matches!(last, E::DeliverySkipped { reason } if reason.contains("nothing")));
    let overall = ended.events.iter().find_map(|event| match event {
        E::VerificationFinished { overall_status, .. } => Some(*overall_status),
        _ => None,
    });
    assert_eq!(overall, Some(Status::Warning), "nothing was applicable");
}

#[test]
fn the_workspace_stays_and_what_is_not_needed_goes() {
    let scene = Scene::new(&[("README.md", "x\n")], "echo y > y; echo z > \"$HOME/z\"");
    let ended = scene.run();
    ended.succeeded();
    let text = fs::read_to_string(ended.run_dir.join("workspace/y")).unwrap();
    assert_eq!(text, "y\n");
    for gone in ["home", "tmp", "verify", "aside"] {
        assert!(!ended.run_dir.join(gone).exists(), "{gone}");
    }
    let ready = &ended.events[0];
    assert!(matches!(ready, E::WorkspaceReady { work_dir, branch, .. }
        if *work_dir == ended.run_dir.join("workspace").to_string_lossy() && branch == "main"));
}

#[test]
fn the_agent_may_use_git_in_its_workspace_and_the_files_are_what_counts() {
    let agent = "set -e; git checkout -q -b mine; echo 1 > a; git add a; git commit -q -m mine; \
                 test $(git log --oneline | wc -l) = 2; echo 2 > b; git stash -q -u; git stash pop -q";
    let scene = Scene::new(&[("README.md", "x\n")], agent);
    let ended = scene.run();
    let (_, branch) = ended.succeeded();
    let files = git(
        &scene.origin(),
        &["ls-tree", "--name-only", branch.unwrap()],
    );
    assert_eq!(files, "README.md\na\nb\n");
}
