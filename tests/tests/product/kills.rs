//! Cancel and kill, with agents that do everything to survive. When a kill has responded, no
//! process of the run is alive.

use std::time::{Duration, Instant};

use awo_tests::agents::{escaping, order, submit, until_ready};
use awo_tests::client::Client;
use awo_tests::processes::Watch;
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const HOSTILE: usize = 50;
/// How long a cancel lets an agent live that heeds nothing.
const CANCEL_TAKES: Duration = Duration::from_secs(6);
/// From the answer of a cancel to the end of everything: its steps, and the machine's business.
const CANCEL_LIMIT: Duration = Duration::from_secs(30);
/// Waits in small steps, so that a trap is run at once.
const WAIT: &str = "echo > ready; while :; do sleep 0.01; done";

struct Scene {
    service: TestService,
    repository: Repository,
}

impl Scene {
    async fn new(slots: &str) -> Scene {
        Scene {
            service: TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", slots)]).await,
            repository: Repository::with(&[("Makefile", "test:\n\t@true\n")]),
        }
    }

    fn client(&self) -> &Client {
        &self.service.client
    }

    /// A work order whose agent works, and the run's id.
    async fn working(&self, script: &str) -> (Value, String) {
        let order = submit(self.client(), &order(&self.repository.url(), script)).await;
        let run = until_ready(self.client(), &order).await;
        (order, run)
    }

    async fn run(&self, run: &str) -> Value {
        self.client().get(&format!("/v1/runs/{run}")).await.body
    }

    async fn event(&self, run: &str, kind: &str) -> Value {
        let events = self.client().get(&format!("/v1/runs/{run}/events")).await;
        let mut events = events.body["events"].as_array().unwrap().clone();
        events.retain(|event| event["type"] == kind);
        assert_eq!(events.len(), 1, "{kind}: {events:#?}");
        events.remove(0)["data"].take()
    }

    async fn at_rest(&self) -> Dump {
        let dump = Dump::of(&self.service.service.cloud, &self.service.org).await;
        let broken = dump.broken_rules(i64::try_from(HOSTILE).unwrap());
        assert!(broken.is_empty(), "{broken:#?}");
        assert!(dump.is_at_rest(), "{dump:#?}");
        dump
    }
}

async fn kill(client: &Client, order: &Value, body: Value) -> Value {
    let id = order["id"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}/kill");
    let killed = client.post(&path, &body).await;
    assert_eq!(killed.status, 200, "{}", killed.text);
    killed.body["data"].clone()
}

async fn cancel(client: &Client, order: &Value) {
    let path = format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap());
    let canceled = client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    assert_eq!(canceled.body["data"]["wasRunning"], true);
}

/// What a kill answered, less what differs from one to the next.
fn outcome_of(killed: &Value) -> (bool, bool, &str) {
    assert!(killed["durationMs"].is_u64(), "{killed}");
    (
        killed["success"].as_bool().unwrap(),
        killed["forcedKill"].as_bool().unwrap(),
        killed["status"].as_str().unwrap(),
    )
}

fn alive(run: &str) -> Vec<awo_tests::processes::Process> {
    Watch::of(run).alive()
}

fn costs(run: &Value) -> f64 {
    run["cost"]["credits"].as_f64().unwrap_or(0.0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_hostile_agents_are_killed_at_once_and_nothing_of_them_is_alive_after_the_answer() {
    let scene = Scene::new(&HOSTILE.to_string()).await;
    let began = Instant::now();
    let body = order(&scene.repository.url(), &escaping("0.2"));
    let mut orders = Vec::new();
    for _ in 0..HOSTILE {
        orders.push(submit(scene.client(), &body).await);
    }
    let mut runs = Vec::new();
    for order in &orders {
        runs.push(until_ready(scene.client(), order).await);
    }
    println!("{HOSTILE} agents at work after {:?}", began.elapsed());
    let began = Instant::now();
    let kills = orders.into_iter().zip(runs.clone()).map(|(order, run)| {
        let client = scene.client().clone();
        tokio::spawn(async move {
            let body = json!({ "immediate": true, "reason": "it hangs" });
            let killed = kill(&client, &order, body).await;
            let took = began.elapsed();
            let left = tokio::task::spawn_blocking(move || alive(&run)).await;
            (killed, took, left.unwrap())
        })
    });
    let kills: Vec<_> = kills.collect();
    let mut slowest = Duration::ZERO;
    for kill in kills {
        let (killed, took, left) = kill.await.unwrap();
        assert_eq!(outcome_of(&killed), (true, true, "failed"), "{killed}");
        assert!(left.is_empty(), "alive after the answer: {left:#?}");
        slowest = slowest.max(took);
    }
    println!("{HOSTILE} kills answered within {slowest:?}");
    for id in &runs {
        let run = scene.run(id).await;
        let code = run["error"]["code"].as_str();
        assert_eq!(
            (run["status"].as_str(), code),
            (Some("failed"), Some("KILLED"))
        );
        assert!(costs(&run) > 0.0 && run["settledAt"].is_string(), "{run:#}");
        let failed = scene.event(id, "run.failed").await;
        assert_eq!(failed["error"]["code"], "KILLED", "{failed:#}");
        let asked = scene.event(id, "run.kill_requested").await;
        assert_eq!(asked["reason"], "it hangs", "{asked:#}");
    }
    let dump = scene.at_rest().await;
    assert_eq!(dump.runs().len(), HOSTILE);
    let entries = scene.client().get("/v1/credits/usage").await.body;
    assert_eq!(entries["total"], 1 + HOSTILE, "each is paid, once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_ends_when_it_is_asked_to_is_canceled_by_a_kill() {
    let scene = Scene::new("5").await;
    let (order, run) = scene.working(&format!("trap 'exit 0' TERM; {WAIT}")).await;
    let began = Instant::now();
    let killed = kill(scene.client(), &order, json!({ "reason": "enough" })).await;
    println!("a graceful kill took {:?}", began.elapsed());
    assert_eq!(outcome_of(&killed), (true, false, "canceled"), "{killed}");
    assert!(alive(&run).is_empty());
    // The default grace is five seconds; it was not waited for.
    assert!(killed["durationMs"].as_u64().unwrap() < 4_000, "{killed}");
    assert!(began.elapsed() < Duration::from_secs(4));
    let ended = scene.run(&run).await;
    assert_eq!(ended["status"], "canceled", "{ended:#}");
    assert!(costs(&ended) > 0.0, "{ended:#}");
    let canceled = scene.event(&run, "run.cancelled").await;
    assert_eq!(canceled["reason"], "enough", "{canceled:#}");
    scene.at_rest().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_heeds_nothing_is_killed_when_its_grace_is_over() {
    let scene = Scene::new("5").await;
    let (order, run) = scene.working(&escaping("0.05")).await;
    let killed = kill(scene.client(), &order, json!({ "gracePeriodMs": 300 })).await;
    assert_eq!(outcome_of(&killed), (true, true, "failed"), "{killed}");
    assert!(alive(&run).is_empty());
    let took = killed["durationMs"].as_u64().unwrap();
    println!("a kill with 300 ms of grace took {took} ms");
    assert!((300..5_000).contains(&took), "{killed}");
    let ended = scene.run(&run).await;
    assert_eq!(ended["error"]["code"], "KILLED", "{ended:#}");
    scene.event(&run, "run.failed").await;
    scene.at_rest().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_canceled_agent_says_it_used_is_paid() {
    let scene = Scene::new("5").await;
    let usage = r#"{"usage":[{"model":"gpt-4o","inputTokens":1000000,"outputTokens":1000}]}"#;
    let script =
        format!("echo '{usage}' > ~/usage; trap 'cp ~/usage \"$AWO_RESULT\"; exit 0' INT; {WAIT}");
    let (order, id) = scene.working(&script).await;
    cancel(scene.client(), &order).await;
    let run = scene.run(&id).await;
    assert_eq!(run["status"], "canceled", "{run:#}");
    let run = scene.client().finished_run(&order).await;
    // The runner itself ends behind its last report.
    Watch::of(&id).until_none(CANCEL_LIMIT).await;
    assert!(run["settledAt"].is_string(), "{run:#}");
    assert_eq!(run["usage"]["totalInputTokens"], 1_000_000, "{run:#}");
    // 2.50 USD for a million tokens, 0.01 for the output, at 100 credits each; and compute.
    assert!((251.0..253.0).contains(&costs(&run)), "{run:#}");
    let paid = scene.client().get("/v1/credits/usage").await;
    assert_eq!(paid.body["total"], 2, "what was bought, and what was used");
    assert_eq!(
        paid.body["transactions"][0]["amount"],
        run["cost"]["credits"]
    );
    scene.event(&id, "run.cancelled").await;
    scene.at_rest().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_hastens_the_end_of_what_was_canceled_and_answers_at_once() {
    let scene = Scene::new("5").await;
    let (order, run) = scene.working(&escaping("0.05")).await;
    let began = Instant::now();
    cancel(scene.client(), &order).await;
    assert!(!alive(&run).is_empty(), "a cancel gives time");
    let killed = kill(scene.client(), &order, json!({ "immediate": true })).await;
    assert_eq!(outcome_of(&killed), (true, false, "canceled"), "{killed}");
    assert_eq!(killed["durationMs"], 0);
    assert!(began.elapsed() < CANCEL_TAKES / 2, "{:?}", began.elapsed());
    Watch::of(&run).until_none(CANCEL_LIMIT).await;
    println!("canceled, killed and dead after {:?}", began.elapsed());
    assert!(began.elapsed() < CANCEL_TAKES / 2, "{:?}", began.elapsed());
    let ended = scene.client().finished_run(&order).await;
    assert_eq!(ended["status"], "canceled", "{ended:#}");
    assert!(costs(&ended) > 0.0, "{ended:#}");
    scene.event(&run, "run.cancelled").await;
    scene.at_rest().await;
}
