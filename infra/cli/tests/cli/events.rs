//! Events as data, and agent logs.

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, Part, ReceivedRequest, Reply, sse};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";
const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}gone\u{9b}1m";

fn event(sequence: u64) -> Value {
    let kind = match sequence {
        1 => "run.created",
        7 => "run.completed",
        _ => "agent.finished",
    };
    let data = json!({"iteration": sequence, "summary": HOSTILE, "usage": [1, 2], "runId": RUN});
    json!({"sequence": sequence, "type": kind, "timestamp": "2026-11-20T08:00:00.000Z", "data": data, "later": true})
}

fn order() -> String {
    json!({"id": WO, "runId": RUN, "status": "running", "taskPrompt": "do", "workspaceSource": {},
        "maxIterations": 5, "createdAt": "2026-11-20T08:00:00.000Z"})
    .to_string()
}

fn run(status: &str) -> String {
    json!({"runId": RUN, "workOrderId": WO, "status": status, "iteration": 2, "maxIterations": 5,
        "createdAt": "2026-11-20T08:00:00.000Z"})
    .to_string()
}

fn after(seen: &ReceivedRequest) -> u64 {
    let (_, after) = seen.target.split_once("after=").unwrap();
    after.split('&').next().unwrap().parse().unwrap()
}

fn harmless(text: &str) {
    let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(bad), "{text:?}");
}

fn sequences(out: &str) -> Vec<u64> {
    out.lines()
        .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
        .collect()
}

/// A page of two events, of seven.
fn page(seen: &ReceivedRequest) -> Reply {
    match seen.route().as_str() {
        "GET /v1/work-orders/wo_01k0000000000000000000000a" => Reply::of(200, order()),
        "GET /v1/runs/run_01k0000000000000000000000b/events" => {
            let (first, last) = (after(seen) + 1, (after(seen) + 2).min(7));
            let events: Vec<Value> = (first..=last).map(event).collect();
            let body = json!({"events": events, "lastSequence": last, "hasMore": last < 7});
            Reply::of(200, body.to_string())
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_timeline_is_listed_whole_one_line_an_event() {
    let double = Double::start(|seen, _| page(seen)).await;
    let called = at(&double.url, &["events", RUN]).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    assert_eq!(sequences(&called.out), [1, 2, 3, 4, 5, 6, 7]);
    harmless(&called.out);
    for part in ["agent.finished", "iteration=3", "usage=[2]", "gone"] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    assert!(!called.out.contains(RUN), "{}", called.out);
    let some = at(&double.url, &["events", WO, "--after", "5"]).await;
    assert_eq!(sequences(&some.out), [6, 7], "{some:?}");
}

#[tokio::test]
async fn json_events_are_one_to_a_line_with_all_that_they_hold() {
    let double = Double::start(|seen, _| match seen.stream_after() {
        Some(after) => Reply::stream((after + 1..=7).map(|n| sse(&event(n)))),
        None => page(seen),
    })
    .await;
    for args in [
        &["events", RUN, "--json"][..],
        &["events", RUN, "--json", "--follow"],
    ] {
        let called = at(&double.url, args).await;
        assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
        let events: Vec<Value> = called
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(events, (1..=7).map(event).collect::<Vec<Value>>());
    }
}

#[tokio::test]
async fn a_stream_is_resumed_after_the_last_event_and_none_comes_twice() {
    let double = Double::start(|seen, _| {
        let events = |range: std::ops::RangeInclusive<u64>| range.map(|n| sse(&event(n)));
        let text = |text: &str| [Part::Text(text.to_owned())];
        match (seen.stream_after(), seen.route()) {
            // Broken off in the middle of the third event.
            (Some(0), _) => {
                let half = text("retry: 100\nid: 3\ndata: {\"sequence\":3,");
                Reply::stream(events(1..=2).chain(half).chain([Part::Cut]))
            }
            // Two that were sent already, a comment, one that is no event, and the time is up.
            (Some(2), _) => {
                let comment = text(": keep-alive\r\n\r\nevent: tick\ndata: {}\n\n");
                Reply::stream(events(1..=4).chain(comment))
            }
            (Some(4), _) => Reply::stream(events(5..=7)),
            (None, _) => Reply::of(200, run("running")),
            (after, _) => panic!("a stream after {after:?}"),
        }
    })
    .await;
    let called = at(&double.url, &["events", RUN, "--follow"]).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert_eq!(sequences(&called.out), [1, 2, 3, 4, 5, 6, 7]);
    harmless(&called.out);
    assert!(called.err.contains("responds again"), "{called:?}");
}

#[tokio::test]
async fn a_service_that_has_no_more_events_to_come_answers_204_and_following_ends() {
    let double = Double::start(|seen, _| match seen.stream_after() {
        // The connection is lost after what was the last event but one.
        Some(0) => Reply::stream((1..=6).map(|n| sse(&event(n))).chain([Part::Cut])),
        Some(_) => Reply::of(204, ""),
        None => Reply::of(200, run("succeeded")),
    })
    .await;
    let called = at(&double.url, &["events", RUN, "--follow"]).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert_eq!(sequences(&called.out), [1, 2, 3, 4, 5, 6]);
    let streams = double
        .seen()
        .into_iter()
        .filter(|seen| seen.stream_after().is_some());
    assert_eq!(streams.count(), 2, "{called:?}");
}

#[tokio::test]
async fn following_what_is_over_ends_at_once() {
    let double = Double::start(|seen, _| match seen.stream_after() {
        Some(0) => Reply::stream((1..=7).map(|n| sse(&event(n)))),
        Some(7) => Reply::stream([]),
        _ => Reply::of(200, run("succeeded")),
    })
    .await;
    let whole = at(&double.url, &["events", RUN, "--follow"]).await;
    assert_eq!(sequences(&whole.out).len(), 7, "{whole:?}");
    assert_eq!(double.seen().len(), 1, "its last event ends it");
    let nothing = at(&double.url, &["events", RUN, "--follow", "--after", "7"]).await;
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""), "{nothing:?}");
    assert_eq!(nothing.err, "");
}

fn log(iteration: u64) -> Value {
    json!({"iteration": iteration, "output": format!("\u{1b}[32mbuilt {iteration}\u{1b}[0m\r\n{HOSTILE}\n"),
        "bytes": iteration * 1_000_000, "truncated": iteration > 1})
}

fn logs(seen: &ReceivedRequest) -> Reply {
    let first = after(seen) + 1;
    let logs: Vec<Value> = (first..=first.min(3)).map(log).collect();
    let body = json!({"logs": logs, "hasMore": first < 3});
    Reply::of(200, body.to_string())
}

#[tokio::test]
async fn logs_are_shown_by_iteration_with_what_was_cut_and_steer_nothing() {
    let double = Double::start(|seen, _| match seen.route().as_str() {
        "GET /v1/runs/run_01k0000000000000000000000b/logs" => logs(seen),
        _ => Reply::of(200, order()),
    })
    .await;
    let called = at(&double.url, &["logs", WO]).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    harmless(&called.out);
    for part in [
        "── iteration 1 ──\nbuilt 1\n",
        "iteration 3",
        "built 3",
        "of 2.8 MiB",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    let one = at(&double.url, &["logs", RUN, "--iteration", "2"]).await;
    assert!(one.out.contains("built 2"), "{one:?}");
    assert_eq!(one.out.matches("── iteration").count(), 1, "{}", one.out);
    let target = double.seen().pop().unwrap().target;
    assert!(target.contains("after=1&limit=1"), "{target}");
    let none = at(&double.url, &["logs", RUN, "--iteration", "9"]).await;
    assert!(none.out.contains("no output in iteration 9"), "{none:?}");
    let all = at(&double.url, &["logs", RUN, "--json"]).await.json();
    let whole: Vec<Value> = (1..=3).map(log).collect();
    assert_eq!(all, json!({"logs": whole, "hasMore": false}));
}

#[tokio::test]
async fn logs_of_a_stranger_are_refused_as_the_api_says() {
    let body = r#"{"error":{"code":"RUN_NOT_FOUND","message":"there is no such run"}}"#;
    let double = Double::start(move |_, _| Reply::of(404, body)).await;
    let called = at(&double.url, &["logs", RUN, "--json"]).await;
    assert_eq!((called.code, called.out.trim()), (3, body), "{called:?}");
    assert!(called.err.contains("awo runs"), "{called:?}");
}
