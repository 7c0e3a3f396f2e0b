//! The cost of concurrent writers of one organization's tally: clients that create work orders
//! without pause, each in its own process, on a database that locks the items of a transaction.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use awo_tests::measure::{Goal, row};
use awo_tests::world::World;
use futures::future::join_all;
use serde_json::json;

const LASTS: Duration = Duration::from_secs(10);
const CLIENTS: [usize; 2] = [16, 64];
const LOCKS_MS: [u64; 3] = [0, 5, 20];

#[tokio::main]
async fn main() {
    println!("Creates in one organization, {} s each", LASTS.as_secs());
    println!(
        "| locked | clients | creates/s | 429 | other | conflicts a create | p50 ms | p99 ms |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for lock_ms in LOCKS_MS {
        for clients in CLIENTS {
            measure(lock_ms, clients).await;
        }
    }
}

async fn measure(lock_ms: u64, clients: usize) {
    let own = [
        ("AWO_MAX_QUEUE_SIZE", "1000000".to_owned()),
        ("AWO_REQUESTS_PER_MINUTE", "10000000".to_owned()),
    ];
    let world = World::with_locks(&own, Duration::from_millis(lock_ms)).await;
    let org = world.org_without_webhooks(1_000_000).await;
    let body = json!({
        "taskPrompt": "fix it",
        "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
        "limits": { "maxCredits": 1 },
    });
    let mut processes = Vec::new();
    for _ in 0..clients {
        processes.push(world.process());
    }
    world.faults.disarm();
    let (refused, other) = (AtomicU32::new(0), AtomicU32::new(0));
    let began = Instant::now();
    let each = processes.iter().map(|process| async {
        let mut took = Vec::new();
        while began.elapsed() < LASTS {
            let at = Instant::now();
            match process.create(&org, &body, None).await.status {
                201 => took.push(at.elapsed().as_millis()),
                429 => {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                _ => {
                    other.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        took
    });
    let mut took: Vec<u128> = join_all(each).await.into_iter().flatten().collect();
    let seconds = began.elapsed().as_secs_f64();
    took.sort_unstable();
    let nth = |part: usize| took.get(took.len() * part / 100).copied().unwrap_or(0);
    let creates = took.len().max(1);
    let rivals = format!("creates of {clients} rivals, items locked for {lock_ms} ms");
    row(&rivals, (took.len() as f64 / seconds, "/s"), Goal::None);
    println!(
        "| {lock_ms} ms | {clients} | {:.1} | {} | {} | {:.2} | {} | {} |",
        took.len() as f64 / seconds,
        refused.into_inner(),
        other.into_inner(),
        f64::from(world.faults.refused()) / creates as f64,
        nth(50),
        nth(99),
    );
}
