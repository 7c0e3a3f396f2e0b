//! The deliverer as Lambda would run it: its function alone has this program's first thread, so
//! that its CPU can be told from that of the stand-ins, which have threads of their own.

use std::time::{Duration, Instant};

use awo_cloud::errands::ErrandBell;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::webhook::{DeliveryStatus, EventType};
use awo_domain::{DeliveryId, EventId, WebhookId};
use awo_store::deliveries::{Delivery, Notice};
use awo_store::webhooks::{Content, Webhook};
use awo_tests::functions::Functions;
use awo_tests::measure::{cpu_seconds, thread_cpu_seconds};
use awo_tests::world::{Org, World};
use futures::future::join_all;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::{BODY, DELIVERIES, float};

/// Deliveries of which the calls to AWS are counted, which has its own price.
const COUNTED: u64 = 500;
/// Batches under way at once, as the queue's mapping has it.
const BATCHES: usize = 16;
/// Events that are told beside a receiver that hangs, and how long there is between them.
const EVENTS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(50);
/// Webhooks of an organization.
const RECEIVERS: u64 = 10;
/// Organizations with as many webhooks each, which the burst is shared by.
const ORGANIZATIONS: u64 = 10;
/// How often receivers are measured alone and beside one that hangs.
const ROUNDS: usize = 3;
/// How long an idle mapping waits until it looks again.
const IDLE: Duration = Duration::from_millis(2);

pub async fn measure(port: u16, ca_file: &str) {
    burst(port, ca_file).await;
    calls(port, ca_file).await;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.extend(healthy(port, ca_file, false).await);
        beside.extend(healthy(port, ca_file, true).await);
    }
    let (alone, beside) = (p99(alone), p99(beside));
    println!(
        "{:<36} {alone:>6.0} ms alone   {beside:>6.0} ms beside one that hangs   (ratio {:.2}, goal 1.1)",
        "p99 of nine healthy receivers",
        beside / alone,
    );
}

/// A world whose stand-ins have threads of their own.
struct Apart {
    world: World,
    stand_ins: Runtime,
}

impl Apart {
    async fn new(ca_file: &str) -> Apart {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let stand_ins = builder.worker_threads(2).enable_all().build();
        let stand_ins = stand_ins.expect("threads");
        let own = [("AWO_WEBHOOK_CA_FILE", ca_file.to_owned())];
        let world = stand_ins.spawn(async move { World::with(&own).await });
        let world = world.await.expect("a world");
        Apart { world, stand_ins }
    }

    fn end(self) {
        drop(self.world);
        self.stand_ins.shutdown_background();
    }
}

async fn webhook(world: &World, org: &Org, port: u16) -> WebhookId {
    let (now, mint) = (world.cloud.clock.now(), &world.cloud.mint);
    let url = format!("https://127.0.0.1:{port}/hook");
    let content = Content {
        url: WebhookUrl::parse(&url, Reach::PublicAndLoopback).expect("a URL"),
        events: vec![EventType::RunCreated],
        description: None,
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
    ErrandBell::new(cloud).ring().await;
}

/// Looks for messages as the mapping does, until it is dropped.
async fn poll(world: &World, functions: &Functions) {
    loop {
        if !world.deliver_errands(functions).await {
            tokio::time::sleep(IDLE).await;
        }
    }
}

/// Does something while messages are looked after.
async fn polled<T>(world: &World, functions: &Functions, work: impl Future<Output = T>) -> T {
    let pollers = join_all((0..BATCHES).map(|_| poll(world, functions)));
    tokio::select! {
        done = work => done,
        _ = pollers => unreachable!("they have no end"),
    }
}

/// Until every message is handled: each stays in its queue until its delivery is over.
async fn all_over(world: &World) {
    while world.errands_left() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The CPU of this thread that receiving and deleting the burst's messages takes, in seconds: the
/// stand-in's queues are called here, as nobody has to in the cloud.
async fn mapping(port: u16, ca_file: &str) -> f64 {
    let apart = Apart::new(ca_file).await;
    due(&apart.world, port, DELIVERIES).await;
    let own = thread_cpu_seconds();
    apart.world.lose_bells().await;
    let took = thread_cpu_seconds() - own;
    apart.end();
    took
}

/// From deliveries that are due, and their messages, to deliveries that are over.
async fn burst(port: u16, ca_file: &str) {
    let mapping = mapping(port, ca_file).await;
    let apart = Apart::new(ca_file).await;
    let world = &apart.world;
    due(world, port, DELIVERIES).await;
    let process = std::process::id();
    let (began, all, own) = (Instant::now(), cpu_seconds(process), thread_cpu_seconds());
    polled(world, &world.sound, all_over(world)).await;
    let (took, count) = (began.elapsed().as_secs_f64(), float(DELIVERIES));
    let each = |seconds: f64| seconds / count * 1e6;
    let own = each(thread_cpu_seconds() - own - mapping);
    let all = each(cpu_seconds(process) - all);
    println!(
        "{:<36} {:>6.0} a second   {own:>6.0} µs of CPU each   (goal 280 µs: function and sender; \
         {:.0} µs with the stand-ins' {:.0} µs)",
        "deliveries by deliver-webhooks",
        count / took,
        all,
        all - own,
    );
    apart.end();
}

/// Calls to AWS of each delivery, those of the mapping not among them.
async fn calls(port: u16, ca_file: &str) {
    let apart = Apart::new(ca_file).await;
    let world = &apart.world;
    due(world, port, COUNTED).await;
    polled(world, &world.faulty, all_over(world)).await;
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
    apart.end();
}

/// How long healthy receivers wait for each delivery, from the event to its end, in milliseconds.
async fn healthy(port: u16, ca_file: &str, one_hangs: bool) -> Vec<f64> {
    let apart = Apart::new(ca_file).await;
    let world = &apart.world;
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
    let took = polled(world, &world.sound, work).await;
    apart.end();
    took
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
    let attempt = delivery.attempts.last().expect("an attempt");
    let waited = attempt.started_at.ms_since(delivery.event_id.made_at());
    let took = waited + attempt.duration_ms.expect("an end");
    float(u64::try_from(took).expect("the one after the other"))
}

fn p99(mut took: Vec<f64>) -> f64 {
    took.sort_by(f64::total_cmp);
    took[(took.len() - 1) * 99 / 100]
}
