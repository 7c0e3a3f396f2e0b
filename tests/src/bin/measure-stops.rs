//! `make bench`: kill latency, from the request to the response, and to the moment at which no
//! process of the agent is alive. Prints numbers; nothing here can fail a build.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

use std::time::{Duration, Instant};

use awo_tests::agents::{escaping, order, submit, until_ready};
use awo_tests::client::Client;
use awo_tests::local::Local;
use awo_tests::measure::print;
use awo_tests::processes::Watch;
use awo_tests::repository::Repository;
use serde_json::{Value, json};

const HOSTILE_KILLS: usize = 100;
const POLITE_STOPS: usize = 50;
/// At once: each takes six seconds by design.
const HOSTILE_CANCELS: usize = 10;
/// Between two searches of the processes, which take about as long themselves.
const LOOK_AGAIN: Duration = Duration::from_micros(300);
/// The same where many look at once, which must not take the processor from what they look at.
const MANY_LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Searches that must find nothing: a process that is just being replaced bears no mark.
const SURE: u32 = 3;
const DEATH_LIMIT: Duration = Duration::from_secs(60);
const GOAL: &str = "goal p50 100 ms";

/// What a client asks for.
#[derive(Clone, Copy)]
enum Stop {
    Cancel,
    Kill { immediate: bool },
}

/// Milliseconds from the request.
#[derive(Clone, Copy)]
struct Took {
    answer: f64,
    death: f64,
    /// The longest time between two searches.
    blind: f64,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

async fn request(client: &Client, order: &Value, stop: Stop) {
    let path = format!(
        "/api/v1/work-orders/{}",
        order["id"].as_str().expect("an id")
    );
    let answer = match stop {
        Stop::Cancel => client.send("DELETE", &path, &[], Vec::new()).await,
        Stop::Kill { immediate } => {
            let body = json!({ "immediate": immediate });
            client.post(&format!("{path}/kill"), &body).await
        }
    };
    assert_eq!(answer.body["success"], true, "{}", answer.text);
    assert_ne!(answer.body["data"]["success"], false, "{}", answer.text);
}

/// Searches until nothing is alive; the time of the first search that found nothing, and the
/// longest time between two searches.
fn see_dead(watch: &Watch, began: Instant, look_again: Duration) -> (f64, f64) {
    let (mut seen, mut dead_at) = (0, began);
    let (mut last, mut blind) = (Instant::now(), Duration::ZERO);
    while seen < SURE {
        assert!(began.elapsed() < DEATH_LIMIT, "{:#?}", watch.alive());
        if watch.alive().is_empty() {
            if seen == 0 {
                dead_at = Instant::now();
            }
            seen += 1;
        } else {
            seen = 0;
        }
        std::thread::sleep(look_again);
        blind = blind.max(last.elapsed());
        last = Instant::now();
    }
    (ms(dead_at.duration_since(began)), ms(blind))
}

/// A service with a repository to work on.
struct Bench {
    local: Local,
    repository: Repository,
}

impl Bench {
    /// A work order whose agent works.
    async fn working(&self, script: &str) -> (Value, String) {
        let client = &self.local.client;
        let order = submit(client, &order(&self.repository.url(), script)).await;
        let run = until_ready(client, &order).await;
        (order, run)
    }

    async fn stop(&self, order: &Value, run: &str, stop: Stop, look_again: Duration) -> Took {
        // The folders of the run, which only its agent has in its environment.
        let mut watch = Watch::of(&format!("{}/{run}", self.local.org));
        watch.pass_over_others();
        assert!(!watch.alive().is_empty(), "no agent was found");
        let began = Instant::now();
        let death = tokio::task::spawn_blocking(move || see_dead(&watch, began, look_again));
        request(&self.local.client, order, stop).await;
        let answer = ms(began.elapsed());
        let (death, blind) = death.await.expect("a watch");
        self.local.client.finished_run(order).await;
        Took {
            answer,
            death,
            blind,
        }
    }

    async fn one_by_one(&self, script: &str, stop: Stop, count: usize) -> Vec<Took> {
        let mut took = Vec::new();
        for _ in 0..count {
            let (order, run) = self.working(script).await;
            took.push(self.stop(&order, &run, stop, LOOK_AGAIN).await);
        }
        took
    }

    async fn at_once(&self, script: &str, stop: Stop, count: usize) -> Vec<Took> {
        let mut working = Vec::new();
        for _ in 0..count {
            working.push(self.working(script).await);
        }
        let stops = working
            .iter()
            .map(|(order, run)| self.stop(order, run, stop, MANY_LOOK_AGAIN));
        futures::future::join_all(stops).await
    }
}

fn report(what: &str, [to_answer, to_death]: [&str; 2], took: &[Took]) {
    let samples = |of: fn(&Took) -> f64| took.iter().map(of).collect();
    print(
        &format!("{what}: to answer"),
        to_answer,
        samples(|t| t.answer),
    );
    print(&format!("{what}: to death"), to_death, samples(|t| t.death));
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let bench = Bench {
        local: Local::start(dir.path(), &[("AWO_MAX_CONCURRENT", "20")]),
        repository: Repository::with(&[("Makefile", "test:\n\t@true\n")]),
    };
    println!("Stops, one at a time unless it says otherwise.");
    let polite = "trap 'exit 0' INT TERM; echo > ready; while :; do sleep 0.005; done";
    let hostile = escaping("0.01");
    let kill = |immediate| Stop::Kill { immediate };
    let series = [
        (
            "kill, immediate, hostile",
            hostile.as_str(),
            kill(true),
            HOSTILE_KILLS,
        ),
        ("kill, graceful, polite", polite, kill(false), POLITE_STOPS),
        ("cancel, polite", polite, Stop::Cancel, POLITE_STOPS),
    ];
    let mut blind = 0.0_f64;
    for (what, script, stop, count) in series {
        let took = bench.one_by_one(script, stop, count).await;
        blind = took.iter().map(|took| took.blind).fold(blind, f64::max);
        report(what, [GOAL, GOAL], &took);
    }
    println!("longest time between two searches: {blind:.1} ms");
    let took = bench
        .at_once(&escaping("0.2"), Stop::Cancel, HOSTILE_CANCELS)
        .await;
    let what = format!("cancel, hostile, {HOSTILE_CANCELS} at once");
    report(&what, [GOAL, "6 000 ms by design"], &took);
}
