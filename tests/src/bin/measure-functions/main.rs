//! `make bench-functions`: the cost of starting and calling the functions, beside a handler with
//! only the SDK. The programs are the built ones for deployment; each runs as in Lambda. Prints
//! numbers; nothing here can fail a build.
//!
//! `measure-functions DIR`: the folder with each program as `<name>/bootstrap`.

#![expect(
    clippy::expect_used,
    reason = "a measurement that cannot go on says so and ends"
)]

mod lambda;

use std::io::Write as _;
use std::path::Path;

use awo_tests::invoke::proxy_event;
use awo_tests::measure::{Goal, row};
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::Value;

use crate::lambda::Lambda;

const BARE: &str = "bare-function";
const READ: &str = "get-work-order";
/// Programs of each kind: a read, a change, an answer in pieces, TLS of our own, the schedule.
const PROGRAMS: [&str; 6] = [
    BARE,
    READ,
    "create-work-order",
    "kill-work-order",
    "deliver-webhooks",
    "sweep",
];
/// How often each program is started, all in turn: what else the machine does meets them alike.
const STARTS: usize = 100;
/// Calls of each of the two that read, in turns of so many.
const TURNS: usize = 40;
const CALLS: u32 = 100;

/// What a program's starts came to.
#[derive(Default)]
struct Starts {
    wall_ms: Vec<f64>,
    cpu_ms: Vec<f64>,
}

#[tokio::main]
async fn main() {
    let dir = std::env::args().nth(1).expect("a folder of programs");
    let path = |name: &str| format!("{dir}/{name}/bootstrap");
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "0")]).await;
    let seed = Seed::of(&service.service.cloud, &service.org);
    let order = seed.waiting(service.service.cloud.clock.now(), None).await;
    let key = service.client.key().expect("a key");
    let mut environment: Vec<(String, String)> =
        service.service.settings.clone().into_iter().collect();
    environment.push(("BARE_PARTITION".to_owned(), format!("{}#wo", service.org)));

    let mut lambda = Lambda::start().await;
    let mut starts: Vec<Starts> = PROGRAMS.iter().map(|_| Starts::default()).collect();
    for _ in 0..STARTS {
        for (name, starts) in PROGRAMS.iter().zip(&mut starts) {
            let ready = lambda.run(&path(name), &environment).await;
            starts.wall_ms.push(ready.after.as_secs_f64() * 1e3);
            starts.cpu_ms.push(ready.cpu * 1e3);
            ready.end().await;
            lambda = Lambda::start().await;
        }
    }
    println!(
        "{:<20} {:>9} {:>9} {:>22} {:>22}",
        "function", "bytes", "zip", "start, ms (of bare)", "its CPU, ms (of bare)"
    );
    let bare = (median(&starts[0].wall_ms), median(&starts[0].cpu_ms));
    for (name, starts) in PROGRAMS.iter().zip(&starts) {
        let (bytes, zip) = sizes(Path::new(&path(name)));
        let (wall, cpu) = (median(&starts.wall_ms), median(&starts.cpu_ms));
        let megabytes = f64::from(u32::try_from(zip).expect("a program")) / 1e6;
        row(
            &format!("{name}: zip"),
            (megabytes, "MB"),
            Goal::AtMost(2.4),
        );
        row(
            &format!("{name}: start"),
            (wall / bare.0, "of a bare function's"),
            Goal::AtMost(1.1),
        );
        println!(
            "{name:<20} {bytes:>9} {zip:>9} {wall:>13.2} ({:>5.2}) {cpu:>13.2} ({:>5.2})",
            wall / bare.0,
            cpu / bare.1,
        );
    }

    let id = order.id.as_str();
    let (resource, target) = ("/v1/work-orders/{id}", format!("/v1/work-orders/{id}"));
    let headers = [("Authorization", format!("Bearer {key}"))];
    let event = proxy_event("GET", resource, &target, &[("id", id)], &headers, None);
    let mut calls = Vec::new();
    for _ in 0..TURNS {
        let bare = called(&path(BARE), &environment, &event).await;
        calls.push((bare, called(&path(READ), &environment, &event).await));
    }
    let bare = median(&calls.iter().map(|(bare, _)| *bare).collect::<Vec<f64>>());
    let read = median(&calls.iter().map(|(_, read)| *read).collect::<Vec<f64>>());
    let ratio = median(
        &calls
            .iter()
            .map(|(bare, read)| read / bare)
            .collect::<Vec<f64>>(),
    );
    row(
        &format!("{READ}: CPU of a warm call"),
        (ratio, "of a bare function's"),
        Goal::AtMost(1.05),
    );
    println!("CPU of a warm call: {BARE} {bare:.0} µs, {READ} {read:.0} µs ({ratio:.2} of it)");
    service.service.stop().await;
}

/// CPU of one call of a program that is warm, in microseconds.
async fn called(program: &str, environment: &[(String, String)], event: &Value) -> f64 {
    let mut lambda = Lambda::start().await;
    let ready = lambda.run(program, environment).await;
    for _ in 0..CALLS {
        let answer = lambda.invoke(event).await;
        assert_eq!(answer["statusCode"], 200, "{program}: {answer}");
    }
    let before = ready.cpu_seconds();
    for _ in 0..CALLS {
        lambda.invoke(event).await;
    }
    let used = ready.cpu_seconds() - before;
    ready.end().await;
    used / f64::from(CALLS) * 1e6
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Bytes of a program, raw and deflated as in the archive that Lambda gets.
fn sizes(program: &Path) -> (usize, usize) {
    let bytes = std::fs::read(program).expect("a program");
    let mut archive = DeflateEncoder::new(Vec::new(), Compression::default());
    archive.write_all(&bytes).expect("memory");
    (bytes.len(), archive.finish().expect("memory").len())
}
