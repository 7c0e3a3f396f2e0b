//! Throughput of one machine: creates and reads per second of the service as run by `make serve`,
//! beside those of the embedded database over its own HTTP (the floor), alternating within the same
//! minutes. Then the times of single requests with few work orders and with many. Prints numbers;
//! nothing here can fail a build.
//!
//! It starts `awo-local` from its own folder, and the database from the path in its argument.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

mod floor;
mod service;

use std::time::{Duration, Instant};

use awo_tests::measure::{Goal, cpu_seconds, row};

use floor::Floor;
use futures::future::join_all;
use service::Machine;

const CLIENTS: usize = 16;
/// One turn of a measurement.
const TURN: Duration = Duration::from_secs(5);
const TURNS: usize = 3;
/// Creates ≥ 0.6 of the floor's transactions, reads ≥ 0.3 of its reads.
const GOALS: [(&str, f64); 2] = [("creates", 0.6), ("reads", 0.3)];
/// How often a single request is measured.
const SAMPLES: usize = 100;
/// Work orders that wait when the position of the last one is read.
const QUEUE: usize = 600;
/// Work orders at the beginning and at the end, to see what grows.
const FEW: usize = 100;
const MANY: usize = 100_000;

#[tokio::main]
async fn main() {
    let database = std::env::args_os().nth(1).expect("the path of `dynoxide`");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let floor = Floor::start(database.as_ref(), dir.path()).await;
    let machine = Machine::start(dir.path());
    for work_orders in [FEW, QUEUE] {
        machine.fill_queue(work_orders).await;
        single(&machine).await;
    }
    together(&machine, &floor).await;
    machine.fill_queue(MANY).await;
    single(&machine).await;
}

/// What a server has answered, and the CPU that it used.
#[derive(Default)]
struct ServerUsage {
    requests: usize,
    cpu_seconds: f64,
}

impl ServerUsage {
    async fn add<F: Future<Output = ()>>(&mut self, pid: u32, request: impl Fn(usize) -> F) {
        let before = cpu_seconds(pid);
        self.requests += rate(request).await;
        self.cpu_seconds += cpu_seconds(pid) - before;
    }

    fn per_second(&self) -> f64 {
        count(self.requests) / (TURN.as_secs_f64() * count(TURNS))
    }

    /// CPU of a request in microseconds, which other work on the machine changes little.
    fn cpu_micros(&self) -> f64 {
        self.cpu_seconds * 1e6 / count(self.requests)
    }
}

/// Requests of sixteen clients, in turns with the floor.
async fn together(machine: &Machine, floor: &Floor) {
    let [[mut creates, mut transactions], [mut reads, mut gets]] =
        <[[ServerUsage; 2]; 2]>::default();
    let (own, its) = (machine.pid(), floor.pid());
    for _ in 0..TURNS {
        creates.add(own, |client| machine.create(client)).await;
        transactions.add(its, |client| floor.transact(client)).await;
        reads.add(own, |client| machine.read(client)).await;
        gets.add(its, |client| floor.read(client)).await;
    }
    println!(
        "\n| {CLIENTS} clients | service, /s | floor, /s | of it | goal | CPU of the service, µs | of the floor, µs |\n|---|--:|--:|--:|--:|--:|--:|"
    );
    let pairs = [(creates, transactions), (reads, gets)];
    for ((what, goal), (own, its)) in GOALS.into_iter().zip(pairs) {
        let (rate, floor) = (own.per_second(), its.per_second());
        let of_it = rate / floor;
        row(
            &format!("{what}, {CLIENTS} clients"),
            (of_it, "of the database alone"),
            Goal::AtLeast(goal),
        );
        let (cpu, floors) = (own.cpu_micros(), its.cpu_micros());
        println!(
            "| {what} | {rate:.0} | {floor:.0} | {of_it:.2} | {goal} | {cpu:.0} | {floors:.0} |"
        );
    }
}

/// How many requests succeed in a turn.
async fn rate<F: Future<Output = ()>>(request: impl Fn(usize) -> F) -> usize {
    let began = Instant::now();
    let clients = (0..CLIENTS).map(|client| {
        let request = &request;
        async move {
            let mut done = 0;
            while began.elapsed() < TURN {
                request(client).await;
                done += 1;
            }
            done
        }
    });
    join_all(clients).await.into_iter().sum()
}

/// Requests of one client, one after the other.
async fn single(machine: &Machine) {
    let work_orders = machine.count();
    let item = median(|| machine.read(0)).await;
    println!(
        "\n| one client, {work_orders} work orders | median, ms | of a read | goal |\n|---|--:|--:|--:|"
    );
    println!("| a work order | {item:.2} | 1.0 | |");
    let list = median(|| machine.list()).await;
    let among = |what: &str| format!("{what}, {work_orders} work orders");
    row(&among("a read"), (item, "ms"), Goal::None);
    row(
        &among("a list of 20"),
        (list / item, "reads"),
        Goal::AtMost(8.0),
    );
    println!("| a list of 20 | {list:.2} | {:.1} | 8 |", list / item);
    if work_orders < MANY {
        let position = median(|| machine.position()).await;
        let times = position / item;
        row(&among("a position"), (times, "reads"), Goal::AtMost(20.0));
        println!("| a position among {work_orders} | {position:.2} | {times:.1} | 20 |");
    }
    let create = median(|| machine.create(0)).await;
    row(&among("a create"), (create, "ms"), Goal::None);
    println!("| a create | {create:.2} | {:.1} | |", create / item);
}

async fn median<F: Future<Output = ()>>(request: impl Fn() -> F) -> f64 {
    let mut took = Vec::new();
    for _ in 0..SAMPLES {
        let began = Instant::now();
        request().await;
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    took[took.len() / 2]
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
