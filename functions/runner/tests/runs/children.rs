//! Agents that request children, and runs that begin from a commit.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use awo_domain::control::{Outcome, RunnerEvent as E, StopRequest};
use awo_domain::profile::GitMode;
use awo_domain::run::RunErrorCode as Code;

use crate::control_double::{Fault, child_id};
use crate::scene::{EndedRunner, Scene, commit_files, git, try_git, until};

/// Asks for two.
const ASK: &str = r#"cat > "$AWO_RESULT" <<'END'
{"sessionId": "s-1", "usage": [{"model": "m", "inputTokens": 7, "outputTokens": 1}],
 "children": [{"taskPrompt": "part one", "maxIterations": 2}, {"taskPrompt": "part two"}]}
END
"#;

/// Base, commit, branch and session of a run that waits.
fn waits(ended: &EndedRunner) -> (String, String, String, Option<String>) {
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let Outcome::Waiting {
        base,
        commit,
        branch,
        session_id,
    } = ended.outcome()
    else {
        panic!("{:?} {:#?}", ended.outcome(), ended.events);
    };
    let all = (base, commit, branch, session_id);
    (all.0.clone(), all.1.clone(), all.2.clone(), all.3.clone())
}

fn was_verified(ended: &EndedRunner) -> bool {
    let events = &mut ended.events.iter();
    events.any(|event| matches!(event, E::VerificationStarted { .. }))
}

/// Why no children were opened, each time.
fn refusals(ended: &EndedRunner) -> Vec<&str> {
    let reasons = ended.events.iter().map(|event| match event {
        E::ChildrenRefused { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    reasons.flatten().collect()
}

#[test]
fn a_run_that_asks_for_children_pushes_its_commit_and_waits_for_them() {
    for fault in [Fault::None, Fault::LosesEverySecondAnswer] {
        let mut scene = Scene::new(&[("a", "a\n")], &format!("echo y > y; {ASK}"));
        scene.fault = fault;
        let origin = scene.origin();
        let head = git(&origin, &["rev-parse", "main"]);
        let ended = scene.run();
        let (base, commit, branch, session) = waits(&ended);
        assert_eq!(base, head.trim());
        assert_eq!(branch, format!("awo/{}", scene.spec.run_id));
        assert_eq!(git(&origin, &["rev-parse", &branch]).trim(), commit);
        assert_eq!(git(&origin, &["show", &format!("{branch}:y")]), "y\n");
        assert_eq!(session.as_deref(), Some("s-1"));
        assert!(!was_verified(&ended), "the whole is verified later");
        assert_eq!(ended.children.len(), 1, "{:?}", ended.children);
        let (asked, answer) = &ended.children[0];
        assert_eq!((asked.iteration, &asked.commit), (1, &commit));
        assert_eq!(asked.branch, branch);
        assert_eq!(asked.children[0]["taskPrompt"], "part one");
        assert_eq!(asked.children[0]["maxIterations"], 2);
        assert_eq!(answer.opened, [child_id(0), child_id(1)]);
        assert_eq!(ended.finish.as_ref().unwrap().iterations, 1);
        assert_eq!((ended.input_tokens(), ended.diffs.is_empty()), (7, false));
    }
}

#[test]
fn children_of_a_run_that_changed_nothing_begin_from_its_base() {
    let scene = Scene::new(&[("a", "a\n")], ASK);
    let ended = scene.run();
    let (base, commit, branch, _) = waits(&ended);
    assert_eq!(commit, base);
    assert_eq!(git(&scene.origin(), &["rev-parse", &branch]).trim(), base);
}

#[test]
fn why_no_children_were_opened_is_the_next_iterations_feedback() {
    let agent = r#"if test "$AWO_ITERATION" = 1; then
        echo '{"children": [{"taskPrompt": "x"}, {"taskPrompt": ""}]}' > "$AWO_RESULT"; exit
    fi
    cp "$AWO_PROMPT" prompt; cp "$AWO_REQUEST" request"#;
    let blank = Scene::new(&[("a", "a\n")], agent);
    let mut local = Scene::new(&[("a", "a\n")], agent);
    local.spec.profile.git_ops.mode = GitMode::Local;
    let mut refused = Scene::new(&[("a", "a\n")], agent);
    refused.fault = Fault::RefusesChildren;
    for (scene, word) in [
        (blank, "/children/1/taskPrompt must not be empty"),
        (local, "gitOps.mode local"),
        (refused, "no children today"),
    ] {
        let ended = scene.run();
        let commit = ended.succeeded().0.unwrap();
        let repo = ended.run_dir.join("repo.git");
        let prompt = git(&repo, &["show", &format!("{commit}:prompt")]);
        assert!(prompt.contains(word), "{prompt}");
        let request = git(&repo, &["show", &format!("{commit}:request")]);
        let request: serde_json::Value = serde_json::from_str(&request).unwrap();
        assert_eq!(request["feedback"][0]["check"], "children");
        let refusals = refusals(&ended);
        assert!(
            refusals.len() == 1 && refusals[0].contains(word),
            "{refusals:?}"
        );
    }
}

#[test]
fn children_need_a_branch_that_can_be_pushed() {
    let scene = Scene::new(&[("a", "a\n")], ASK).once();
    let hook = scene.origin().join(".git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'not today' >&2; exit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = scene.run();
    let message = ended.failed(Code::AgentFailed);
    assert!(message.contains("not today"), "{message}");
    assert_eq!(ended.children, []);
}

#[test]
fn a_result_with_children_that_are_none_is_not_valid() {
    let agent = r#"echo '{"children": [{"taskPrompt": "x"}, {"prompt": "x"}]}' > "$AWO_RESULT""#;
    let ended = Scene::new(&[("a", "a\n")], agent).once().run();
    ended.failed(Code::AgentFailed);
    assert!(
        ended.agent_reason().contains("/children/1"),
        "{}",
        ended.agent_reason()
    );
}

#[test]
fn an_agent_that_failed_opens_no_children() {
    let gave_up = ASK.replace(r#""sessionId""#, r#""status": "failed", "sessionId""#);
    for agent in [format!("{ASK} exit 3"), gave_up] {
        let scene = Scene::new(&[("a", "a\n")], &agent).once();
        let ended = scene.run();
        ended.failed(Code::AgentFailed);
        assert_eq!(ended.children, []);
        let branches = try_git(&scene.origin(), &["branch", "--list", "awo/*"]);
        assert_eq!(branches.stdout, b"");
    }
}

#[test]
fn a_run_that_is_stopped_while_it_asks_for_children_does_not_wait_for_them() {
    let mut scene = Scene::new(&[("a", "a\n")], ASK);
    scene.fault = Fault::HoldsChildren;
    let running = scene.start();
    until("it asks", || running.control.seen().held > 0);
    running.stop_request(StopRequest::Cancel);
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (false, None));
    assert_eq!(ended.input_tokens(), 7);
}

#[test]
fn a_run_can_begin_from_a_commit_of_its_branch_however_far_back() {
    for commits_since in [0, 2, 60] {
        let agent = "git status --short > ~/status; cat a > seen; mv ~/status .";
        let mut scene = Scene::new(&[("a", "old\n")], agent);
        let origin = scene.origin();
        let start = git(&origin, &["rev-parse", "HEAD"]).trim().to_owned();
        for i in 0..commits_since {
            commit_files(&origin, &[("a", &format!("{i}\n"))]);
        }
        scene.spec.start_commit = Some(start.clone());
        let ended = scene.run();
        let commit = ended.succeeded().0.unwrap().to_owned();
        let show = |what: &str| git(&origin, &["show", &format!("{commit}:{what}")]);
        assert_eq!(show("seen"), "old\n");
        assert_eq!(show("status"), "", "the agent finds nothing changed");
        let parent = git(&origin, &["rev-parse", &format!("{commit}^")]);
        assert_eq!(parent.trim(), start);
        let Some(E::WorkspaceReady { commit, branch, .. }) = ended.events.first() else {
            panic!("{:?}", ended.events);
        };
        assert_eq!((commit, branch.as_str()), (&start, "main"));
    }
}

#[test]
fn a_commit_to_begin_from_that_is_not_there_fails_the_run_before_its_agent() {
    for start in ["0123456789abcdef0123456789abcdef01234567", "main", "--all"] {
        let mut scene = Scene::new(&[("a", "a\n")], "true");
        scene.spec.start_commit = Some(start.to_owned());
        let ended = scene.run();
        let message = ended.failed(Code::WorkspaceFailed);
        assert!(message.contains(start), "{message}");
        assert_eq!(ended.events, []);
    }
}
