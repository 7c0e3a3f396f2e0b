//! Agent output is published during the run.

use std::fs;

use awo_domain::control::RunnerEvent as E;

use crate::scene::{EndedRunner, Running, Scene, until};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];

fn reported(ended: &EndedRunner) -> Vec<&str> {
    let texts = ended.events.iter().filter_map(|event| match event {
        E::AgentOutput { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Waits until these lines are reported, in whatever order the two streams were read.
fn until_reported(running: &Running, wanted: &[&str]) {
    until(&wanted.join(" "), || {
        let seen = running.control.seen();
        let texts = seen.events.iter().filter_map(|event| match &event.event {
            E::AgentOutput {
                text, iteration: 1, ..
            } => Some(text.as_str()),
            _ => None,
        });
        let lines: Vec<&str> = texts.flat_map(str::lines).collect();
        wanted.iter().all(|line| lines.contains(line))
    });
}

#[test]
fn what_an_agent_writes_is_reported_while_it_works_line_by_line() {
    let agent = "printf '\\033[1mone\\033[0m\\nha'; echo problem >&2; \
        until [ -e go ]; do sleep 0.01; done; echo lf; rm go";
    let scene = Scene::new(FILES, agent).once();
    let running = scene.start();
    until_reported(&running, &["one", "problem"]);
    fs::write(running.run_dir.join("workspace/go"), "").unwrap();
    let ended = running.end(scene.dir.path());
    ended.succeeded();
    let texts = reported(&ended);
    assert_eq!(texts.last(), Some(&"half\n"));
    let mut lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["half", "one", "problem"]);
    let at = |is: fn(&E) -> bool| ended.events.iter().rposition(is).unwrap();
    let last = at(|event| matches!(event, E::AgentOutput { .. }));
    assert_eq!(
        at(|event| matches!(event, E::AgentFinished { .. })),
        last + 1
    );
}

#[test]
fn an_agent_that_is_done_at_once_has_its_output_in_its_log_alone() {
    let scene = Scene::new(FILES, "echo done").once();
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(reported(&ended), Vec::<&str>::new());
    assert_eq!(ended.logs.len(), 1);
}

#[test]
fn an_agent_that_writes_without_end_costs_few_events() {
    let scene = Scene::new(FILES, "timeout 4 yes flood; true").once();
    let ended = scene.run();
    ended.succeeded();
    let texts = reported(&ended);
    assert!((2..=6).contains(&texts.len()), "{}", texts.len());
    assert!(texts.iter().all(|text| text.len() <= 8_192));
    let left_out = ended.events.iter().any(
        |event| matches!(event, E::AgentOutput { left_out_bytes, .. } if *left_out_bytes > 8_192),
    );
    assert!(left_out);
}
