//! Events for a developer's own receiver.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use awo_domain::webhook::signature::{Message, Secret};
use awo_domain::{EventId, Timestamp};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::call::{CallOutput, KEY, command};
use crate::double::{Double, ReceivedRequest, Reply};

const WO: &str = "wo_01k0000000000000000000000a";
const FIRST: &str = "run_01k0000000000000000000000b";
const SECOND: &str = "run_01k0000000000000000000000c";
const LIMIT: Duration = Duration::from_secs(60);

/// The runs of a service and their timelines.
#[derive(Default)]
struct World(Vec<(&'static str, Vec<&'static str>)>);

fn service(world: &Mutex<World>, seen: &ReceivedRequest) -> Reply {
    let world = world.lock().unwrap();
    let path = seen.target.split('?').next().unwrap();
    if path == "/v1/runs" {
        let by_status = seen.target.contains("status=");
        let status = if seen.target.contains("status=running") {
            "running"
        } else {
            "queued"
        };
        let is_over = |kinds: &[&str]| kinds.contains(&"run.completed");
        let runs: Vec<Value> = (world.0.iter().rev())
            .filter(|(_, kinds)| !by_status || (status == "running" && !is_over(kinds)))
            .map(|(id, _)| {
                json!({"runId": id, "workOrderId": WO, "status": "running", "iteration": 1,
                    "maxIterations": 5, "createdAt": "2026-11-20T08:00:00.000Z"})
            })
            .collect();
        return Reply::of(200, json!({"runs": runs, "total": runs.len()}).to_string());
    }
    let (id, kinds) = world.0.iter().find(|(id, _)| path.contains(id)).unwrap();
    let after = seen
        .target
        .split("after=")
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap();
    let events: Vec<Value> = (1..).zip(kinds).skip(after)
        .map(|(sequence, kind)| {
            let data = json!({"runId": id, "workOrderId": WO, "sequence": sequence});
            json!({"sequence": sequence, "type": kind, "timestamp": "2026-11-20T08:00:00.000Z", "data": data})
        })
        .collect();
    let page = json!({"events": events, "lastSequence": kinds.len(), "hasMore": false});
    Reply::of(200, page.to_string())
}

fn listen(url: &str, config: &Path, receiver: &str, more: &[&str]) -> Command {
    let mut call = command(["listen", "--forward-to", receiver].iter().chain(more));
    call.env("AWO_URL", url)
        .env("AWO_API_KEY", KEY)
        .env("AWO_CONFIG_DIR", config);
    call.stdout(Stdio::null()).stderr(Stdio::null());
    call
}

async fn secret(config: &Path) -> Secret {
    let mut call = command(["listen", "--print-secret"]);
    let output = call.env("AWO_CONFIG_DIR", config).output().await.unwrap();
    Secret::parse(CallOutput::of(output).out.trim()).unwrap()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn kinds(receiver: &Double) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |seen: &ReceivedRequest| (text(&seen.body["data"]["runId"]), text(&seen.body["type"]));
    receiver.seen().iter().map(of).collect()
}

#[tokio::test]
async fn events_come_to_a_local_receiver_once_in_order_and_signed_whatever_breaks() {
    let world = Arc::new(Mutex::new(World(vec![(
        FIRST,
        vec!["run.created", "run.started"],
    )])));
    let shared = world.clone();
    let mut double = Double::start(move |seen, _| service(&shared, seen)).await;
    let receiver = Double::start(|_, _| Reply::of(200, "{}")).await;
    let config = tempfile::tempdir().unwrap();
    let mut child = listen(&double.url, config.path(), &receiver.url, &[])
        .spawn()
        .unwrap();
    until("the first reading", || {
        double
            .seen()
            .iter()
            .filter(|seen| seen.target.contains("/events"))
            .count()
            > 1
    })
    .await;
    world.lock().unwrap().0[0]
        .1
        .extend(["agent.output", "verification.started"]);
    until("the first event", || !receiver.seen().is_empty()).await;
    // While nothing answers, a run goes on and another comes and goes.
    world.lock().unwrap().0[0].1.push("run.completed");
    world
        .lock()
        .unwrap()
        .0
        .push((SECOND, vec!["run.created", "run.completed"]));
    double.vanish_for(Duration::from_millis(1_500)).await;
    until("all events", || receiver.seen().len() >= 4).await;
    child.kill().await.unwrap();
    let of = |run: &str, kind: &str| (run.to_owned(), kind.to_owned());
    let mut reported = kinds(&receiver);
    reported.sort();
    let wanted = [
        of(FIRST, "run.completed"),
        of(FIRST, "verification.started"),
        of(SECOND, "run.completed"),
        of(SECOND, "run.created"),
    ];
    assert_eq!(
        reported, wanted,
        "what was before is not sent, and nothing twice"
    );

    let secret = secret(config.path()).await;
    for seen in receiver.seen() {
        let header = |name: &str| seen.headers[name].to_str().unwrap();
        let id = EventId::parse(header("webhook-id")).unwrap();
        assert_eq!(seen.body["id"], id.as_str());
        let at: i64 = header("webhook-timestamp").parse().unwrap();
        let message = Message {
            id: &id,
            sent_at: Timestamp::from_epoch_ms(at * 1_000),
            body: &seen.bytes,
        };
        assert!(secret.verifies(&message, header("webhook-signature")));
        assert!(secret.verifies_body(&seen.bytes, header("x-service-signature")));
    }
}

#[tokio::test]
async fn what_came_before_is_sent_where_it_is_wanted() {
    let world = Mutex::new(World(vec![(FIRST, vec!["run.created", "run.completed"])]));
    let double = Double::start(move |seen, _| service(&world, seen)).await;
    let receiver = Double::start(|_, _| Reply::of(200, "{}")).await;
    let config = tempfile::tempdir().unwrap();
    let more = ["--since", "100000h", "--event", "run.completed"];
    let mut child = listen(&double.url, config.path(), &receiver.url, &more)
        .spawn()
        .unwrap();
    until("the event", || !receiver.seen().is_empty()).await;
    child.kill().await.unwrap();
    assert_eq!(
        kinds(&receiver),
        [(FIRST.to_owned(), "run.completed".to_owned())]
    );
}

#[tokio::test]
async fn a_sample_of_every_event_goes_to_the_receiver_of_the_last_listen() {
    let receiver = Double::start(|_, _| Reply::of(204, "")).await;
    let config = tempfile::tempdir().unwrap();
    let trigger = async |args: &[&str]| {
        let mut call = command(["trigger"].iter().chain(args));
        CallOutput::of(
            call.env("AWO_CONFIG_DIR", config.path())
                .output()
                .await
                .unwrap(),
        )
    };
    let unknown = trigger(&["run.completed"]).await;
    assert_eq!(unknown.code, 2, "{unknown:?}");
    let world = Mutex::new(World::default());
    let double = Double::start(move |seen, _| service(&world, seen)).await;
    let mut child = listen(&double.url, config.path(), &receiver.url, &[])
        .spawn()
        .unwrap();
    until("the listener", || !double.seen().is_empty()).await;
    for kind in awo_domain::webhook::EventType::ALL {
        let called = trigger(&[kind.as_str()]).await;
        assert_eq!(called.code, 0, "{called:?}");
        let seen = receiver.seen();
        let body = &seen.last().unwrap().body;
        assert_eq!(body["type"], kind.as_str());
        // Of a run beside those that each of its events has.
        let least = kind.timeline_type().map_or(1, |_| 5);
        let members = body["data"].as_object().unwrap().len();
        assert!(members >= least, "{body} is no sample of {kind:?}");
    }
    child.kill().await.unwrap();
    let clear = trigger(&["run.failed", "--forward-to", "http://example.com/h"]).await;
    assert_eq!(clear.code, 2, "{clear:?}");
    assert!(clear.err.contains("http:// on loopback"), "{clear:?}");
}
