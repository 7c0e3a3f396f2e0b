//! A runner whose calls fail for a while, or are refused by intermediaries.

use std::time::{Duration, Instant};

use awo_domain::control::RunnerEvent as E;

use crate::control_double::Fault;
use crate::scene::Scene;

const FILES: &[(&str, &str)] = &[
    ("README.md", "x\n"),
    ("verify.yaml", "tests: [{run: 'true'}]\n"),
];

#[test]
fn only_the_control_apis_own_answers_fence_and_everything_else_is_tried_again() {
    let mut scene = Scene::new(FILES, "echo x > x");
    // A gateway's and a firewall's words for no, errors, and throttling.
    scene.fault = Fault::InFront(&[403, 429, 413, 500, 404, 400, 401, 409]);
    let ended = scene.run();
    ended.succeeded();
    let began = |event: &&E| matches!(event, E::IterationStarted { .. });
    assert_eq!(ended.events.iter().filter(began).count(), 1);
}

#[test]
fn a_log_that_a_firewall_turns_away_is_left_out_and_the_run_goes_on() {
    let mut scene = Scene::new(FILES, "echo \"<script>' OR 1=1 --\"; echo x > x");
    scene.fault = Fault::LogsTurnedAway;
    let running = scene.start();
    let ended = running.end(scene.dir.path());
    ended.succeeded();
    assert!(ended.logs.is_empty());
}

#[test]
fn heartbeats_go_on_behind_a_report_that_nobody_answers() {
    let mut scene = Scene::new(FILES, "echo x > x; sleep 1");
    scene.fault = Fault::HangsOnAgentsEnd;
    let running = scene.start();
    let began = Instant::now();
    crate::scene::until("a heartbeat comes behind the report", || {
        let seen = running.control.seen();
        seen.held > 0 && seen.heartbeats > 0
    });
    // The report itself has 20 s.
    assert!(
        began.elapsed() < Duration::from_secs(19),
        "{:?}",
        began.elapsed()
    );
    running.stop_request(awo_domain::control::StopRequest::Cancel);
    running.end(scene.dir.path());
}
