//! Agent logs: stored by runners, read by clients.

use std::io::Write;

use awo_domain::control::MAX_LOG_BYTES;
use awo_store::runs::lifecycle::report::Reporter;
use awo_store::runs::logs::Log;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn log(iteration: u32, output: &[u8], bytes: u64) -> Value {
    json!({ "iteration": iteration, "output": STANDARD.encode(gzip(output)), "bytes": bytes })
}

/// Bytes that do not shrink.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next)
        .flatten()
        .take(length)
        .collect()
}

async fn run(service: &TestService) -> (DrivenRun, String) {
    let made = service.client.post("/v1/work-orders", &order()).await;
    let run = DrivenRun::of(service, &made.body).await;
    let path = format!("/v1/runs/{}/logs", run.run_id);
    (run, path)
}

fn iterations(body: &Value) -> Vec<u64> {
    let logs = body["logs"].as_array().unwrap();
    logs.iter()
        .map(|l| l["iteration"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn what_an_agent_wrote_is_stored_once_and_read_by_iteration() {
    let service = quiet_service().await;
    let (run, path) = run(&service).await;
    let empty = service.client.get(&path).await;
    assert_eq!(empty.body, json!({ "logs": [], "hasMore": false }));
    for iteration in [3, 1, 2] {
        let output = format!("of {iteration}\n\u{e9}\u{1b}[0m\"\\");
        let body = log(iteration, output.as_bytes(), output.len() as u64);
        let first = run.control("logs", &body).await;
        assert_eq!(
            (first.status, &first.body["acknowledged"]),
            (200, &json!(0)),
            "{}",
            first.text
        );
        // A reply that was lost: the same again, and what is kept stays.
        let again = run.control("logs", &log(iteration, b"other", 5)).await;
        assert_eq!((again.status, again.text), (200, first.text));
    }
    let cut = [b"\xa9 tail".as_slice(), &[0xff]].concat();
    let first = run.control("logs", &log(4, &cut, 1_000_000)).await;
    assert_eq!(first.status, 200, "{}", first.text);

    let all = service.client.get(&path).await;
    assert_eq!(iterations(&all.body), [1, 2, 3, 4]);
    let first = json!({ "iteration": 1, "output": "of 1\n\u{e9}\u{1b}[0m\"\\", "bytes": 13, "truncated": false });
    assert_eq!(all.body["logs"][0], first);
    let last =
        json!({ "iteration": 4, "output": " tail\u{fffd}", "bytes": 1_000_000, "truncated": true });
    assert_eq!(all.body["logs"][3], last);
    for (query, wanted, more) in [
        ("?limit=2", &[1, 2][..], true),
        ("?limit=2&after=2", &[3, 4], false),
        ("?after=4", &[], false),
        ("?iteration=2", &[2], false),
        ("?iteration=5", &[], false),
    ] {
        let page = service.client.get(&format!("{path}{query}")).await;
        assert_eq!(iterations(&page.body), wanted, "{query}");
        assert_eq!(page.body["hasMore"], more, "{query}");
    }
}

#[tokio::test]
async fn logs_belong_to_the_run_of_their_lease_and_to_its_organization() {
    let service = quiet_service().await;
    let (mut first, path) = run(&service).await;
    let (second, _) = run(&service).await;
    let good = log(1, b"x", 1);
    let token = "0".repeat(64);
    let stranger = service.client.with_key(Some(&token));
    let control = format!("/control/{}/runs/{}/logs", service.org, first.run_id);
    assert_eq!(stranger.post(&control, &good).await.status, 409);
    assert_eq!(
        service
            .client
            .with_key(None)
            .post(&control, &good)
            .await
            .status,
        401
    );
    assert_eq!(second.control("logs", &good).await.status, 200);
    assert_eq!(service.client.get(&path).await.body["logs"], json!([]));
    first.succeed().await;
    let late = first.control("logs", &good).await;
    assert_eq!(late.status, 409, "the run is over: {}", late.text);

    let (_, other) = service.another_org(1).await;
    for (client, path) in [
        (&other, path.as_str()),
        (&service.client, "/v1/runs/x/logs"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (404, &json!("RUN_NOT_FOUND"))
        );
    }
    for query in [
        "iteration=0",
        "iteration=101",
        "limit=0",
        "limit=101",
        "after=101",
        "iteration=1&after=1",
    ] {
        let answer = service.client.get(&format!("{path}?{query}")).await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_log_that_is_not_what_it_should_be_is_refused() {
    let service = quiet_service().await;
    let (run, path) = run(&service).await;
    let mut trailing = gzip(b"x");
    trailing.push(0);
    let plain = |output: &[u8]| json!({ "iteration": 1, "output": STANDARD.encode(output), "bytes": 9_999_999_999_u64 });
    let bomb = gzip(&vec![0; 100_000_000]);
    assert!(bomb.len() < 700_000, "it fits into a request");
    for (bad, path) in [
        (log(0, b"x", 1), "/iteration"),
        (log(101, b"x", 1), "/iteration"),
        (log(1, b"xx", 1), "/bytes"),
        (log(1, &vec![b'x'; MAX_LOG_BYTES + 1], 9_999_999), "/output"),
        (plain(b"no gzip"), "/output"),
        (plain(&trailing), "/output"),
        (plain(&bomb), "/output"),
        (
            json!({ "iteration": 1, "output": "%", "bytes": 1 }),
            "/output",
        ),
        (json!({ "iteration": 1, "output": "", "bytes": -1 }), ""),
        (
            json!({ "iteration": 1, "output": "", "bytes": 1, "more": 1 }),
            "",
        ),
    ] {
        let answer = run.control("logs", &bad).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert_eq!(answer.body["error"]["details"]["errors"][0]["path"], path);
    }
    assert_eq!(service.client.get(&path).await.body["logs"], json!([]));
}

#[tokio::test]
async fn a_stored_bomb_is_an_error_in_its_place_and_no_more() {
    let service = quiet_service().await;
    let (run, path) = run(&service).await;
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let lease = store
        .lease(&service.org, &run.run_id)
        .await
        .unwrap()
        .unwrap();
    let by = Reporter {
        org: service.org.clone(),
        run_id: run.run_id.clone(),
        token_hash: lease.token_hash.unwrap(),
    };
    for (iteration, stored) in [
        (1, gzip(b"good")),
        (2, gzip(&vec![0; 50_000_000])),
        (3, b"broken".to_vec()),
    ] {
        let log = Log::new(iteration, stored, 4, false, now);
        store.store_log(&by, &log).await.unwrap();
    }
    let answer = service.client.get(&path).await;
    assert_eq!(answer.body["logs"][0]["output"], "good");
    for at in [1, 2] {
        let broken = &answer.body["logs"][at];
        assert!(broken["error"].is_string(), "{broken}");
        assert_eq!(
            (&broken["output"], &broken["truncated"]),
            (&json!(""), &json!(true))
        );
    }
}

#[tokio::test]
async fn a_runs_logs_have_their_limit_and_so_has_a_page() {
    let service = quiet_service().await;
    let (run, path) = run(&service).await;
    // 261 144 bytes of gzip each, so that what 4 MiB have beside a diff is used up by the thirteenth.
    for iteration in 1..=17 {
        let output = noise(u64::from(iteration), MAX_LOG_BYTES - 1_000);
        let first = run
            .control("logs", &log(iteration, &output, output.len() as u64))
            .await;
        assert_eq!(first.status, 200, "{}", first.text);
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), 0, 0);
    loop {
        let page = service
            .client
            .get(&format!("{path}?limit=100&after={after}"))
            .await;
        assert!(page.text.len() <= 4 * 1_048_576, "{}", page.text.len());
        for log in page.body["logs"].as_array().unwrap() {
            after = log["iteration"].as_u64().unwrap();
            let (cut, text) = (log["truncated"] == true, log["output"].as_str().unwrap());
            seen.push((after, cut));
            assert_eq!(text.is_empty(), cut);
        }
        pages += 1;
        if page.body["hasMore"] == false {
            break;
        }
        assert!(pages < 20);
    }
    let wanted: Vec<(u64, bool)> = (1..=17).map(|n| (n, n > 13)).collect();
    assert_eq!(seen, wanted);
    assert!(pages > 1, "noise as text is longer than noise");
}
