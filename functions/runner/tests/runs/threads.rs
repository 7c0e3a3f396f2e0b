//! Turns of a thread: the commit with which one begins, the reference against which it is held, and
//! delivery onto a branch to which others push.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use awo_domain::control::{Outcome, RunThread, RunnerEvent as E, TurnOrigin, TurnRecord};
use awo_domain::run::RunErrorCode as Code;
use awo_domain::source::Branch;
use awo_domain::{RunId, Timestamp};

use crate::scene::{CANARY, EndedRunner, Scene, commit_files, git};

/// The thread's branch.
const BRANCH: &str = "awo/first";
const PLAN: (&str, &str) = ("verify.yaml", "tests: [{run: 'sh tests/unit_test.sh'}]\n");
const TEST: (&str, &str) = ("tests/unit_test.sh", "test -f x\n");

/// A thread whose first turn delivered what `deliver` leaves in the origin.
fn second_turn(agent: &str, deliver: impl FnOnce(&Path)) -> Scene {
    let mut scene = Scene::new(&[("a", "1"), PLAN, TEST], agent).once();
    let origin = scene.origin();
    let base = hash(&origin, "main");
    git(&origin, &["checkout", "-q", "-b", BRANCH]);
    deliver(&origin);
    git(&origin, &["checkout", "-q", "main"]);
    let thread = serde_json::json!({
        "threadId": scene.spec.work_order_id,
        "turn": 2,
        "baseCommit": base,
        "branch": BRANCH,
        "target": "main",
        "turns": [{
            "turn": 1, "taskPrompt": "The first task", "summary": "Did it.", "status": "succeeded",
        }],
        "deliveries": [{
            "turn": 1,
            "commit": hash(&origin, BRANCH),
            "tree": hash(&origin, &format!("{BRANCH}^{{tree}}")),
            "branch": BRANCH,
            "confirmed": true,
        }],
    });
    let thread: RunThread = serde_json::from_value(thread).unwrap();
    scene.spec.thread = Some(Box::new(thread));
    scene
}

/// Adds a commit of others to a branch.
fn push_by_others(origin: &Path, branch: &str, change: impl FnOnce(&Path)) {
    git(origin, &["checkout", "-q", branch]);
    change(origin);
    git(origin, &["checkout", "-q", "main"]);
}

/// The next turn after one whose run delivered nothing, with another run in the same place.
fn next_turn(mut scene: Scene, agent: &str) -> Scene {
    let first = scene.spec.run_id.clone();
    let thread = serde_json::json!({
        "threadId": scene.spec.work_order_id,
        "turn": 2,
        "baseCommit": hash(&scene.origin(), "main"),
        "target": "main",
        "turns": [{ "turn": 1, "taskPrompt": "The first task", "status": "failed" }],
        "previous": { "runId": first, "agent": "command" },
        "otherTurnsRun": first,
    });
    scene.spec.thread = Some(Box::new(serde_json::from_value(thread).unwrap()));
    let at = Timestamp::from_epoch_ms(1_790_000_000_001);
    scene.spec.run_id = RunId::new(at, u128::from(std::process::id()));
    scene.nonce = format!("{}.{}.{CANARY}-nonce", scene.spec.org_id, scene.spec.run_id);
    scene.spec.agent.command = Some(["sh", "-c", agent].map(str::to_owned).to_vec());
    scene
}

/// The first turn of a thread, whose result does not pass.
fn first_turn(agent: &str) -> Scene {
    let mut scene = Scene::new(&[("a", "1"), PLAN, TEST], agent).once();
    let thread = serde_json::json!({ "threadId": scene.spec.work_order_id, "turn": 1 });
    scene.spec.thread = Some(Box::new(serde_json::from_value(thread).unwrap()));
    scene
}

fn hash(origin: &Path, name: &str) -> String {
    git(origin, &["rev-parse", name]).trim().to_owned()
}

fn ready(ended: &EndedRunner) -> (TurnOrigin, &str) {
    let mut events = ended.events.iter();
    let ready = events.find_map(|event| match event {
        E::FollowupReady { from, commit, .. } => Some((*from, commit.as_str())),
        _ => None,
    });
    ready.unwrap()
}

fn tests_changed(ended: &EndedRunner) -> Vec<String> {
    let mut events = ended.events.iter().rev();
    let changed = events.find_map(|event| match event {
        E::VerificationFinished { tests_changed, .. } => Some(tests_changed.clone()),
        _ => None,
    });
    changed.unwrap()
}

#[test]
fn a_turn_goes_on_at_the_head_of_its_branch_and_delivers_to_it() {
    let agent = r#"set -e
        grep -q 'turn 2 of a thread' "$AWO_PROMPT"; grep -q 'The first task' "$AWO_PROMPT"
        grep -q 'Did it' "$AWO_PROMPT"; grep -q '"taskPrompt": "The first task"' "$AWO_REQUEST"
        grep -q 2 a; grep -q r r; echo z > z"#;
    let scene = second_turn(agent, |origin| {
        commit_files(origin, &[("a", "2"), ("x", "x")])
    });
    let origin = scene.origin();
    push_by_others(&origin, BRANCH, |origin| {
        commit_files(origin, &[("r", "r")])
    });
    let head = hash(&origin, BRANCH);
    let ended = scene.run();
    let (commit, branch) = ended.succeeded();
    assert_eq!(branch, Some(BRANCH));
    assert_eq!(ready(&ended), (TurnOrigin::Branch, head.as_str()));
    assert_eq!(commit, Some(hash(&origin, BRANCH).as_str()));
    assert_eq!(hash(&origin, &format!("{BRANCH}^")), head);
    let records = ended.turns.as_slice();
    let [
        TurnRecord::Begun {
            commit,
            delivered_tree,
            target,
            ..
        },
        TurnRecord::Delivering { .. },
        TurnRecord::Delivered { .. },
    ] = records
    else {
        panic!("{records:?}");
    };
    let delivered = hash(&origin, &format!("{head}^^{{tree}}"));
    assert_eq!(
        (commit.as_str(), delivered_tree.as_deref(), target.as_str()),
        (head.as_str(), Some(delivered.as_str()), "main")
    );
}

#[test]
fn a_test_that_an_earlier_turn_removed_is_named_or_put_back() {
    let remove = |origin: &Path| {
        fs::remove_file(origin.join(TEST.0)).unwrap();
        commit_files(origin, &[("a", "2"), (PLAN.0, "tests: [{run: 'true'}]\n")]);
        // A name of a commit decides nothing.
        let name = "Agent Work Order Service <awo@localhost>";
        git(
            origin,
            &["commit", "-q", "--amend", "--author", name, "-m", "awo"],
        );
    };
    let mut scene = second_turn("echo x > x", remove);
    scene.spec.profile.verification.protect_tests = true;
    let ended = scene.run();
    assert!(ended.succeeded().0.is_some());
    let show = |name: &str| git(&scene.origin(), &["show", &format!("{BRANCH}:{name}")]);
    assert_eq!(
        (show(TEST.0), show(PLAN.0)),
        (TEST.1.to_owned(), PLAN.1.to_owned())
    );

    let weaken = |origin: &Path| commit_files(origin, &[(TEST.0, "true\n")]);
    let scene = second_turn("echo y > y", weaken);
    let ended = scene.run();
    assert!(ended.succeeded().0.is_some());
    assert_eq!(tests_changed(&ended), [TEST.0]);
}

#[test]
fn a_test_that_others_changed_between_turns_is_the_reference() {
    let deliver = |origin: &Path| commit_files(origin, &[("a", "2")]);
    // Without the reviewer's content it would fail.
    let scene = second_turn("echo y > y; echo true > tests/unit_test.sh", deliver);
    let mut scene = scene;
    scene.spec.profile.verification.protect_tests = true;
    let stricter = "test -f y\n";
    push_by_others(&scene.origin(), BRANCH, |origin| {
        commit_files(origin, &[(TEST.0, stricter)]);
    });
    let ended = scene.run();
    assert!(ended.succeeded().0.is_some());
    let shown = git(&scene.origin(), &["show", &format!("{BRANCH}:{}", TEST.0)]);
    assert_eq!(shown, stricter);
    assert!(tests_changed(&ended).is_empty());
}

#[test]
fn a_turn_whose_branch_is_gone_begins_a_new_one_from_the_target_branch() {
    let scene = second_turn("echo x > x", |origin| commit_files(origin, &[("a", "2")]));
    let origin = scene.origin();
    let old = hash(&origin, BRANCH);
    git(&origin, &["branch", "-q", "-m", BRANCH, "kept-elsewhere"]);
    let ended = scene.run();
    let own = format!("awo/{}", scene.spec.run_id);
    assert_eq!(ended.succeeded().1, Some(own.as_str()));
    assert_eq!(
        ready(&ended),
        (TurnOrigin::Target, hash(&origin, "main").as_str())
    );
    assert_ne!(hash(&origin, &format!("{own}^")), old);
}

#[test]
fn a_turn_after_one_that_delivered_nothing_goes_on_with_its_work() {
    // It removes the test, which is the thread's all the same.
    let scene = first_turn("echo y > y; rm tests/unit_test.sh; echo false > tests/unit_test.sh");
    let first = scene.run();
    assert!(matches!(first.outcome(), Outcome::Failed { .. }));
    let mut scene = next_turn(scene, "grep -q y y && echo x > x");
    scene.spec.profile.verification.protect_tests = true;
    let ended = scene.run();
    let own = format!("awo/{}", scene.spec.run_id);
    assert_eq!(ended.succeeded().1, Some(own.as_str()));
    let (from, commit) = ready(&ended);
    assert_eq!(from, TurnOrigin::Workspace);
    let origin = scene.origin();
    assert_eq!(hash(&origin, &format!("{commit}^")), hash(&origin, "main"));
    let show = |name: &str| git(&origin, &["show", &format!("{own}:{name}")]);
    assert_eq!(
        (show("y"), show(TEST.0)),
        ("y\n".to_owned(), TEST.1.to_owned())
    );
    let [TurnRecord::Begun { delivered_tree, .. }, ..] = ended.turns.as_slice() else {
        panic!("{:?}", ended.turns);
    };
    assert_eq!(
        *delivered_tree, None,
        "an agent's own work is not that of others"
    );
}

#[test]
fn work_that_was_stored_a_day_ago_is_not_taken_up() {
    let scene = first_turn("echo y > y");
    let run = scene.spec.run_id.clone();
    assert!(matches!(scene.run().outcome(), Outcome::Failed { .. }));
    let stored = scene.run_dir().join("../../.turns");
    let stored = stored.join(scene.spec.org_id.as_str());
    let stored = stored.join(format!("{run}.bundle"));
    let a_day_ago = SystemTime::now() - Duration::from_secs(24 * 3_600 + 60);
    let file = fs::File::options().write(true).open(&stored).unwrap();
    file.set_modified(a_day_ago).unwrap();
    let scene = next_turn(scene, "test ! -e y && echo x > x");
    let ended = scene.run();
    assert!(ended.succeeded().0.is_some());
    assert_eq!(
        ready(&ended),
        (TurnOrigin::Base, hash(&scene.origin(), "main").as_str())
    );
    assert!(!stored.exists(), "it is removed");
}

#[test]
fn what_others_push_during_a_turn_is_merged_and_verified_before_delivery() {
    let agent = "echo x > x; touch begun; while [ ! -e go ]; do sleep 0.05; done; rm begun go";
    let scene = second_turn(agent, |origin| commit_files(origin, &[("a", "2")]));
    let origin = scene.origin();
    let running = scene.start();
    running.until_there_is("begun");
    push_by_others(&origin, BRANCH, |origin| {
        commit_files(origin, &[(TEST.0, "test -f x && test -f r\n"), ("r", "r")]);
    });
    let moved = hash(&origin, BRANCH);
    fs::write(running.workspace().join("go"), "").unwrap();
    let ended = running.end(scene.dir.path());
    let commit = ended.succeeded().0.unwrap().to_owned();
    assert_eq!(hash(&origin, BRANCH), commit);
    let parents = git(&origin, &["log", "-1", "--format=%P", &commit]);
    assert!(parents.contains(&moved), "{parents}");
    assert!(
        tests_changed(&ended).is_empty(),
        "the test is the reviewer's"
    );
    let moves = ended.turns.iter();
    let moves = moves.filter(|record| matches!(record, TurnRecord::Moved { .. }));
    assert_eq!(moves.count(), 1);
}

#[test]
fn a_conflict_with_what_others_push_during_a_turn_is_not_delivered() {
    let agent = "echo x > x; touch begun; while [ ! -e go ]; do sleep 0.05; done; rm begun go";
    let scene = second_turn(agent, |origin| commit_files(origin, &[("a", "2")]));
    let origin = scene.origin();
    let running = scene.start();
    running.until_there_is("begun");
    push_by_others(&origin, BRANCH, |origin| {
        commit_files(origin, &[("x", "other")])
    });
    let moved = hash(&origin, BRANCH);
    fs::write(running.workspace().join("go"), "").unwrap();
    let ended = running.end(scene.dir.path());
    let message = ended.failed(Code::DeliveryFailed);
    assert!(
        message.contains("conflicts") && message.contains('x'),
        "{message}"
    );
    assert_eq!(hash(&origin, BRANCH), moved);
    assert!(!ended.diffs.is_empty(), "the diff stays");
}

#[test]
fn the_target_branch_is_merged_before_the_agent_begins_and_its_tests_count() {
    let mut scene = second_turn("grep -q m m && echo x > x", |origin| {
        commit_files(origin, &[("a", "2")]);
    });
    scene.spec.merge_target = true;
    let origin = scene.origin();
    commit_files(&origin, &[("m", "m"), (TEST.0, "test -f x && test -f m\n")]);
    let ended = scene.run();
    assert!(ended.succeeded().0.is_some());
    assert!(tests_changed(&ended).is_empty());
    let merged = git(&origin, &["merge-base", "main", BRANCH]);
    assert_eq!(merged.trim(), hash(&origin, "main"));
}

#[test]
fn conflicts_with_the_target_branch_are_feedback_and_left_ones_are_not_verified() {
    let agent = r#"grep -q 'The branch main conflicts' "$AWO_PROMPT" || exit 7
        grep -q '^<<<<<<<' a || exit 8
        if [ $AWO_ITERATION = 2 ]; then echo both > a; echo x > x; fi"#;
    let mut scene = second_turn(agent, |origin| commit_files(origin, &[("a", "2")]));
    scene.spec.merge_target = true;
    scene.spec.asked_iterations = Some(2);
    let origin = scene.origin();
    commit_files(&origin, &[("a", "3")]);
    let ended = scene.run();
    assert!(ended.succeeded().0.is_some());
    let conflicts = ended.events.iter().filter_map(|event| match event {
        E::MergeConflict { branch, files, .. } => Some((branch.clone(), files.clone())),
        _ => None,
    });
    let conflicts: Vec<_> = conflicts.collect();
    assert_eq!(conflicts, [(Some("main".to_owned()), vec!["a".to_owned()])]);
    let verified = ended.events.iter();
    let verified = verified.filter(|event| matches!(event, E::VerificationStarted { .. }));
    assert_eq!(verified.count(), 1);
}

#[test]
fn a_result_goes_onto_an_existing_branch_and_never_onto_the_default_branch() {
    let on_branch = |name: &str| {
        let mut scene = Scene::new(&[("a", "1"), PLAN, TEST], "echo x > x").once();
        let origin = scene.origin();
        git(&origin, &["checkout", "-q", "-b", "feature"]);
        commit_files(&origin, &[("f", "f")]);
        git(&origin, &["checkout", "-q", "main"]);
        scene.spec.result_branch = Some(Branch::parse(name).unwrap());
        scene
    };
    let scene = on_branch("feature");
    let head = hash(&scene.origin(), "feature");
    let ended = scene.run();
    assert_eq!(ended.succeeded().1, Some("feature"));
    assert_eq!(hash(&scene.origin(), "feature^"), head);
    for (name, part) in [("main", "default branch"), ("absent", "no branch absent")] {
        let ended = on_branch(name).run();
        let message = ended.failed(Code::WorkspaceFailed);
        assert!(message.contains(part), "{message}");
        let began = |event: &&E| matches!(event, E::IterationStarted { .. });
        assert_eq!(ended.events.iter().filter(began).count(), 0);
    }
}
