//! Following a run, by a script of events.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::call::{Called, KEY, at, command};
use crate::double::{Double, Reply, Seen};

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
    let finished = json!({"iteration": 1, "completed": true, "durationMs": 1200, "summary": "mended a", "usage": []});
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
        run["error"] = json!({"code": "MAX_ITERATIONS_REACHED", "message": "not mended"});
    }
    run.to_string()
}

/// Shows one more event at each look; the run ends with the last.
fn told(story: &[Value], end: &str, seen: &Seen, looks: usize) -> Reply {
    let shown = looks.min(story.len());
    let Some((_, after)) = seen.target.split_once("after=") else {
        let over = shown == story.len();
        return Reply::of(200, run(if over { end } else { "running" }));
    };
    let after: usize = after.parse().unwrap();
    let new = &story[after.min(shown)..shown];
    Reply::of(
        200,
        json!({"events": new, "lastSequence": shown.max(after), "hasMore": false}).to_string(),
    )
}

async fn double(last: &'static str, end: &'static str) -> Double {
    Double::start(move |seen, number| told(&story(last), end, seen, number)).await
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
        "done in 1.2 s: mended a",
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
    assert!(
        people.out.contains("MAX_ITERATIONS_REACHED: not mended"),
        "{}",
        people.out
    );
}

#[tokio::test]
async fn a_service_that_is_away_for_a_moment_is_waited_for() {
    let story = story("run.completed");
    let mut double = Double::start(move |seen, number| match number {
        4 => Reply::of(503, "{}"),
        5 => Reply {
            headers: vec![("retry-after", "1")],
            ..Reply::of(429, r#"{"error":{"code":"RATE_LIMITED","message":"m"}}"#)
        },
        n => told(&story, "succeeded", seen, n.saturating_sub(20)),
    })
    .await;
    let url = double.url.clone();
    let following = tokio::spawn(async move { at(&url, &["follow", RUN]).await });
    while double.seen().len() < 8 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    double.vanish_for(Duration::from_millis(900)).await;
    let called = following.await.unwrap();
    assert_eq!(called.code, 0, "{called:?}");
    assert!(
        called.out.contains("the service does not answer"),
        "{}",
        called.out
    );
    assert!(
        called.out.contains("the service answers again"),
        "{}",
        called.out
    );
    assert_eq!(
        called.out.matches("iteration 1").count(),
        1,
        "{}",
        called.out
    );
}

#[tokio::test]
async fn an_interrupt_leaves_the_run_going_and_says_so() {
    let story = story("run.completed");
    let double = Double::start(move |seen, n| told(&story, "succeeded", seen, n.min(3))).await;
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
    let called = Called::of(child.wait_with_output().await.unwrap());
    assert_eq!(called.code, 130);
    assert!(rest.contains(&format!("awo follow {RUN}")), "{rest}");
}
