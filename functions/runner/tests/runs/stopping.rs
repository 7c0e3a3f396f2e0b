//! Runs that a client cancels or kills, at any step.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use awo_domain::control::{RunnerEvent as E, StopRequest};
use nix::sys::signal::{Signal, kill};

use crate::control_double::Fault;
use crate::scene::{Running, Scene, alive, output, until};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];
/// Writes to the result file that the iteration used seven tokens.
const SAY_USAGE: &str =
    r#"echo '{"usage":[{"model":"m","inputTokens":7,"outputTokens":1}]}' > "$AWO_RESULT""#;
/// Waits in small steps, so that a trap is run at once.
const WAIT: &str = "while :; do sleep 0.01; done";
/// When a canceled tree would be killed.
const CANCEL_LIMIT: Duration = Duration::from_secs(6);

const IMMEDIATE: StopRequest = StopRequest::Kill {
    grace_period_ms: 5_000,
    immediate: true,
};

fn grace(grace_period_ms: u64) -> StopRequest {
    StopRequest::Kill {
        grace_period_ms,
        immediate: false,
    }
}

/// A run whose agent has written `ready`.
fn working(agent: &str) -> (Scene, Running) {
    let scene = Scene::new(FILES, agent);
    let running = scene.start();
    running.until_there_is("ready");
    (scene, running)
}

#[test]
fn a_canceled_agent_may_say_what_it_used() {
    let agent = format!(
        "trap '{}; echo goodbye; exit 0' INT; echo hello; echo > ready; {WAIT}",
        SAY_USAGE.replace('\'', "'\\''")
    );
    let (scene, running) = working(&agent);
    running.stop_request(StopRequest::Cancel);
    let ended = running.end(scene.dir.path());
    // It ended by itself, so nothing waited for the time after which it would have been killed.
    assert_eq!(ended.stopped(&scene), (false, None));
    assert_eq!(ended.input_tokens(), 7);
    let finish = ended.finish.as_ref().unwrap();
    assert_eq!((finish.iterations, finish.events.len()), (1, 0));
    assert_eq!(ended.logs.len(), 1);
    assert_eq!(output(&ended.logs[0].1), b"hello\ngoodbye\n");
    let stored = fs::read(ended.run_dir.join("logs/1.log")).unwrap();
    assert_eq!(stored, b"hello\ngoodbye\n");
    let last = ended.events.last();
    assert!(matches!(last, Some(E::IterationStarted { .. })), "{last:?}");
}

#[test]
fn a_canceled_agent_that_heeds_nothing_is_killed_in_the_end_and_what_it_wrote_counts() {
    let agent = format!("trap '' INT TERM; {SAY_USAGE}; echo > ready; {WAIT}");
    let (scene, running) = working(&agent);
    let start = Instant::now();
    running.stop_request(StopRequest::Cancel);
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (true, None));
    assert!(start.elapsed() >= CANCEL_LIMIT);
    assert_eq!(ended.input_tokens(), 7);
}

#[test]
fn what_a_canceled_agent_leaves_behind_needs_force_and_no_waiting() {
    let agent = format!("trap 'exit 0' INT; setsid sh -c 'echo > ready; exec sleep 4321' & {WAIT}");
    let (scene, running) = working(&agent);
    let start = Instant::now();
    running.stop_request(StopRequest::Cancel);
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (true, None));
    assert!(start.elapsed() < CANCEL_LIMIT / 2, "{:?}", start.elapsed());
}

#[test]
fn a_kill_whose_tree_ends_within_its_grace_is_not_forced() {
    let agent = format!(
        "setsid sh -c 'trap \"sleep 0.3; exit 0\" TERM; echo > ready; {WAIT}' & \
         trap '{}; exit 1' TERM; {WAIT}",
        SAY_USAGE.replace('\'', "'\\''")
    );
    let (scene, running) = working(&agent);
    let start = Instant::now();
    running.stop_request(grace(30_000));
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (false, None));
    assert_eq!(ended.input_tokens(), 7);
    assert!(start.elapsed() < CANCEL_LIMIT, "{:?}", start.elapsed());
}

#[test]
fn nothing_escapes_a_kill() {
    let escapes = [
        "setsid sh -c 'trap \"\" TERM INT HUP; echo > ready; sleep 4321 & wait' & wait",
        "(setsid sh -c '(trap \"\" TERM HUP INT; echo > ready; sleep 4321 & wait) &' &); sleep 4321",
        "trap '' TERM INT HUP; echo > ready; sleep 4321; sleep 4321",
        "trap '' TERM; echo 'setsid sh \"$0\" & exit 0' > ~/link; setsid sh ~/link & \
         echo > ready; sleep 4321",
    ];
    for agent in escapes {
        for (stop_request, at_least) in [(grace(200), 200), (IMMEDIATE, 0)] {
            let (scene, running) = working(agent);
            let start = Instant::now();
            running.stop_request(stop_request);
            let ended = running.end(scene.dir.path());
            assert_eq!(ended.stopped(&scene), (true, None), "{agent}");
            assert!(start.elapsed() >= Duration::from_millis(at_least));
        }
    }
}

#[test]
fn an_immediate_kill_does_not_wait() {
    let agent = "trap '' TERM INT; setsid sh -c 'echo > ready; exec sleep 4321' & \
                 sleep 4321";
    let (scene, running) = working(agent);
    let start = Instant::now();
    running.stop_request(IMMEDIATE);
    while !alive(scene.spec.run_id.as_str()).is_empty() {
        assert!(start.elapsed() < CANCEL_LIMIT);
    }
    let dead = start.elapsed();
    let ended = running.end(scene.dir.path());
    let reported = start.elapsed();
    println!("immediate kill: SIGTERM to death {dead:?}, to the end of the runner {reported:?}");
    assert_eq!(ended.stopped(&scene), (true, None));
}

#[test]
fn a_stop_request_that_grows_stronger_takes_effect_at_once() {
    let agent = format!("trap 'echo > heard' INT; echo > ready; {WAIT}");
    let (scene, running) = working(&agent);
    let start = Instant::now();
    running.stop_request(StopRequest::Cancel);
    running.until_there_is("heard");
    running.control.seen().stop_request = Some(IMMEDIATE);
    let ended = running.end(scene.dir.path());
    assert!(start.elapsed() < CANCEL_LIMIT / 2, "{:?}", start.elapsed());
    assert_eq!(ended.stopped(&scene), (true, None));
    assert!(ended.heartbeats > 0, "it was asked for");
}

#[test]
fn a_stop_request_that_grows_weaker_changes_nothing() {
    let agent = format!("trap 'echo > heard' TERM; echo > ready; {WAIT}");
    let (scene, running) = working(&agent);
    let start = Instant::now();
    running.stop_request(grace(600));
    running.until_there_is("heard");
    running.stop_request(grace(30_000));
    let ended = running.end(scene.dir.path());
    assert!(start.elapsed() < CANCEL_LIMIT, "{:?}", start.elapsed());
    assert_eq!(ended.stopped(&scene), (true, None));
}

#[test]
fn a_stopped_agent_hears_a_cancel_and_dies_of_a_kill() {
    let agent = format!("trap 'exit 0' INT; echo > ready; kill -STOP $$; {WAIT}");
    for (stop_request, forced) in [
        (StopRequest::Cancel, false),
        (grace(30_000), false),
        (IMMEDIATE, true),
    ] {
        let (scene, running) = working(&agent);
        let start = Instant::now();
        running.stop_request(stop_request);
        let ended = running.end(scene.dir.path());
        assert_eq!(ended.stopped(&scene), (forced, None), "{stop_request:?}");
        assert!(start.elapsed() < CANCEL_LIMIT / 2, "{:?}", start.elapsed());
    }
}

#[test]
fn an_agent_that_stops_its_supervisor_dies_all_the_same() {
    let scene = Scene::new(FILES, "echo > ready; sleep 4321");
    let running = scene.start();
    running.until_there_is("ready");
    // An agent of the same user could, where it has no namespace.
    kill(running.supervisor(), Signal::SIGSTOP).unwrap();
    let start = Instant::now();
    running.stop_request(IMMEDIATE);
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (true, None));
    assert!(start.elapsed() < CANCEL_LIMIT, "{:?}", start.elapsed());
}

#[test]
fn a_cancel_while_the_claim_is_under_way_starts_nothing() {
    let mut scene = Scene::new(FILES, "true");
    scene.fault = Fault::HoldsClaims;
    let running = scene.start();
    until("the claim waits", || running.control.seen().held > 0);
    running.stop_request(StopRequest::Cancel);
    running.control.release();
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (false, None));
    assert_eq!(ended.finish.as_ref().unwrap().iterations, 0);
}

#[test]
fn a_claim_that_is_under_way_for_too_long_when_the_task_ends_is_given_up() {
    let mut scene = Scene::new(FILES, "true");
    scene.fault = Fault::HoldsClaims;
    let running = scene.start();
    until("the claim waits", || running.control.seen().held > 0);
    running.send_sigterm();
    let ended = running.end(scene.dir.path());
    assert_eq!((ended.code, ended.finish), (Some(143), None));
}

#[test]
fn a_clone_is_broken_off() {
    for (stop_request, forced) in [(StopRequest::Cancel, false), (IMMEDIATE, true)] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut scene = Scene::new(FILES, "true");
        let source = format!(r#"{{"repository":"https://127.0.0.1:{port}/a/b"}}"#);
        scene.spec.source = serde_json::from_str(&source).unwrap();
        let running = scene.start();
        let _hangs = listener.accept().unwrap();
        let start = Instant::now();
        running.stop_request(stop_request);
        let ended = running.end(scene.dir.path());
        assert!(start.elapsed() < CANCEL_LIMIT / 2, "{:?}", start.elapsed());
        assert_eq!(ended.stopped(&scene), (forced, None));
        assert_eq!(ended.logs, []);
        let run_dir = ended.run_dir.display().to_string();
        assert_eq!(alive(&run_dir), Vec::<String>::new());
    }
}

#[test]
fn a_verification_is_broken_off_like_an_agent() {
    let test = format!("trap 'exit 1' INT TERM; touch ready; {WAIT}");
    let plan = format!("tests: [{{run: \"{test}\"}}, {{run: 'true'}}]\n");
    let agent = format!("echo y > y; {SAY_USAGE}");
    for (stop_request, forced) in [
        (StopRequest::Cancel, false),
        (grace(30_000), false),
        (IMMEDIATE, true),
    ] {
        let scene = Scene::new(&[("verify.yaml", &plan)], &agent);
        let running = scene.start();
        let ready = running.run_dir.join("verify/1/checkout/ready");
        until("the test runs", || ready.exists());
        let start = Instant::now();
        running.stop_request(stop_request);
        let ended = running.end(scene.dir.path());
        assert!(start.elapsed() < CANCEL_LIMIT / 2, "{:?}", start.elapsed());
        let (was_forced, commit) = ended.stopped(&scene);
        assert_eq!(was_forced, forced, "{stop_request:?}");
        assert!(commit.is_some(), "the iteration's commit is there");
        assert_eq!((ended.input_tokens(), ended.logs.len()), (7, 1));
        let checkouts = ended.run_dir.join("verify").display().to_string();
        assert_eq!(alive(&checkouts), Vec::<String>::new());
    }
}

#[test]
fn a_delivery_is_broken_off() {
    let scene = Scene::new(FILES, "echo y > y");
    let git = scene.origin().join(".git");
    let hook = git.join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch ready\nsleep 4321\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let running = scene.start();
    until("the hook runs", || git.join("ready").exists());
    running.stop_request(grace(30_000));
    let ended = running.end(scene.dir.path());
    let (forced, commit) = ended.stopped(&scene);
    assert!(!forced && commit.is_some());
    let origin = scene.origin().display().to_string();
    assert_eq!(alive(&origin), Vec::<String>::new());
}
