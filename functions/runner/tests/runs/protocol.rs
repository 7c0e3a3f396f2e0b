//! The runner and the control API: nothing twice, nothing lost, and an end on request.

use std::process::Command;

use awo_domain::control::RunnerEvent as E;

use crate::control_double::Fault;
use crate::scene::{Scene, alive, until};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];

#[test]
fn lost_answers_lose_and_repeat_nothing() {
    let mut scene = Scene::new(FILES, "echo $AWO_ITERATION > x; test $AWO_ITERATION = 3");
    scene.fault = Fault::LosesEverySecondAnswer;
    let ended = scene.run();
    ended.succeeded();
    assert!(ended.claims >= 2);
    let begun = ended
        .events
        .iter()
        .filter(|e| matches!(e, E::IterationStarted { .. }));
    assert_eq!(begun.count(), 3);
}

#[test]
fn a_fenced_runner_kills_its_agent_at_once_and_reports_nothing_more() {
    let agent = "trap '' TERM; setsid sleep 4321 & echo > ready; wait; sleep 4321";
    let scene = Scene::new(FILES, agent);
    let running = scene.start();
    running.until_there_is("ready");
    running.control.seen().fenced = true;
    running.send_sigterm();
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.code, Some(3));
    assert!(ended.finish.is_none());
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn a_runner_that_a_report_fences_kills_what_it_verifies_with() {
    let plan =
        "tests: [{run: \"trap '' TERM; setsid sleep 4321 & echo > ready; wait; sleep 4321\"}]\n";
    let mut scene = Scene::new(&[("verify.yaml", plan)], "echo y > y");
    scene.other_user = false;
    scene.fault = Fault::FencesWhenThereIs(scene.run_dir().join("verify/1/checkout/ready"));
    let ended = scene.run();
    assert_eq!(ended.code, Some(3));
    assert!(ended.finish.is_none());
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn a_nonce_that_another_has_claimed_ends_the_runner() {
    let scene = Scene::new(FILES, "true");
    let first = scene.start();
    until("the first one has claimed", || {
        first.control.seen().token.is_some()
    });
    let second = Command::new(env!("CARGO_BIN_EXE_runner"))
        .env("AWO_CONTROL_URL", &first.control.url)
        .env(
            "AWO_NONCE",
            format!("{}.{}.other", scene.spec.org_id, scene.spec.run_id),
        )
        .env("AWO_WORKSPACE_ROOT", scene.dir.path())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&second.stderr).contains("refused"));
    first.end(scene.dir.path()).succeeded();
}

#[test]
fn sigterm_that_no_client_requested_asks_the_agent_and_ends_without_a_finish() {
    let agent = "trap 'echo asked > asked; exit 0' TERM; setsid sleep 4321 & echo > ready; \
                 while :; do sleep 0.01; done";
    let scene = Scene::new(FILES, agent);
    let running = scene.start();
    let workspace = running.run_dir.join("workspace");
    until("the agent runs", || workspace.join("ready").exists());
    running.send_sigterm();
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.code, Some(143));
    assert!(ended.finish.is_none());
    assert!(workspace.join("asked").exists());
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn when_the_runner_is_killed_its_agent_dies_with_it() {
    let scene = Scene::new(
        FILES,
        "trap '' TERM HUP; setsid sleep 4321 & echo > ready; wait; sleep 4321",
    );
    let mut running = scene.start();
    let workspace = running.run_dir.join("workspace");
    until("the agent runs", || workspace.join("ready").exists());
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    until("nothing is left", || {
        alive(scene.spec.run_id.as_str()).is_empty()
    });
}

#[test]
fn settings_that_are_missing_or_wrong_are_named() {
    let run = |name: &str, value: &str| {
        let nonce = "org_01k00000000000000000000000.run_01k00000000000000000000000.x";
        let output = Command::new(env!("CARGO_BIN_EXE_runner"))
            .env("AWO_CONTROL_URL", "http://127.0.0.1:1")
            .env("AWO_NONCE", nonce)
            .env("AWO_WORKSPACE_ROOT", "/tmp")
            .env(name, value)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}={value}");
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(log.contains(name), "{name}={value}: {log}");
    };
    run("AWO_CONTROL_URL", "http://example.com");
    run("AWO_CONTROL_URL", "");
    run("AWO_NONCE", "x");
    run("AWO_WORKSPACE_ROOT", "relative");
    run("AWO_AGENT_UID", "root");
}

#[test]
fn help_explains_the_program() {
    let output = Command::new(env!("CARGO_BIN_EXE_runner"))
        .arg("--help")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "AWO_CONTROL_URL",
        "AWO_NONCE",
        "AWO_WORKSPACE_ROOT",
        "AWO_AGENT_UID",
        "supervise",
    ] {
        assert!(text.contains(word), "{word}");
    }
}
