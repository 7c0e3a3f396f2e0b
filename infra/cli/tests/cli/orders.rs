//! Commands on a work order: cancel, kill, start, and its position in the queue.

use std::time::Duration;

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, Part, ReceivedRequest, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const RUN: &str = "run_01k0000000000000000000000b";

fn envelope(data: Value) -> String {
    json!({"success": true, "data": data, "requestId": "r"}).to_string()
}

fn refusal(code: &str) -> String {
    let error = json!({"code": code, "message": format!("it is {code}\u{1b}[2J")});
    json!({"success": false, "error": error, "requestId": "r"}).to_string()
}

fn order(status: &str) -> String {
    json!({"id": WO, "runId": RUN, "status": status, "taskPrompt": "do", "workspaceSource": {},
        "maxIterations": 5, "createdAt": "2026-11-20T08:00:00.000Z"})
    .to_string()
}

fn run(settled: bool) -> String {
    let mut run = json!({"runId": RUN, "workOrderId": WO, "status": "canceled", "iteration": 1,
        "maxIterations": 5, "createdAt": "2026-11-20T08:00:00.000Z",
        "startedAt": "2026-11-20T08:00:01.000Z", "completedAt": "2026-11-20T08:00:03.000Z"});
    if settled {
        run["settledAt"] = json!("2026-11-20T08:00:04.000Z");
        run["cost"] = json!({"credits": 0.75, "usd": 0.0});
    }
    run.to_string()
}

/// The service: work orders that run, whose runs are settled at the third look.
fn service(seen: &ReceivedRequest, number: usize) -> Reply {
    let canceled = json!({"id": WO, "status": "canceled", "message": "m", "wasRunning": true});
    let started =
        json!({"runId": RUN, "status": "building", "startedAt": "2026-11-20T08:00:00.000Z"});
    match seen.route().split_once("/v1").unwrap() {
        ("DELETE /api", _) => Reply::of(200, envelope(canceled)),
        ("POST ", path) if path.ends_with("/cancel") => Reply::of(200, run(false)),
        ("POST /api", path) if path.ends_with("/runs") => Reply::of(201, envelope(started)),
        ("GET ", path) if path.starts_with("/runs/") => Reply::of(200, run(number >= 4)),
        ("GET ", path) if path.starts_with("/work-orders/") => Reply::of(200, order("running")),
        other => panic!("{other:?}"),
    }
}

fn routes(double: &Double) -> Vec<String> {
    double.seen().iter().map(ReceivedRequest::route).collect()
}

#[tokio::test]
async fn a_work_order_is_canceled_and_the_consequence_is_shown() {
    let double = Double::start(service).await;
    let called = at(&double.url, &["cancel", WO]).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    assert!(
        called.out.contains("its processes are being stopped"),
        "{}",
        called.out
    );
    assert_eq!(
        routes(&double),
        [format!("DELETE /api/v1/work-orders/{WO}")]
    );
    let json = at(&double.url, &["cancel", WO, "--json"]).await.json();
    assert_eq!(json["data"]["wasRunning"], true);
}

#[tokio::test]
async fn a_reason_goes_with_the_cancel_of_the_run() {
    let double = Double::start(service).await;
    for id in [WO, RUN] {
        let called = at(&double.url, &["cancel", id, "--reason", "wrong branch"]).await;
        assert_eq!(called.code, 0, "{called:?}");
    }
    let run = format!("POST /v1/runs/{RUN}/cancel");
    let order = format!("GET /v1/work-orders/{WO}");
    assert_eq!(routes(&double), [order, run.clone(), run]);
    for seen in double.seen().iter().filter(|seen| seen.method == "POST") {
        assert_eq!(seen.body, json!({"reason": "wrong branch"}));
    }
    at(&double.url, &["cancel", RUN]).await;
    let bare = double.seen().pop().unwrap();
    assert_eq!(bare.body, Value::Null);
    assert!(!bare.headers.contains_key("content-type"));
}

#[tokio::test]
async fn a_cancel_that_waits_shows_the_cost() {
    let double = Double::start(service).await;
    let called = at(&double.url, &["cancel", WO, "--wait"]).await;
    assert_eq!(called.code, 0, "{called:?}");
    for part in ["canceled", "in 2.0 s", "0.75"] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    let json = at(&double.url, &["cancel", RUN, "--wait", "--json"]).await;
    assert_eq!(json.json()["settledAt"], "2026-11-20T08:00:04.000Z");
}

#[tokio::test]
async fn what_is_over_cannot_be_canceled() {
    let double = Double::start(|_, _| Reply::of(409, refusal("CONFLICT"))).await;
    let called = at(&double.url, &["cancel", WO]).await;
    assert_eq!((called.code, called.out.as_str()), (3, ""), "{called:?}");
    assert!(
        called.err.contains("CONFLICT: it is CONFLICT"),
        "{}",
        called.err
    );
    assert!(called.err.contains("awo get"), "{}", called.err);
    assert!(!called.err.contains('\u{1b}'), "{called:?}");
    assert_eq!(double.seen().len(), 1);
}

/// An answer that begins with white space, some time before the rest.
fn late(body: String) -> Reply {
    let space = || Part::Text("  \n".to_owned());
    let pause = || Part::Pause(Duration::from_millis(100));
    Reply {
        body: vec![space(), pause(), space(), pause(), Part::Text(body)],
        ..Reply::of(200, "")
    }
}

fn killed(success: bool) -> String {
    let mut data = json!({"id": WO, "success": success, "forcedKill": success, "durationMs": 5_100,
        "status": "failed", "message": "\u{1b}[2Jit had to be killed"});
    if !success {
        data["error"] = json!("a process is stuck");
    }
    envelope(data)
}

#[tokio::test]
async fn a_kill_waits_for_its_answer() {
    let double = Double::start(|_, _| late(killed(true))).await;
    let args = ["kill", WO, "--grace", "250ms", "--reason", "runs away"];
    let called = at(&double.url, &args).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    for part in ["failed", "yes", "5.1 s", "it had to be killed"] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    assert!(!called.out.contains('\u{1b}'), "{called:?}");
    at(&double.url, &["kill", WO, "--now"]).await;
    let json = at(&double.url, &["kill", WO, "--json"]).await;
    assert_eq!(json.out, format!("{}\n", killed(true)));
    let seen = double.seen();
    let bodies: Vec<Value> = seen.iter().map(|seen| seen.body.clone()).collect();
    let first = json!({"gracePeriodMs": 250, "reason": "runs away"});
    assert_eq!(bodies, [first, json!({"immediate": true}), json!({})]);
    assert_eq!(
        seen[0].route(),
        format!("POST /api/v1/work-orders/{WO}/kill")
    );
    for wrong in [["--grace", "31s"], ["--grace", "5"]] {
        let args = [&["kill", WO][..], &wrong].concat();
        assert_eq!(at(&double.url, &args).await.code, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn a_kill_that_is_not_confirmed_is_a_failure() {
    let double = Double::start(|_, _| late(killed(false))).await;
    let called = at(&double.url, &["kill", WO]).await;
    assert_eq!(called.code, 1, "{called:?}");
    assert!(called.out.contains("a process is stuck"), "{}", called.out);
    let json = at(&double.url, &["kill", WO, "--json"]).await;
    assert_eq!((json.code, json.out), (1, format!("{}\n", killed(false))));
}

#[tokio::test]
async fn a_refusal_that_comes_after_the_status_line_is_a_refusal() {
    let double = Double::start(|_, _| late(refusal("NOT_FOUND"))).await;
    let called = at(&double.url, &["kill", WO]).await;
    assert_eq!((called.code, called.out.as_str()), (3, ""), "{called:?}");
    assert!(called.err.contains("NOT_FOUND"), "{}", called.err);
    assert!(called.err.contains("awo list"), "{}", called.err);
    let json = at(&double.url, &["kill", WO, "--json"]).await;
    assert_eq!(
        (json.code, json.out),
        (3, format!("{}\n", refusal("NOT_FOUND")))
    );
}

#[tokio::test]
async fn a_kill_whose_answer_is_lost_is_not_sent_again_unasked() {
    let parts = || vec![Part::Text(" ".to_owned()), Part::Cut];
    let double = Double::start(move |_, _| Reply {
        body: parts(),
        ..Reply::of(200, "")
    })
    .await;
    let called = at(&double.url, &["kill", WO]).await;
    assert_eq!(called.code, 4, "{called:?}");
    assert!(
        called.err.contains(&format!("awo get {WO}")),
        "{}",
        called.err
    );
    assert_eq!(double.seen().len(), 1);
}

#[tokio::test]
async fn a_start_is_made_once_however_often_it_is_sent() {
    let double = Double::start(|seen, number| match number {
        0 => Reply::of(503, r#"{"message":"the gateway's own words"}"#),
        _ => service(seen, number),
    })
    .await;
    let called = at(&double.url, &["start", WO]).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert!(
        called.out.contains(&format!("awo follow {RUN}")),
        "{}",
        called.out
    );
    at(
        &double.url,
        &["start", WO, "--idempotency-key", "mine", "--json"],
    )
    .await;
    let seen = double.seen();
    let keys: Vec<_> = seen.iter().map(|s| &s.headers["idempotency-key"]).collect();
    assert_eq!(keys[0], keys[1]);
    assert!(keys[0].len() >= 32, "{keys:?}");
    assert_eq!(keys[2], "mine");
    assert_eq!(
        seen[0].route(),
        format!("POST /api/v1/work-orders/{WO}/runs")
    );
    assert_eq!(seen[0].body, Value::Null);
}

#[tokio::test]
async fn a_start_that_is_followed_ends_with_its_run() {
    let double = Double::start(|seen, _| match seen.stream_after() {
        Some(_) => Reply::stream([crate::double::sse(
            &json!({"sequence": 1, "type": "run.cancelled",
            "timestamp": "2026-11-20T08:00:03.000Z", "data": {}}),
        )]),
        None => service(seen, 0),
    })
    .await;
    let called = at(&double.url, &["start", WO, "--follow"]).await;
    assert_eq!(called.code, 1, "{called:?}");
    assert!(
        called.out.starts_with(&format!("started  {WO}  {RUN}")),
        "{}",
        called.out
    );
    let refused = Double::start(|_, _| Reply::of(402, refusal("FORBIDDEN"))).await;
    let called = at(&refused.url, &["start", WO, "--follow"]).await;
    assert_eq!(called.code, 3, "{called:?}");
    assert!(called.err.contains("awo admin grant"), "{}", called.err);
}

fn health(waiting: u64) -> String {
    let (accepting, share) = (waiting < 10, waiting as f64 / 10.0);
    let status = if accepting { "healthy" } else { "unhealthy" };
    let stats = json!({"running": 5, "waiting": waiting, "maxConcurrent": 5, "maxQueueSize": 10, "accepting": accepting});
    let indicators = json!({"accepting": accepting, "canStartImmediately": false, "queueDepth": waiting, "runningCount": 5});
    envelope(
        json!({"status": status, "stats": stats, "utilization": share,
        "timestamp": "2026-11-20T08:00:00.000Z", "indicators": indicators}),
    )
}

#[tokio::test]
async fn the_queue_is_shown_full_or_not() {
    let double = Double::start(|_, number| match number {
        0 => Reply::of(200, health(3)),
        _ => Reply::of(503, health(10)),
    })
    .await;
    let called = at(&double.url, &["queue"]).await;
    assert_eq!((called.code, called.err.as_str()), (0, ""), "{called:?}");
    for part in [
        "healthy",
        "5 of 5 slots",
        "3 of 10 work orders",
        "█░",
        "waits for its turn",
    ] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    let full = at(&double.url, &["queue"]).await;
    assert_eq!((full.code, full.err.as_str()), (0, ""), "{full:?}");
    for part in ["unhealthy", "10 of 10 work orders", "is refused"] {
        assert!(full.out.contains(part), "{part} in {}", full.out);
    }
    let json = at(&double.url, &["queue", "--json"]).await;
    assert_eq!((json.code, json.out), (0, format!("{}\n", health(10))));
    assert_eq!(
        double.seen().len(),
        3,
        "a full queue is no reason to ask again"
    );
}

#[tokio::test]
async fn a_place_in_the_queue_is_shown_or_why_there_is_none() {
    let place = json!({"workOrderId": WO, "position": 3, "state": "waiting",
        "enqueuedAt": "2026-11-20T08:00:00.000Z", "estimatedStartTime": "2026-11-20T08:05:00.000Z"});
    let waiting = place.clone();
    let double = Double::start(move |_, _| Reply::of(200, envelope(waiting.clone()))).await;
    let called = at(&double.url, &["queue", WO]).await;
    for part in ["waiting", "3", "2026-11-20T08:05:00Z"] {
        assert!(called.out.contains(part), "{part} in {}", called.out);
    }
    assert_eq!(
        double.seen()[0].target,
        format!("/api/v1/queue/position/{WO}")
    );
    let json = at(&double.url, &["queue", WO, "--json"]).await.json();
    assert_eq!(json["data"], place);

    let gone = Double::start(|seen, _| {
        if seen.route().contains("/queue/") {
            Reply::of(404, refusal("NOT_FOUND"))
        } else {
            Reply::of(200, order("succeeded"))
        }
    })
    .await;
    let called = at(&gone.url, &["queue", WO]).await;
    assert_eq!((called.code, called.out.as_str()), (3, ""), "{called:?}");
    for part in ["is not in the queue", "succeeded", RUN] {
        assert!(called.err.contains(part), "{part} in {}", called.err);
    }
    let json = at(&gone.url, &["queue", WO, "--json"]).await;
    assert_eq!(
        (json.code, json.out),
        (3, format!("{}\n", refusal("NOT_FOUND")))
    );
}
