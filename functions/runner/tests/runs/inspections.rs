//! Hostile files of a repository affect only their own check.

use std::time::{Duration, Instant};

use awo_domain::run::RunErrorCode as Code;
use awo_domain::verification::Status;

use crate::scene::{Scene, alive};

/// Two evaluations for each level of a value.
const SCHEMA: &str = r##"{"anyOf":[{"type":"string"},
 {"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}},
 {"type":"object","required":["a"],"minProperties":1,"properties":{"a":{"$ref":"#"}}}]}"##;
/// Writes a value of so many levels.
fn nested(levels: u32) -> String {
    format!(
        "awk 'BEGIN {{ for (i = 0; i < {levels}; i++) printf \"{{\\\"a\\\":\"; printf \"1\"; \
         for (i = 0; i < {levels}; i++) printf \"}}\" }}' > a.json"
    )
}

/// It would take seconds, and some hundred MiB.
const SLOW: u32 = 16;
/// It would take all there is.
const LARGE: u32 = 60;

fn slow(plan: &str) -> Scene {
    let files = [("verify.yaml", plan), ("s.json", SCHEMA)];
    let mut scene = Scene::new(&files, &nested(SLOW)).once();
    scene.spec.profile.verification.timeout_ms = 600;
    scene
}

#[test]
fn a_schema_that_never_ends_is_a_check_that_timed_out_and_the_run_goes_on() {
    let plan = "contracts: {schemas: [{file: a.json, schema: s.json}]}\n";
    let scene = slow(plan);
    let began = Instant::now();
    let ended = scene.run();
    assert!(began.elapsed() < Duration::from_secs(15));
    ended.failed(Code::MaxIterationsReached);
    let check = ended.check("schema: a.json");
    assert_eq!(check.status, Status::Error, "{}", check.message);
    assert!(check.message.contains("timed out"), "{}", check.message);
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
}

#[test]
fn a_check_that_takes_all_memory_is_named_and_those_after_it_are_judged() {
    let plan = "contracts:\n  schemas:\n    - {file: a.json, schema: hog.json}\n    \
                - {file: b.json, schema: s.json}\n";
    let files = [
        ("verify.yaml", plan),
        ("s.json", "{\"type\": \"object\"}"),
        ("hog.json", SCHEMA),
        ("b.json", "{}"),
    ];
    let ended = Scene::new(&files, &nested(LARGE)).once().run();
    let hog = ended.check("schema: a.json");
    assert_eq!(hog.status, Status::Failed, "{}", hog.message);
    assert!(hog.message.contains("memory"), "{}", hog.message);
    assert_eq!(ended.check("schema: b.json").status, Status::Passed);
}

#[test]
fn a_blackbox_whose_output_is_looked_at_for_ever_times_out_by_its_name() {
    let plan = "blackbox: [{name: says, run: cat a.json, expect: {jsonSchema: s.json}}]\n";
    let scene = slow(plan);
    let ended = scene.run();
    assert_eq!(ended.check("says").status, Status::Error);
}

#[test]
fn a_plan_that_buys_memory_is_refused_with_its_place() {
    let patterns = "  - {run: a, expect: {matches: ['\\w{20}', '\\w{20}', '\\w{20}']}}\n";
    let alias = "blackbox: [{run: a, expect: {jsonSchema: {a: &a [1, 1], b: *a}}}]\n";
    for (plan, place) in [
        (
            format!("blackbox:\n{}", patterns.repeat(100)),
            "expect.matches[",
        ),
        (alias.to_owned(), "line 1 column"),
    ] {
        let scene = Scene::new(&[("verify.yaml", &plan)], "true").once();
        let ended = scene.run();
        let why = ended.failed(Code::WorkspaceFailed);
        assert!(why.contains("verify.yaml") && why.contains(place), "{why}");
    }
}

#[test]
fn what_an_agent_or_a_verifier_starts_gives_way_to_the_runner() {
    let plan = "tests: [{name: unit, run: 'test \"$(nice)\" -gt 0'}]\n";
    let ended = Scene::new(
        &[("verify.yaml", plan)],
        "test \"$(nice)\" -gt 0 && date > x",
    )
    .once()
    .run();
    ended.succeeded();
    assert_eq!(ended.check("unit").status, Status::Passed);
}

#[test]
fn heartbeats_and_stop_requests_have_a_thread_of_their_own() {
    let scene = Scene::new(&[("README.md", "x")], "touch begun; sleep 3");
    let running = scene.start();
    running.until_there_is("begun");
    let tasks = format!("/proc/{}/task", running.child.id());
    let threads: Vec<String> = std::fs::read_dir(tasks)
        .unwrap()
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
        .collect();
    assert!(
        threads.iter().any(|name| name.trim() == "control"),
        "{threads:?}"
    );
    running.end(scene.dir.path()).succeeded();
}
