//! Agent logs on their way to clients.

use std::fs;

use awo_domain::control::RunnerEvent as E;

use crate::control_double::Fault;
use crate::scene::{Scene, output};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];

#[test]
fn each_attempt_has_a_log_that_comes_before_the_report_of_its_end() {
    let agent = "echo out $AWO_ITERATION; sleep 0.05; echo err >&2; test $AWO_ITERATION = 2";
    let mut scene = Scene::new(FILES, agent);
    scene.fault = Fault::LosesEverySecondAnswer;
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(ended.logs.len(), 2);
    for (number, (stored, log)) in (1..).zip(&ended.logs) {
        let text = format!("out {number}\nerr\n");
        assert_eq!((log.iteration, log.bytes), (number, text.len() as u64));
        assert_eq!(output(log), text.as_bytes());
        let is_reported =
            |event: &E| matches!(event, E::AgentFinished { iteration, .. } if *iteration == number);
        let has_begun =
            |event: &E| matches!(event, E::IterationStarted { iteration } if *iteration == number);
        assert!(ended.events[..*stored].iter().any(has_begun));
        assert!(ended.events[*stored..].iter().any(is_reported));
    }
}

#[test]
fn a_long_log_is_cut_to_its_end_and_says_how_long_it_was() {
    let agent = "seq 1 100000; printf 'last \\033[1mline\\033[0m\\n'";
    let scene = Scene::new(FILES, agent);
    let ended = scene.run();
    ended.succeeded();
    let (_, log) = &ended.logs[0];
    let text = String::from_utf8(output(log)).unwrap();
    assert_eq!(text.len(), 262_144);
    assert!(text.ends_with("\n100000\nlast \u{1b}[1mline\u{1b}[0m\n"));
    assert_eq!(log.bytes, 588_895 + 18);
    let file = fs::read(ended.run_dir.join("logs/1.log")).unwrap();
    assert_eq!(file, text.as_bytes());
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_nothing_grows_beyond_the_limit() {
    let agent = "head -c 300000 /dev/urandom; printf 'end\\377'";
    let ended = Scene::new(FILES, agent).run();
    ended.succeeded();
    let (_, log) = &ended.logs[0];
    let text = String::from_utf8(output(log)).unwrap();
    assert!(
        text.len() <= 262_144 && text.len() > 262_100,
        "{}",
        text.len()
    );
    assert!(text.ends_with("end\u{fffd}"));
    assert_eq!(log.bytes, 300_004);
    assert!(log.output.len() < 400_000, "{}", log.output.len());
}

#[test]
fn an_agent_that_cannot_be_started_has_a_log_that_says_so() {
    let mut scene = Scene::new(FILES, "").once();
    scene.spec.agent.command = Some(vec!["/no/such/agent".to_owned()]);
    let ended = scene.run();
    let (_, log) = &ended.logs[0];
    let reply = String::from_utf8(output(log)).unwrap();
    assert!(reply.contains("/no/such/agent"), "{reply}");
    let events = ended.events.iter();
    let reported = events.filter(|event| matches!(event, E::AgentFinished { .. }));
    assert_eq!(reported.count(), 1);
}
