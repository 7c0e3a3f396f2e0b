//! A template's hooks after the clone.

use std::time::{Duration, Instant};

use awo_domain::control::{RunnerEvent, StopRequest};
use awo_domain::run::RunErrorCode as Code;

use crate::scene::{Scene, git};

fn scene(hooks: &[&str], agent: &str) -> Scene {
    let mut scene = Scene::new(&[("README.md", "x\n")], agent).once();
    scene.spec.hooks.post_create = hooks.iter().map(|hook| (*hook).to_owned()).collect();
    scene
}

#[test]
fn hooks_run_in_order_where_and_as_the_agent_runs() {
    let hooks = [
        "test -e README.md && id -u > who",
        "pwd >> who; echo $HOME >> who",
    ];
    let scene = scene(&hooks, "{ id -u; pwd; echo $HOME; } | diff - who");
    let ended = scene.run();
    let commit = ended.succeeded().0.map(str::to_owned).unwrap();
    let files = git(&scene.origin(), &["ls-tree", "--name-only", &commit]);
    assert_eq!(files, "README.md\nwho\n");
}

#[test]
fn a_hook_cannot_change_the_plan() {
    let plan = "version: 1\ntests: [{name: t, run: 'false'}]\n";
    let mut scene = scene(&["echo 'version: 1' > verify.yaml"], "true");
    crate::scene::commit_files(&scene.origin(), &[("verify.yaml", plan)]);
    scene.spec.asked_iterations = Some(1);
    scene.run().failed(Code::MaxIterationsReached);
}

#[test]
fn a_hook_that_fails_is_reported_with_its_command_and_the_end_of_its_output() {
    let scene = scene(
        &["true", "echo no such thing >&2; exit 7", "touch never"],
        "true",
    );
    let ended = scene.run();
    let message = ended.failed(Code::WorkspaceFailed);
    assert!(
        message.contains("hook 2 of 3 ended with exit code 7"),
        "{message}"
    );
    assert!(message.contains("exit 7\n"), "{message}");
    assert!(message.ends_with("no such thing"), "{message}");
    assert!(!ended.run_dir.join("workspace/never").exists());
    let began = |event: &RunnerEvent| matches!(event, RunnerEvent::IterationStarted { .. });
    assert!(!ended.events.iter().any(began));
}

#[test]
fn a_hook_that_does_not_end_uses_up_the_time_of_the_run() {
    let mut scene = scene(&["sleep 4321"], "true");
    scene.spec.max_duration_ms = 5_000;
    scene.run().failed(Code::Timeout);
}

#[test]
fn a_run_is_stopped_while_a_hook_runs_and_nothing_is_left() {
    let hook = "setsid sh -c 'trap \"\" TERM INT HUP; echo > ready; sleep 4321' & wait";
    let scene = scene(&[hook], "true");
    let running = scene.start();
    running.until_there_is("ready");
    let start = Instant::now();
    running.stop_request(StopRequest::Kill {
        grace_period_ms: 100,
        immediate: false,
    });
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (true, None));
    assert!(start.elapsed() < Duration::from_secs(10));
}
