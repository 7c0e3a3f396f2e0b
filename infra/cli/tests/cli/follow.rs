//! Following a run, by a script of events.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::call::{CallOutput, KEY, at, command};
use crate::double::{Double, Part, ReceivedRequest, Reply, sse};

const RUN: &str = "run_01k0000000000000000000000b";

fn event(sequence: usize, kind: &str, data: Value) -> Value {
    let timestamp = format!("2026-11-20T08:00:0{}.000Z", sequence % 10);
    json!({"sequence": sequence, "type": kind, "timestamp": timestamp, "data": data})
}

fn story(last: &str) -> Vec<Value> {
    let failed = json!({"iteration": 1, "overallStatus": "failed", "summary": "1 of 2 checks failed",
        "results": [{"level": "L1", "status": "failed", "summary": "s", "checks": [
            {"name": "make test", "status": "failed", "message": "FAIL adds: wanted 4, got 5\nmore"},
            {"name": "make lint", "status": "passed", "message": ""}]}]});
    let finished = json!({"iteration": 1, "completed": true, "durationMs": 1200, "summary": "fixed a", "usage": []});
    let parts = [
        ("run.created", json!({})),
        ("run.building", json!({})),
        ("iteration.started", json!({"iteration": 1})),
        ("agent.finished", finished),
        ("verification.failed", failed),
        ("iteration.started", json!({"iteration": 2})),
        (
            "verification.passed",
            json!({"iteration": 2, "summary": "2 checks passed"}),
        ),
        (
            "delivery.finished",
            json!({"branch": "awo/x", "commit": "abc"}),
        ),
        (last, json!({})),
    ];
    parts
        .into_iter()
        .enumerate()
        .map(|(i, (kind, data))| event(i + 1, kind, data))
        .collect()
}

fn run(status: &str) -> String {
    let mut run = json!({"runId": RUN, "workOrderId": "wo_01k0000000000000000000000a", "status": status,
        "iteration": 2, "maxIterations": 5, "createdAt": "2026-11-20T08:00:00.000Z"});
    if status != "running" {
        run["startedAt"] = json!("2026-11-20T08:00:01.000Z");
        run["completedAt"] = json!("2026-11-20T08:00:05.500Z");
        run["commit"] = json!("0123456789abcdef");
        run["branch"] = json!("awo/x");
        run["cost"] = json!({"credits": 0.25, "usd": 0.0015});
        run["usage"] = json!({"totalInputTokens": 100, "totalOutputTokens": 20,
            "totalCachedInputTokens": 40, "byModel": {"m-1": {}}});
    }
    if status == "failed" {
        run["error"] = json!({"code": "MAX_ITERATIONS_REACHED", "message": "not fixed",
            "category": "verification", "retryable": false, "remedy": "Read the checks."});
    }
    run.to_string()
}

/// Sends the events from the requested one to the one with this sequence, and the run.
fn reply_to(story: &[Value], end: &str, seen: &ReceivedRequest, up_to: usize) -> Reply {
    match seen.stream_after() {
        None => Reply::of(200, run(end)),
        Some(after) => {
            let after = usize::try_from(after).unwrap();
            Reply::stream(story[after..up_to].iter().map(sse))
        }
    }
}

async fn double(last: &'static str, end: &'static str) -> Double {
    Double::start(move |seen, _| reply_to(&story(last), end, seen, 9)).await
}

#[tokio::test]
async fn a_run_is_shown_as_it_goes_and_every_event_once() {
    let double = double("run.completed", "succeeded").await;
    let called = at(&double.url, &["follow", RUN]).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    for part in [
        "queued",
        "building",
        "iteration 1",
        "done in 1.2 s: fixed a",
        "1 of 2 checks failed",
        "✗ L1 make test",
        "FAIL adds: wanted 4, got 5",
        "iteration 2",
        "2 checks passed",
        "succeeded in 4.5 s, 2 iterations",
        "0123456789abcdef",
        "awo/x",
        "0.25",
        "100 in (40 of them cached), 20 out",
        "0.0015 USD (m-1)",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    assert_eq!(
        called.out.matches("iteration 1").count(),
        1,
        "{}",
        called.out
    );
    assert!(
        !called.out.contains("make lint"),
        "a check that passed is no news"
    );
    assert!(
        !called.out.contains('\u{1b}'),
        "no colours where there is no terminal"
    );
}

#[tokio::test]
async fn a_run_that_fails_is_exit_code_1_and_json_stays_pure() {
    let double = double("run.failed", "failed").await;
    let called = at(&double.url, &["follow", RUN, "--json"]).await;
    assert_eq!(called.code, 1, "{called:?}");
    assert_eq!(called.out, format!("{}\n", run("failed")));
    assert!(called.err.contains("iteration 1"), "{}", called.err);
    let people = at(&double.url, &["follow", RUN]).await;
    assert_eq!(people.code, 1);
    for wanted in [
        "MAX_ITERATIONS_REACHED: not fixed",
        "category      verification\n",
        "remedy        Read the checks.\n",
    ] {
        assert!(people.out.contains(wanted), "{}", people.out);
    }
}

#[tokio::test]
async fn without_a_terminal_a_queued_run_says_once_that_it_waits_for_a_budget() {
    let story = story("run.completed");
    let double = Double::start(move |seen, _| {
        if seen.target.starts_with("/api/v1/queue/position/") {
            let data = json!({"workOrderId": "wo_01k0000000000000000000000a", "state": "queued",
                "position": 1, "enqueuedAt": "2026-11-20T08:00:00.000Z", "waitsFor": "budget"});
            return Reply::of(200, json!({"success": true, "data": data}).to_string());
        }
        match seen.stream_after() {
            Some(0) => {
                let queued = [sse(&story[0]), Part::Pause(Duration::from_secs(8))];
                Reply::stream(queued.into_iter().chain(story[1..].iter().map(sse)))
            }
            _ => Reply::of(200, run("succeeded")),
        }
    })
    .await;
    let called = at(&double.url, &["follow", RUN]).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    let waits = "waiting      for its budget: it begins when the period turns";
    assert_eq!(called.out.matches(waits).count(), 1, "{}", called.out);
    assert!(
        called.out.find("queued") < called.out.find(waits),
        "{}",
        called.out
    );
    let asked = double.seen();
    let asked = asked
        .iter()
        .filter(|of| of.target.contains("/queue/position/"));
    assert!(
        asked.count() >= 2,
        "it goes on looking while the run is queued"
    );
}

/// A stream that begins with a retry time, and ends as requested.
fn broken_off(story: &[Value], end: impl IntoIterator<Item = Part>) -> Reply {
    let begin = [Part::Text("retry: 100\n\n: here\n\n".to_owned())];
    let begin = begin.into_iter().chain(story.iter().map(sse));
    Reply::stream(begin.chain(end))
}

#[tokio::test]
async fn a_service_that_is_away_for_a_moment_is_waited_for() {
    let story = story("run.completed");
    let mut double = Double::start(move |seen, number| match number {
        0 => broken_off(&story[..3], [Part::Cut]),
        1 => Reply::of(503, "{}"),
        2 => Reply {
            headers: vec![("retry-after", "1")],
            ..Reply::of(429, r#"{"error":{"code":"RATE_LIMITED","message":"m"}}"#)
        },
        // In the middle of an event, when the service goes away.
        3 => broken_off(
            &story[3..5],
            [Part::Text("id: 6\ndata: {\"sequence".to_owned()), Part::Cut],
        ),
        _ => reply_to(&story, "succeeded", seen, 9),
    })
    .await;
    let url = double.url.clone();
    let following = tokio::spawn(async move { at(&url, &["follow", RUN]).await });
    while double.seen().len() < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    double.vanish_for(Duration::from_millis(900)).await;
    let called = following.await.unwrap();
    assert_eq!(called.code, 0, "{called:?}");
    for part in [
        "the service does not respond",
        "the service responds again",
        "iteration 1",
        "1 of 2 checks failed",
        "iteration 2",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    for once in ["iteration 1", "1 of 2 checks failed", "delivered"] {
        assert_eq!(called.out.matches(once).count(), 1, "{}", called.out);
    }
    let after: Vec<_> = double
        .seen()
        .iter()
        .filter_map(ReceivedRequest::stream_after)
        .collect();
    assert_eq!(after[..4], [0, 3, 3, 3]);
    assert!(after[4..].iter().all(|after| *after == 5), "{after:?}");
}

#[tokio::test]
async fn a_stream_whose_time_is_up_is_taken_up_again_without_a_word() {
    let story = story("run.completed");
    let double = Double::start(move |seen, _| match seen.stream_after() {
        // The service begins again one event too early, which is not to be seen.
        Some(after @ (0 | 4)) => {
            let after = usize::try_from(after).unwrap();
            broken_off(&story[after.saturating_sub(1)..after + 4], [])
        }
        None if seen.target == format!("/v1/runs/{RUN}") => {
            Reply::of(200, run("running").replace("\"running\"", "\"succeeded\""))
        }
        _ => reply_to(&story, "succeeded", seen, 9),
    })
    .await;
    let called = at(&double.url, &["follow", RUN]).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    assert!(!called.out.contains("does not respond"), "{}", called.out);
    for once in ["queued", "iteration 1", "1 of 2 checks failed", "delivered"] {
        assert_eq!(called.out.matches(once).count(), 1, "{}", called.out);
    }
}

#[tokio::test]
async fn tries_that_bring_nothing_are_counted_and_given_up() {
    let story = story("run.completed");
    let double = Double::start(move |_, number| match number {
        0 => broken_off(&story[..2], [Part::Cut]),
        _ => Reply::of(503, "{}"),
    })
    .await;
    let called = at(&double.url, &["follow", RUN]).await;
    assert_eq!(called.code, 4, "{called:?}");
    assert_eq!(double.seen().len(), 5);
    for part in [
        "HTTP 503",
        "5 tries",
        &format!("awo events {RUN} --follow --after 2"),
    ] {
        assert!(called.err.contains(part), "{part} in {}", called.err);
    }
}

#[tokio::test]
async fn what_does_not_stream_is_reported_and_what_is_refused_is_not_tried_again() {
    let double = Double::start(|_, _| Reply::of(200, "{\"events\":[]}")).await;
    let called = at(&double.url, &["follow", RUN]).await;
    assert_eq!(called.code, 3, "{called:?}");
    assert!(called.err.contains("does not stream"), "{}", called.err);
    let body = r#"{"error":{"code":"RUN_NOT_FOUND","message":"there is no such run"}}"#;
    let double = Double::start(move |_, _| Reply::of(404, body)).await;
    let called = at(&double.url, &["follow", RUN]).await;
    assert_eq!(called.code, 3, "{called:?}");
    assert!(called.err.contains("RUN_NOT_FOUND"), "{}", called.err);
    assert!(called.err.contains("awo runs"), "{}", called.err);
    assert_eq!(double.seen().len(), 1);
    let huge = format!("id: 1\ndata: {}", "x".repeat(2 * 1_024 * 1_024));
    let double = Double::start(move |_, _| Reply::stream([Part::Text(huge.clone())])).await;
    let called = at(&double.url, &["follow", RUN]).await;
    assert_eq!(called.code, 3, "{called:?}");
    assert!(called.err.contains("larger than"), "{}", called.err);
}

#[tokio::test]
async fn an_interrupt_leaves_the_run_going_and_says_so() {
    let story = story("run.completed");
    let hang = || [Part::Pause(Duration::from_secs(60))];
    let double = Double::start(move |_, _| broken_off(&story[..3], hang())).await;
    let mut child = command(["follow", RUN, "--url", &double.url])
        .env("AWO_API_KEY", KEY)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next_line().await.unwrap().unwrap().contains("queued"));
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    kill(pid, Signal::SIGINT).unwrap();
    let mut rest = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        rest.push_str(&line);
    }
    let called = CallOutput::of(child.wait_with_output().await.unwrap());
    assert_eq!(called.code, 130);
    assert!(rest.contains(&format!("awo follow {RUN}")), "{rest}");
}
