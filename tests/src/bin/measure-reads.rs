//! `make bench`: the cost of reads, with few work orders and with many: request latency, and round
//! trips to DynamoDB. Prints numbers; nothing here can fail a build.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

use std::time::Instant;

use awo_tests::counted_requests::CountedRequests;
use awo_tests::measure::print;
use awo_tests::seed::Seed;
use awo_tests::service::TestService;

/// How many finished work orders there are when reads are measured.
const SIZES: [usize; 2] = [100, 10_000];
/// How often each read is measured.
const READS: usize = 100;
/// Work orders of a seed that wait.
const WAITING: usize = 20;

#[tokio::main]
async fn main() {
    let settings = [("AWO_MAX_CONCURRENT", "0")];
    let service = TestService::start(1_000_000_000, &settings).await;
    let requests = CountedRequests::of(&service).await;
    let client = requests.for_client(&service.client);
    let cloud = &service.service.cloud;
    let seed = Seed::of(cloud, &service.org);
    let mut last = None;
    for _ in 0..WAITING {
        last = Some(seed.waiting(cloud.clock.now(), Some("acme")).await);
    }
    let waiting = last.expect("a work order");
    let paths = [
        format!("/v1/work-orders/{}", waiting.id),
        format!("/v1/runs/{}", waiting.run_id),
        "/v1/work-orders".to_owned(),
        "/v1/work-orders?status=canceled".to_owned(),
        "/v1/runs".to_owned(),
        "/v1/runs?status=canceled".to_owned(),
        format!("/api/v1/queue/position/{}", waiting.id),
        "/api/v1/queue/health".to_owned(),
        "/v1/credits".to_owned(),
        "/api/v1/usage/summary".to_owned(),
    ];
    let mut finished = 0;
    for size in SIZES {
        while finished < size {
            seed.canceled(cloud.clock.now(), Some("acme")).await;
            finished += 1;
        }
        println!("{size} finished work orders, {WAITING} waiting:");
        for path in &paths {
            let mut samples = Vec::new();
            for _ in 0..READS {
                requests.costs();
                let began = Instant::now();
                let answer = client.get(path).await;
                samples.push(began.elapsed().as_secs_f64() * 1e3);
                assert_eq!(answer.status, 200, "{}", answer.text);
            }
            let shown = path
                .replace(waiting.id.as_str(), "wo_…")
                .replace(waiting.run_id.as_str(), "run_…");
            let rounds = requests.costs().rounds.len();
            let shown = format!("{shown}, {size} finished");
            print(&shown, &format!("{rounds} round trips"), samples);
        }
    }
}
