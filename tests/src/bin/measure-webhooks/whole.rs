//! The deliverer as in Lambda: in separate processes, each with one batch at a time. This process
//! has the queue's mapping and the stand-ins.

use std::time::{Duration, Instant};

use awo_cloud::notifications::Notifier;
use awo_domain::webhook::WebhookContent;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::webhook::{DeliveryStatus, EventType, WebhookKind};
use awo_domain::{DeliveryId, EventId, WebhookId};
use awo_store::webhooks::Webhook;
use awo_store::webhooks::deliveries::{Delivery, Notice};
use awo_tests::measure::{Goal, row};
use awo_tests::world::{Org, World};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::process::Process;
use crate::{BODY, DELIVERIES, float};

/// Deliveries before those that are measured.
const WARM_UP: u64 = 2_000;
/// Deliveries of which the calls to AWS are counted, which has its own price.
const COUNTED: u64 = 500;
/// Processes of the deliverer: as many batches as Lambda has under way for a queue when messages
/// begin to come, and some more, as it has when they go on coming: it adds up to 300 a minute.
const AT_FIRST: usize = 5;
const LATER: usize = 16;
/// Events that are sent beside a receiver that hangs, and how long there is between them.
const EVENTS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(50);
/// Webhooks of an organization.
const RECEIVERS: u64 = 10;
/// Organizations with as many webhooks each, which the burst is shared by.
const ORGANIZATIONS: u64 = 10;
/// How often receivers are measured alone and beside one that hangs.
const ROUNDS: usize = 3;
/// How long an idle mapping waits until it reads again.
const IDLE: Duration = Duration::from_millis(2);

pub async fn measure(port: u16, ca_file: &str) {
    burst(port, ca_file, AT_FIRST).await;
    burst(port, ca_file, LATER).await;
    calls(port, ca_file).await;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.extend(healthy(port, ca_file, false).await);
        beside.extend(healthy(port, ca_file, true).await);
    }
    let (alone, beside) = (p99(alone), p99(beside));
    let hung = "healthy receivers beside one that hangs: p99";
    row(hung, (beside / alone, "of alone"), Goal::AtMost(1.1));
    println!(
        "{:<36} {alone:>6.0} ms alone   {beside:>6.0} ms beside one that hangs   (ratio {:.2}, goal 1.1)",
        "p99 of nine healthy receivers",
        beside / alone,
    );
}

/// A world, and the processes of the deliverer in it.
struct DelivererWorld {
    world: World,
    processes: Vec<Process>,
}

impl DelivererWorld {
    async fn new(ca_file: &str, processes: usize) -> DelivererWorld {
        let own = [("AWO_WEBHOOK_CA_FILE", ca_file.to_owned())];
        let world = World::with(&own).await;
        let processes = (0..processes).map(|_| Process::start(&world.settings));
        let processes = processes.collect();
        DelivererWorld { world, processes }
    }

    /// Does something while messages are looked after.
    async fn polled<T>(&self, work: impl Future<Output = T>) -> T {
        let pollers = self
            .processes
            .iter()
            .map(|process| poll(&self.world, process));
        tokio::select! {
            done = work => done,
            _ = join_all(pollers) => unreachable!("they have no end"),
        }
    }

    /// CPU that the deliverer has used so far, in seconds.
    fn cpu_seconds(&self) -> f64 {
        self.processes.iter().map(Process::cpu_seconds).sum()
    }
}

async fn webhook(world: &World, org: &Org, port: u16) -> WebhookId {
    let (now, mint) = (world.cloud.clock.now(), &world.cloud.mint);
    let url = format!("https://127.0.0.1:{port}/hook");
    let content = WebhookContent {
        url: WebhookUrl::parse(&url, Reach::PublicAndLoopback).expect("a URL"),
        events: vec![EventType::RunCreated],
        description: None,
        kind: WebhookKind::Events,
        headers: SecretHeaders::default(),
    };
    let id = WebhookId::new(now, mint.random(now));
    let made = Webhook::new(id.clone(), content, mint.webhook_secret(), now);
    let made = world.store.create_webhook(&org.id, &made, None).await;
    made.expect("a webhook");
    id
}

/// So many deliveries that are due, their messages, and the webhooks that they are of.
async fn due(world: &World, port: u16, count: u64) {
    let cloud = &world.cloud;
    for _ in 0..ORGANIZATIONS {
        let org = world.org(1).await;
        for _ in 0..RECEIVERS {
            let webhook = webhook(world, &org, port).await;
            for _ in 0..count / (ORGANIZATIONS * RECEIVERS) {
                let now = cloud.clock.now();
                let notice = Notice {
                    event_id: EventId::new(now, cloud.mint.random(now)),
                    event_type: EventType::RunCreated,
                    run_id: None,
                    body: String::from_utf8_lossy(&BODY).into_owned(),
                };
                let id = DeliveryId::new(now, cloud.mint.random(now));
                let due = Delivery::new(id, &org.id, &webhook, notice, now);
                let made = world.store.create_delivery(&due, None).await;
                made.expect("a delivery");
            }
        }
    }
    Notifier::new(cloud).notify().await;
}

/// Reads messages as the mapping does, until it is dropped.
async fn poll(world: &World, process: &Process) {
    loop {
        let deliver = async |records: Vec<Value>| Ok(process.deliver(&records).await);
        if !world.hand_notifications(deliver).await {
            tokio::time::sleep(IDLE).await;
        }
    }
}

/// Until every message is handled: each stays in its queue until its delivery is over.
async fn all_over(world: &World) {
    while world.notifications_left() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// From deliveries that are due, and their messages, to deliveries that are over.
async fn burst(port: u16, ca_file: &str, processes: usize) {
    let deployed = DelivererWorld::new(ca_file, processes).await;
    let world = &deployed.world;
    // Each process as it is after its first batches: with its roots, and connections to the receiver.
    due(world, port, WARM_UP).await;
    deployed.polled(all_over(world)).await;
    due(world, port, DELIVERIES).await;
    let (began, before) = (Instant::now(), deployed.cpu_seconds());
    deployed.polled(all_over(world)).await;
    let (took, count) = (began.elapsed().as_secs_f64(), float(DELIVERIES));
    let used = deployed.cpu_seconds() - before;
    let each = (used / count * 1e6, "µs of CPU");
    row(
        &format!("a delivery by {processes} deliver-webhooks"),
        each,
        Goal::AtMost(280.0),
    );
    println!(
        "{:<36} {:>6.0} a second   {:>6.0} µs of CPU each   (goal 280 µs: function and sender)",
        format!("deliveries by {processes} deliver-webhooks"),
        count / took,
        used / count * 1e6,
    );
}

/// Calls to AWS of each delivery, those of the mapping not among them.
async fn calls(port: u16, ca_file: &str) {
    let own = [("AWO_WEBHOOK_CA_FILE", ca_file.to_owned())];
    let world = World::with(&own).await;
    due(&world, port, COUNTED).await;
    while world.notifications_left() > 0 {
        world.deliver_notifications(&world.faulty).await;
    }
    let seen = world.faults.seen();
    let of = |service: &str| {
        let calls = seen.iter().filter(|call| call.starts_with(service)).count();
        float(u64::try_from(calls).expect("not so many")) / float(COUNTED)
    };
    println!(
        "{:<36} {:>6.2} of DynamoDB   {:>6.2} of SQS",
        "calls of AWS a delivery",
        of("DynamoDB"),
        of("AmazonSQS"),
    );
}

/// How long healthy receivers wait for each delivery, from the event to its end, in milliseconds.
async fn healthy(port: u16, ca_file: &str, one_hangs: bool) -> Vec<f64> {
    let deployed = DelivererWorld::new(ca_file, LATER).await;
    let world = &deployed.world;
    let org = world.org(1_000_000).await;
    // Takes connections, and says nothing.
    let deaf = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let deaf_port = deaf.local_addr().expect("a port").port();
    webhook(world, &org, if one_hangs { deaf_port } else { port }).await;
    let mut healthy = Vec::new();
    for _ in 1..RECEIVERS {
        healthy.push(webhook(world, &org, port).await);
    }
    let order = json!({
        "taskPrompt": "x",
        "workspaceSource": { "type": "git", "repository": "https://git.invalid/a.git" },
    });
    let work = async {
        for _ in 0..EVENTS {
            let made = world.sound.create(&org, &order, None).await;
            assert_eq!(made.status, 201, "{}", made.text);
            tokio::time::sleep(BETWEEN).await;
        }
        let mut took = Vec::new();
        for webhook in healthy {
            took.extend(all_delivered(world, &org, &webhook).await);
        }
        took
    };
    deployed.polled(work).await
}

async fn all_delivered(world: &World, org: &Org, webhook: &WebhookId) -> Vec<f64> {
    let delivered = Some(DeliveryStatus::Delivered);
    loop {
        let page = world
            .store
            .deliveries(&org.id, webhook, delivered, (100, 0), None);
        let found = page.await.expect("deliveries").0.items;
        if found.len() == EVENTS {
            return found.iter().map(took_ms).collect();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn took_ms(delivery: &Delivery) -> f64 {
    let attempt = delivery.progress.attempts.last().expect("an attempt");
    let waited = attempt.started_at.ms_since(delivery.event_id.made_at());
    let took = waited + attempt.duration_ms.expect("an end");
    float(u64::try_from(took).expect("the one after the other"))
}

fn p99(mut took: Vec<f64>) -> f64 {
    took.sort_by(f64::total_cmp);
    took[(took.len() - 1) * 99 / 100]
}
