//! A runner's reception of a stop request, and its confirmation.

use std::time::{Duration, Instant};

use awo_domain::control::{Outcome, RunnerEvent as E, StopRequest};

use crate::control_double::Fault;
use crate::scene::{Scene, alive, until};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];
const WAITING: &str = "trap 'exit 0' TERM; echo > ready; while :; do sleep 0.01; done";
const KILL: StopRequest = StopRequest::Kill {
    grace_period_ms: 30_000,
    immediate: false,
};

#[test]
fn a_report_that_nobody_answers_delays_neither_the_question_nor_the_last_report() {
    let plan = "tests: [{run: 'touch ready; sleep 4321'}]\n";
    let mut scene = Scene::new(&[("verify.yaml", plan)], "true");
    scene.other_user = false;
    scene.fault = Fault::HangsOnAgentsEnd;
    let running = scene.start();
    let ready = running.run_dir.join("verify/1/checkout/ready");
    until("the test runs", || ready.exists());
    until("a report hangs", || running.control.seen().held > 0);
    let start = Instant::now();
    running.stop_request(KILL);
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.stopped(&scene), (false, None));
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn the_answer_to_a_report_is_as_good_as_a_wake_up() {
    let agent = "echo y > y; [ $AWO_ITERATION = 1 ] || { echo > ready; sleep 4321; }";
    let plan = "tests: [{run: 'touch ready; while ! test -e ../go; do sleep 0.01; done; false'}]\n";
    let mut scene = Scene::new(&[("verify.yaml", plan)], agent);
    scene.other_user = false;
    let running = scene.start();
    let ready = running.run_dir.join("verify/1/checkout/ready");
    until("the test runs", || ready.exists());
    running.control.seen().stop_request = Some(KILL);
    std::fs::write(running.run_dir.join("verify/1/go"), "").unwrap();
    let ended = running.end(scene.dir.path());
    let (_, commit) = ended.stopped(&scene);
    assert!(commit.is_some());
    let last = ended.events.last();
    assert!(
        matches!(last, Some(E::VerificationStarted { .. })),
        "{last:?}"
    );
}

#[test]
fn the_answer_to_a_log_is_as_good_as_a_wake_up() {
    let agent = "touch ready; while ! test -e go; do sleep 0.01; done";
    let mut scene = Scene::new(FILES, agent);
    scene.other_user = false;
    let running = scene.start();
    running.until_there_is("ready");
    until("all events are kept", || {
        running.control.seen().events.len() == 2
    });
    running.control.seen().stop_request = Some(KILL);
    std::fs::write(running.run_dir.join("workspace/go"), "").unwrap();
    let ended = running.end(scene.dir.path());
    ended.stopped(&scene);
    assert_eq!((ended.events.len(), ended.logs.len()), (2, 1));
}

#[test]
fn a_control_api_that_is_away_requests_nothing() {
    let agent = WAITING.replace("exit 0", "echo > asked; exit 0");
    let scene = Scene::new(FILES, &agent);
    let mut running = scene.start();
    running.until_there_is("ready");
    running.control.go_away();
    let start = Instant::now();
    running.send_sigterm();
    let ended = running.end(scene.dir.path());
    assert_eq!((ended.code, &ended.finish), (Some(143), &None));
    let took = start.elapsed();
    let limits = Duration::from_secs(2)..Duration::from_secs(4);
    assert!(limits.contains(&took), "{took:?}");
    assert!(ended.run_dir.join("workspace/asked").exists());
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn a_runner_that_is_fenced_when_it_asks_kills_at_once() {
    let scene = Scene::new(FILES, "trap '' TERM; echo > ready; sleep 4321; sleep 4321");
    let running = scene.start();
    running.until_there_is("ready");
    running.control.seen().fenced = true;
    let start = Instant::now();
    running.send_sigterm();
    let ended = running.end(scene.dir.path());
    assert_eq!((ended.code, ended.finish), (Some(3), None));
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn a_fence_while_it_stops_takes_the_last_report_away() {
    let agent = "trap 'echo > heard' TERM; echo > ready; while :; do sleep 0.01; done";
    let scene = Scene::new(FILES, agent);
    let running = scene.start();
    running.until_there_is("ready");
    running.stop_request(KILL);
    running.until_there_is("heard");
    running.control.seen().fenced = true;
    let ended = running.end(scene.dir.path());
    assert_eq!((ended.code, ended.finish), (Some(3), None));
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn a_run_that_has_ended_reports_its_end_though_it_is_asked_to_stop() {
    let mut scene = Scene::new(FILES, "echo y > y");
    scene.fault = Fault::HoldsFinish;
    let running = scene.start();
    until("the last report is under way", || {
        running.control.seen().held > 0
    });
    running.stop_request(KILL);
    running.control.release();
    let ended = running.end(scene.dir.path());
    assert_eq!(ended.code, Some(0));
    assert!(matches!(ended.outcome(), Outcome::Succeeded { .. }));
}

#[test]
fn a_run_that_ended_too_late_is_fenced() {
    let mut scene = Scene::new(FILES, "echo y > y");
    scene.fault = Fault::HoldsFinish;
    let running = scene.start();
    until("the last report is under way", || {
        running.control.seen().held > 0
    });
    running.stop_request(KILL);
    running.control.seen().fenced = true;
    running.control.release();
    let ended = running.end(scene.dir.path());
    assert_eq!((ended.code, ended.finish), (Some(3), None));
}

#[test]
fn a_last_report_that_is_refused_ends_a_stopped_runner_as_fenced() {
    let mut scene = Scene::new(FILES, WAITING);
    scene.fault = Fault::RefusesFinish;
    let running = scene.start();
    running.until_there_is("ready");
    running.stop_request(KILL);
    let ended = running.end(scene.dir.path());
    assert_eq!((ended.code, ended.finish), (Some(3), None));
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn lost_answers_do_not_keep_a_runner_from_stopping() {
    let mut scene = Scene::new(FILES, WAITING);
    scene.fault = Fault::LosesEverySecondAnswer;
    let running = scene.start();
    running.until_there_is("ready");
    running.stop_request(KILL);
    assert_eq!(running.end(scene.dir.path()).stopped(&scene), (false, None));
}
