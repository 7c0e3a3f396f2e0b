//! Slots are shared fairly and never assigned twice, at scale, on the whole service with real
//! runners.

mod replay;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use awo_cloud::queue::WakeUp;
use awo_execution::dispatcher::Dispatcher;
use awo_tests::client::{Answer, Client};
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use futures::StreamExt;
use serde_json::{Value, json};

use self::replay::{Arrival, dispatches, replay};

const HEALTH: &str = "/api/v1/queue/health";
/// Requests at once: a client with many connections, and less than the gateway's.
const AT_ONCE: usize = 50;
/// Longest time for everything to be done, on a machine that has much else to do.
const SLOWEST: Duration = Duration::from_secs(300);

fn repository() -> Repository {
    Repository::with(&[("README.md", "small\n")])
}

fn order(repository: &Repository, tenant: &str, script: &str) -> Value {
    json!({
        "taskPrompt": "do nothing",
        "workspaceSource": { "type": "git", "repository": repository.url() },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
        "tenantContext": { "tenantId": tenant },
        "limits": { "maxCredits": 10 },
    })
}

async fn try_submit(service: &TestService, body: &Value) -> Result<Arrival, Answer> {
    let made = service.client.post("/v1/work-orders", body).await;
    let answered_at = service.service.cloud.clock.now();
    match made.status {
        201 => Ok(Arrival::of(&made.body, answered_at)),
        _ => Err(made),
    }
}

async fn submit(service: &TestService, body: Value) -> Arrival {
    try_submit(service, &body).await.unwrap()
}

/// Submits all of them at once.
async fn submit_all(service: &TestService, bodies: Vec<Value>) -> Vec<Arrival> {
    let sent = bodies.into_iter().map(|body| submit(service, body));
    futures::stream::iter(sent)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

fn stat(health: &Value, name: &str) -> i64 {
    health["data"]["stats"][name].as_i64().unwrap()
}

/// The queue, once it is so.
async fn queue(client: &Client, holds: impl Fn(i64, i64) -> bool) -> Value {
    let holds = |health: &Value| holds(stat(health, "running"), stat(health, "waiting"));
    client.until(HEALTH, SLOWEST, holds).await
}

async fn rules_hold(service: &TestService, slots: i64) -> Dump {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(slots);
    assert!(broken.is_empty(), "{broken:#?}");
    dump
}

/// The most taken slots that are seen until it is over, by the tally and by the leases.
async fn most_seen(service: &TestService, is_over: &AtomicBool) -> (i64, usize) {
    let (store, org) = (service.service.cloud.store().unwrap(), &service.org);
    let (mut slots, mut leases, mut reads) = (0, 0, 0);
    while !is_over.load(Ordering::Relaxed) {
        slots = slots.max(store.tally(org).await.unwrap().slots);
        leases = leases.max(store.leases(org, 100).await.unwrap().items.len());
        reads += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{reads} reads: at most {slots} slots and {leases} leases");
    (slots, leases)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_work_orders_of_three_tenants_share_five_slots_in_turn_and_all_finish() {
    const ORDERS: usize = 200;
    const SLOTS: i64 = 5;
    let settings = [("AWO_MAX_CONCURRENT", "5"), ("AWO_MAX_QUEUE_SIZE", "1000")];
    let service = TestService::start(1_000_000, &settings).await;
    let repository = repository();
    let began = Instant::now();
    let is_over = AtomicBool::new(false);
    let all = async {
        // One tenant has half of all, so that it is alone in the end.
        let tenant = |i| ["a", "b", "a", "c"][i % 4];
        let bodies = (0..ORDERS).map(|i| order(&repository, tenant(i), "true"));
        let arrivals = submit_all(&service, bodies.collect()).await;
        println!("submitted after {:?}", began.elapsed());
        queue(&service.client, |running, waiting| running + waiting == 0).await;
        is_over.store(true, Ordering::Relaxed);
        arrivals
    };
    let (arrivals, (slots, leases)) = tokio::join!(all, most_seen(&service, &is_over));
    println!("done after {:?}", began.elapsed());
    assert_eq!(
        (slots, leases),
        (SLOTS, 5),
        "all slots were used, and no more"
    );

    let dispatches = dispatches(&service.client).await;
    assert_eq!(dispatches.len(), ORDERS);
    let done = dispatches
        .iter()
        .filter(|run| run.status == "succeeded")
        .count();
    assert_eq!(done, ORDERS);
    let served = replay(&arrivals, &dispatches).unwrap();
    let turns: String = served.iter().map(|entry| entry.tenant.as_str()).collect();
    println!("{turns}");
    let dump = rules_hold(&service, SLOTS).await;
    assert!(dump.is_at_rest(), "{dump:#?}");
    assert_eq!(dump.work_orders().len(), ORDERS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_one_tenant_delays_another_by_at_most_one_completion_a_slot() {
    const FLOOD: usize = 1_000;
    /// One after the other, each while the flood waits.
    const LATE: usize = 5;
    const SLOTS: u32 = 5;
    let settings = [("AWO_MAX_CONCURRENT", "0"), ("AWO_MAX_QUEUE_SIZE", "1000")];
    let service = TestService::start(1_000_000, &settings).await;
    let (store, repository) = (service.service.cloud.store().unwrap(), repository());
    let began = Instant::now();
    let flood = (0..FLOOD).map(|_| order(&repository, "flood", "true"));
    let mut arrivals = submit_all(&service, flood.collect()).await;
    println!("{FLOOD} work orders wait after {:?}", began.elapsed());
    let full = try_submit(&service, &order(&repository, "late", "true")).await;
    assert_eq!(full.unwrap_err().status, 503);

    store
        .set_limits(&service.org, Some(SLOTS), None)
        .await
        .unwrap();
    let dispatcher = Dispatcher::new(&service.service.cloud).unwrap();
    let wake_up = WakeUp::of(&service.org);
    dispatcher.fill_slots(&wake_up).await.unwrap();
    let is_over = AtomicBool::new(false);
    let during_the_flood = async {
        let mut late = Vec::new();
        for _ in 0..LATE {
            let one = submit(&service, order(&repository, "late", "true")).await;
            let path = format!("/v1/work-orders/{}", one.entry.work_order_id);
            let is_taken = |order: &Value| order["status"] != "queued";
            service.client.until(&path, SLOWEST, is_taken).await;
            late.push(one);
        }
        // The flood ends here: what still waits may wait for ever.
        store.set_limits(&service.org, Some(0), None).await.unwrap();
        queue(&service.client, |running, _| running == 0).await;
        is_over.store(true, Ordering::Relaxed);
        late
    };
    let (late, (slots, leases)) = tokio::join!(during_the_flood, most_seen(&service, &is_over));
    assert!(slots <= i64::from(SLOTS), "{slots}");
    assert!(leases <= SLOTS as usize, "{leases}");

    let dispatches = dispatches(&service.client).await;
    for one in &late {
        let is_late = |run: &&replay::Dispatch| run.work_order_id == one.entry.work_order_id;
        let taken_at = dispatches.iter().find(is_late).unwrap().at;
        let between = |at| one.answered_at < at && at < taken_at;
        let overtaken = dispatches.iter().filter(|run| between(run.at)).count();
        let waited = taken_at.ms_since(one.entry.enqueued_at);
        println!("{overtaken} of the flood went before one that waited {waited} ms");
        assert!(overtaken <= SLOTS as usize, "{overtaken}");
    }
    println!("{} were dispatched in all", dispatches.len());
    arrivals.extend(late);
    replay(&arrivals, &dispatches).unwrap();
}

/// A script that ends when the test says so.
struct GatedScript {
    dir: tempfile::TempDir,
}

impl GatedScript {
    fn script(&self) -> String {
        let gate = self.dir.path().display();
        format!("while [ ! -e {gate}/$AWO_RUN_ID ] && [ ! -e {gate}/all ]; do sleep 0.02; done")
    }

    fn release(&self, name: &str) {
        std::fs::write(self.dir.path().join(name), "").unwrap();
    }

    /// Lets one of the running work orders end, and waits until its slot is free.
    async fn end_one(&self, client: &Client) {
        let running = client.get("/v1/runs?status=running").await.body;
        let run = running["runs"][0]["runId"].as_str().unwrap().to_owned();
        self.release(&run);
        let is_gone = |run: &Value| run.get("computeStoppedAt").is_some();
        client
            .until(&format!("/v1/runs/{run}"), SLOWEST, is_gone)
            .await;
    }
}

fn is_queue_full(refused: Result<Arrival, Answer>) {
    let refused = refused.expect_err("a full queue takes nothing");
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (503, &json!("QUEUE_FULL"))
    );
    assert!(refused.header("retry-after").parse::<u32>().unwrap() > 0);
}

async fn all_started(client: &Client, count: u64) {
    let started = |runs: &Value| runs["total"] == count;
    client
        .until("/v1/runs?status=running", SLOWEST, started)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organizations_own_limits_take_effect_at_once_and_the_settings_are_the_defaults() {
    let held = GatedScript {
        dir: tempfile::tempdir().unwrap(),
    };
    let gate = held.dir.path().display().to_string();
    let settings = [
        ("AWO_MAX_CONCURRENT", "2"),
        ("AWO_MAX_QUEUE_SIZE", "3"),
        ("AWO_AGENT_PATHS", &gate),
    ];
    let service = TestService::start(1_000_000, &settings).await;
    let (client, org, repository) = (&service.client, &service.org, repository());
    let (store, dispatcher) = (
        service.service.cloud.store().unwrap(),
        Dispatcher::new(&service.service.cloud).unwrap(),
    );
    let body = order(&repository, "t", &held.script());
    let limits = async |client: &Client| {
        let health = client.get(HEALTH).await.body;
        (
            stat(&health, "maxConcurrent"),
            stat(&health, "maxQueueSize"),
        )
    };
    assert_eq!(limits(client).await, (2, 3));
    for _ in 0..2 {
        submit(&service, body.clone()).await;
    }
    all_started(client, 2).await;
    for _ in 0..3 {
        submit(&service, body.clone()).await;
    }
    is_queue_full(try_submit(&service, &body).await);

    // Fewer slots: none is given until there are fewer runs than that.
    store.set_limits(org, Some(1), None).await.unwrap();
    assert_eq!(limits(client).await, (1, 3));
    held.end_one(client).await;
    dispatcher.fill_slots(&WakeUp::of(org)).await.unwrap();
    queue(client, |running, waiting| (running, waiting) == (1, 3)).await;
    held.end_one(client).await;
    queue(client, |running, waiting| (running, waiting) == (1, 2)).await;

    // A smaller queue is full as it is.
    store.set_limits(org, None, Some(2)).await.unwrap();
    assert_eq!(limits(client).await, (1, 2));
    is_queue_full(try_submit(&service, &body).await);
    let health = client.get(HEALTH).await;
    assert_eq!(
        (health.status, &health.body["data"]["status"]),
        (503, &json!("unhealthy"))
    );

    // More of both: the next one that comes fills the slots.
    store.set_limits(org, Some(3), Some(10)).await.unwrap();
    submit(&service, body.clone()).await;
    queue(client, |running, waiting| (running, waiting) == (3, 1)).await;
    let (_, other) = service.another_org(10).await;
    assert_eq!(
        limits(&other).await,
        (2, 3),
        "limits are of one organization only"
    );

    held.release("all");
    queue(client, |running, waiting| running + waiting == 0).await;
    assert!(rules_hold(&service, 3).await.is_at_rest());
}
