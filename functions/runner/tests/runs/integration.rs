//! Runs that continue after their children, whose results are merged, verified and delivered.

use std::fs;
use std::path::PathBuf;

use awo_domain::WorkOrderId;
use awo_domain::control::{ChildResult, Resumption, RunnerEvent as E, StopRequest};
use awo_domain::run::RunErrorCode as Code;
use awo_domain::usage::PricedUsage;

use crate::control_double::child_id;
use crate::hostile::Trap;
use crate::scene::{EndedRunner, Scene, commit_files, git, until};

/// Passes with the work of both children.
pub const PLAN: &str = "tests: [{run: 'test -s one && test -s two'}]\n";
/// An agent that no run wants that needs none.
const NO_AGENT: &str = "exit 9";

/// What a child changes.
pub type Files<'a> = &'a [(&'a str, &'a str)];

/// A run that had one iteration, and whose children have made `children`.
pub fn resumed(files: Files<'_>, children: &[Files<'_>], agent: &str) -> Scene {
    let mut scene = Scene::new(files, agent);
    let origin = scene.origin();
    let head = |name: &str| git(&origin, &["rev-parse", name]).trim().to_owned();
    let base = head("main");
    let own = format!("awo/{}", scene.spec.run_id);
    git(&origin, &["checkout", "-q", "-b", &own]);
    commit_files(&origin, &[("parent", "parent\n")]);
    let mut results = Vec::new();
    for (i, files) in children.iter().enumerate() {
        let branch = format!("awo/child-{i}");
        git(&origin, &["checkout", "-q", "-b", &branch, &own]);
        commit_files(&origin, files);
        results.push(ChildResult {
            work_order_id: child_id(i),
            commit: Some(head(&branch)),
            branch: Some(branch),
        });
    }
    git(&origin, &["checkout", "-q", "main"]);
    let usage = r#"[{"usage": {"model": "m", "inputTokens": 7, "outputTokens": 1}}]"#;
    let usage: Vec<PricedUsage> = serde_json::from_str(usage).unwrap();
    scene.spec.resumption = Some(Resumption {
        base,
        commit: head(&own),
        branch: Some(own),
        iterations: 1,
        usage,
        session_id: Some("s-1".to_owned()),
        children: results,
    });
    scene
}

pub fn of(scene: &mut Scene) -> &mut Resumption {
    scene.spec.resumption.as_mut().unwrap()
}

/// The events in a word each, without those of verification.
pub fn story(ended: &EndedRunner) -> Vec<String> {
    let names = [child_id(0), child_id(1), child_id(2)];
    let number = |id: &WorkOrderId| names.iter().position(|name| name == id).unwrap();
    let word = |event: &E| match event {
        E::WorkspaceReady { .. } => Some("ready".to_owned()),
        E::IntegrationStarted { children } => Some(format!("integrates {}", children.len())),
        E::Committed { iteration, .. } => Some(format!("commit in {iteration}")),
        E::ChildMerged { work_order_id, .. } => Some(format!("merged {}", number(work_order_id))),
        E::MergeConflict { files, .. } => Some(format!("conflict in {}", files.join(" "))),
        E::IterationStarted { iteration } => Some(format!("iteration {iteration}")),
        E::VerificationStarted { iteration, .. } => Some(format!("verifies in {iteration}")),
        E::Delivered { .. } => Some("delivered".to_owned()),
        _ => None,
    };
    ended.events.iter().filter_map(word).collect()
}

#[test]
fn what_children_did_is_merged_in_order_verified_and_delivered_as_one_branch() {
    let files = [("verify.yaml", PLAN)];
    let mut scene = resumed(&files, &[&[("one", "1\n")], &[("two", "2\n")]], NO_AGENT);
    of(&mut scene).children.push(ChildResult {
        work_order_id: child_id(2),
        commit: None,
        branch: None,
    });
    let ended = scene.run();
    let (commit, branch) = ended.succeeded();
    let commit = commit.unwrap();
    let wanted = [
        "ready",
        "integrates 2",
        "commit in 1",
        "merged 0",
        "commit in 1",
        "merged 1",
        "verifies in 1",
        "delivered",
    ];
    assert_eq!(story(&ended), wanted);
    let resumption = scene.spec.resumption.as_ref().unwrap();
    assert_eq!(branch, resumption.branch.as_deref());
    let origin = scene.origin();
    let log = ["log", "--first-parent", "--format=%s|%an|%P", commit];
    let log = git(&origin, &log);
    let mut lines = log.lines().map(|line| line.split('|').collect::<Vec<_>>());
    for i in [1, 0] {
        let line = lines.next().unwrap();
        assert!(line[0].ends_with(&format!("merge child {}", child_id(i))));
        assert_eq!(line[1], "Agent Work Order Service");
        let theirs = line[2].split(' ').nth(1);
        assert_eq!(theirs, resumption.children[i].commit.as_deref());
    }
    assert_eq!(git(&origin, &["rev-parse", branch.unwrap()]).trim(), commit);
    let finish = ended.finish.as_ref().unwrap();
    assert_eq!((finish.iterations, ended.input_tokens()), (1, 7));
    assert_eq!(ended.diffs.len(), 1);
    assert_eq!(ended.diffs[0].base_commit, resumption.base);
    for file in ["parent", "one", "two"] {
        assert!(ended.run_dir.join("workspace").join(file).exists());
    }
}

#[test]
fn the_second_part_of_a_run_can_follow_its_first_on_the_same_machine() {
    let ask = r#"mkdir d; echo y > d/y; chmod 500 d
        echo '{"children": [{"taskPrompt": "x"}]}' > "$AWO_RESULT""#;
    let mut scene = Scene::new(&[("a", "a\n")], ask);
    let first = scene.run();
    let outcome = serde_json::to_value(first.outcome()).unwrap();
    assert_eq!(outcome["type"], "waiting", "{outcome}");
    let text = |name: &str| outcome[name].as_str().unwrap().to_owned();
    scene.spec.resumption = Some(Resumption {
        base: text("base"),
        commit: text("commit"),
        branch: Some(text("branch")),
        iterations: 1,
        usage: Vec::new(),
        session_id: None,
        children: Vec::new(),
    });
    let second = scene.run();
    assert_eq!(second.succeeded().0, Some(text("commit").as_str()));
    assert_eq!(second.run_dir, first.run_dir);
}

#[test]
fn a_whole_that_does_not_pass_goes_to_the_agent_with_what_was_found() {
    let agent = r#"grep -q 'test -s one' "$AWO_PROMPT" || exit 7; test -f one; echo 2 > two"#;
    let files = [("verify.yaml", PLAN)];
    let ended = resumed(&files, &[&[("one", "1\n")]], agent).run();
    ended.succeeded();
    let wanted = [
        "verifies in 1",
        "iteration 2",
        "commit in 2",
        "verifies in 2",
    ];
    assert_eq!(story(&ended)[4..8], wanted);

    let mut used_up = resumed(&files, &[&[("one", "1\n")]], NO_AGENT);
    used_up.spec.asked_iterations = Some(1);
    used_up.run().failed(Code::MaxIterationsReached);

    let mut too_dear = resumed(&files, &[&[("one", "1\n")]], NO_AGENT);
    too_dear.spec.profile.execution_limits.max_total_tokens = Some(8);
    let ended = too_dear.run();
    let message = ended.failed(Code::BudgetExceeded);
    assert!(message.contains("8 tokens"), "{message}");
}

#[test]
fn a_run_goes_on_from_its_own_base_however_far_its_branch_has_moved_since() {
    let files = [("verify.yaml", PLAN)];
    let scene = resumed(&files, &[&[("one", "1\n")], &[("two", "2\n")]], NO_AGENT);
    let origin = scene.origin();
    for i in 0..60 {
        commit_files(&origin, &[("main", &format!("{i}\n"))]);
    }
    let ended = scene.run();
    let commit = ended.succeeded().0.unwrap();
    let base = &scene.spec.resumption.as_ref().unwrap().base;
    let since = git(
        &origin,
        &["rev-list", "--count", &format!("{base}..{commit}")],
    );
    assert_eq!(
        since.trim(),
        "5",
        "the run's, two children's and two merges"
    );
}

#[test]
fn a_file_that_one_child_renamed_and_another_changed_is_no_conflict() {
    let text = "one\ntwo\nthree\nfour\nfive\n";
    let changed = text.replace("two", "2");
    let children: [Files<'_>; 2] = [&[], &[("f", &changed)]];
    let files = [("f", text), ("verify.yaml", "tests: [{run: 'grep 2 g'}]\n")];
    let mut scene = resumed(&files, &children, NO_AGENT);
    let origin = scene.origin();
    git(&origin, &["checkout", "-q", "awo/child-0"]);
    git(&origin, &["mv", "f", "g"]);
    git(&origin, &["commit", "-q", "-m", "g"]);
    of(&mut scene).children[0].commit = Some(git(&origin, &["rev-parse", "HEAD"]).trim().into());
    git(&origin, &["checkout", "-q", "main"]);
    scene.run().succeeded();
}

#[test]
fn a_run_has_children_once() {
    let agent = r#"echo '{"children": [{"taskPrompt": "x"}]}' > "$AWO_RESULT""#;
    let mut scene = resumed(&[("verify.yaml", PLAN)], &[&[("one", "1\n")]], agent);
    scene.spec.asked_iterations = Some(2);
    let ended = scene.run();
    let message = ended.failed(Code::AgentFailed);
    assert!(message.contains("waited for children before"), "{message}");
    assert_eq!(ended.children, []);
}

#[test]
fn the_plan_is_that_of_the_runs_own_base_whatever_its_agent_and_children_made_of_it() {
    let files = [
        (
            "verify.yaml",
            "tests: [{run: 'sh check.sh'}]\nprotected: [check.sh]\n",
        ),
        ("check.sh", "exit 1\n"),
    ];
    let easy = [
        ("verify.yaml", "tests: [{run: 'true'}]\n"),
        ("check.sh", "exit 0\n"),
    ];
    let mut scene = resumed(&files, &[&easy], NO_AGENT);
    let origin = scene.origin();
    let own = format!("awo/{}", scene.spec.run_id);
    git(&origin, &["checkout", "-q", &own]);
    commit_files(&origin, &easy);
    of(&mut scene).commit = git(&origin, &["rev-parse", "HEAD"]).trim().to_owned();
    git(&origin, &["checkout", "-q", "main"]);
    scene.spec.asked_iterations = Some(1);
    let ended = scene.run();
    ended.failed(Code::MaxIterationsReached);
}

#[test]
fn what_is_not_on_the_origin_as_the_service_says_is_not_merged() {
    let other = |scene: &Scene| {
        git(&scene.origin(), &["rev-parse", "main"])
            .trim()
            .to_owned()
    };
    let scene = || {
        resumed(
            &[("a", "a\n")],
            &[&[("one", "1\n")], &[("two", "2\n")]],
            NO_AGENT,
        )
    };
    let id = child_id(1);

    let mut no_branch = scene();
    of(&mut no_branch).children[1].branch = None;
    let ended = no_branch.run();
    let message = ended.failed(Code::ChildrenFailed);
    assert!(
        message.contains(id.as_str()) && message.contains("not on the origin"),
        "{message}"
    );

    let mut gone = scene();
    of(&mut gone).children[1].branch = Some("awo/gone".to_owned());
    let ended = gone.run();
    assert!(ended.failed(Code::ChildrenFailed).contains("awo/gone"));

    let mut elsewhere = scene();
    of(&mut elsewhere).children[1].branch = Some("awo/child-0".to_owned());
    let ended = elsewhere.run();
    let message = ended.failed(Code::ChildrenFailed);
    assert!(message.contains("does not have the commit"), "{message}");

    let mut own = scene();
    of(&mut own).branch = Some("main".to_owned());
    let ended = own.run();
    assert!(
        ended
            .failed(Code::WorkspaceFailed)
            .contains("does not have the commit")
    );

    let mut nowhere = scene();
    of(&mut nowhere).branch = None;
    let ended = nowhere.run();
    assert!(ended.failed(Code::WorkspaceFailed).contains("not pushed"));

    let mut unchanged = scene();
    of(&mut unchanged).commit = other(&unchanged);
    of(&mut unchanged).branch = None;
    unchanged.run().succeeded();
}

#[test]
fn a_branch_whose_name_is_an_option_is_none() {
    let trap = Trap::new();
    for name in [
        "-x",
        &format!("--upload-pack={}", trap.path()),
        "a:refs/heads/main",
        "*",
    ] {
        let mut scene = resumed(&[("a", "a\n")], &[&[("one", "1\n")]], NO_AGENT);
        of(&mut scene).children[0].branch = Some(name.to_owned());
        let ended = scene.run();
        let message = ended.failed(Code::ChildrenFailed);
        assert!(message.contains("not a branch name"), "{message}");
    }
    assert_eq!(trap.sprung(), "");
}

/// A folder with a git that hangs in a merge, after it has made `ready`.
fn git_that_hangs(scene: &Scene) -> (PathBuf, PathBuf) {
    let (dir, ready) = (
        scene.dir.path().join("programs"),
        scene.dir.path().join("ready"),
    );
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *merge-tree*) touch {}; sleep 4321;; esac\nPATH=${{PATH#*:}} exec git \"$@\"\n",
        ready.display()
    );
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("git"), script).unwrap();
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(dir.join("git"), mode).unwrap();
    (dir, ready)
}

#[test]
fn a_merge_is_broken_off() {
    let kill = StopRequest::Kill {
        grace_period_ms: 30_000,
        immediate: false,
    };
    for stop_request in [Some(StopRequest::Cancel), Some(kill), None] {
        let mut scene = resumed(&[("a", "a\n")], &[&[("one", "1\n")]], NO_AGENT);
        let own = of(&mut scene).commit.clone();
        let (programs, ready) = git_that_hangs(&scene);
        scene.programs = Some(programs);
        let running = scene.start();
        until("the merge hangs", || ready.exists());
        match stop_request {
            Some(stop_request) => running.stop_request(stop_request),
            None => running.send_sigterm(),
        }
        let ended = running.end(scene.dir.path());
        if stop_request.is_none() {
            assert_eq!((ended.code, ended.finish), (Some(143), None));
            continue;
        }
        assert_eq!(ended.stopped(&scene), (false, Some(own.as_str())));
        assert_eq!(
            (
                ended.finish.as_ref().unwrap().iterations,
                ended.input_tokens()
            ),
            (1, 7)
        );
    }
}
