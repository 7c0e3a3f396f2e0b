//! Diffs of runs: stored by runners, read by clients.

use awo_domain::control::MAX_DIFF_BYTES;
use awo_tests::driven::DrivenRun;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};
use crate::logs::{gzip, noise};

const BASE: &str = "0123456789abcdef0123456789abcdef01234567";
const COMMIT: &str = "89abcdef0123456789abcdef0123456789abcdef";

fn diff(iteration: u32, text: &[u8], bytes: usize) -> Value {
    json!({
        "iteration": iteration, "baseCommit": BASE, "commit": COMMIT,
        "diff": STANDARD.encode(gzip(text)), "bytes": bytes,
    })
}

async fn run(service: &TestService) -> (DrivenRun, String) {
    let made = service.client.post("/v1/work-orders", &order()).await;
    let run = DrivenRun::of(service, &made.body).await;
    let path = format!("/v1/runs/{}/diff", run.run_id);
    (run, path)
}

async fn stored(run: &DrivenRun, body: &Value) {
    let answer = run.control("diff", body).await;
    assert_eq!(
        (answer.status, &answer.body["acknowledged"]),
        (200, &json!(0)),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_diff_is_that_of_the_newest_commit_whatever_comes_late_or_twice() {
    let service = quiet_service().await;
    let (run, path) = run(&service).await;
    let none = service.client.get(&path).await;
    let id = run.run_id.as_str();
    let wanted = json!({ "runId": id, "diff": "", "bytes": 0, "truncated": false });
    assert_eq!((none.status, none.body), (200, wanted));
    let two = "+zwei \u{e9}\n+\"\\\n";
    stored(&run, &diff(1, b"+one\n", 5)).await;
    stored(&run, &diff(2, two.as_bytes(), two.len())).await;
    stored(&run, &diff(2, b"another\n", 8)).await;
    stored(&run, &diff(1, b"late\n", 5)).await;
    let got = service.client.get(&path).await.body;
    let wanted = json!({
        "runId": id, "iteration": 2, "baseCommit": BASE, "commit": COMMIT,
        "diff": two, "bytes": two.len(), "truncated": false,
    });
    assert_eq!(got, wanted);
    // Larger than an item, and then smaller again.
    let large: String = noise(1, 500_000)
        .iter()
        .map(|b| format!("{:x}", b & 15))
        .collect();
    stored(&run, &diff(3, large.as_bytes(), 9_000_000)).await;
    let got = service.client.get(&path).await.body;
    assert_eq!(got["diff"], large);
    assert_eq!(
        (&got["bytes"], &got["truncated"]),
        (&json!(9_000_000), &json!(true))
    );
    stored(&run, &diff(4, b"+small\xff\n", 8)).await;
    let got = service.client.get(&path).await.body;
    assert_eq!(
        (&got["diff"], &got["iteration"]),
        (&json!("+small\u{fffd}\n"), &json!(4))
    );
}

#[tokio::test]
async fn a_diff_belongs_to_the_run_of_its_lease_and_to_its_organization() {
    let service = quiet_service().await;
    let (mut first, path) = run(&service).await;
    let (second, _) = run(&service).await;
    let good = diff(1, b"x", 1);
    let control = format!("/control/{}/runs/{}/diff", service.org, first.run_id);
    let token = "0".repeat(64);
    for (key, status) in [(Some(token.as_str()), 409), (None, 401)] {
        let answer = service.client.with_key(key).post(&control, &good).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    stored(&second, &good).await;
    assert_eq!(service.client.get(&path).await.body["diff"], "");
    first.succeed().await;
    let late = first.control("diff", &good).await;
    assert_eq!(late.status, 409, "the run is over: {}", late.text);
    let (_, other) = service.another_org(1).await;
    for (client, path) in [
        (&other, path.as_str()),
        (&service.client, "/v1/runs/x/diff"),
    ] {
        let answer = client.get(path).await;
        let code = &answer.body["error"]["code"];
        assert_eq!((answer.status, code), (404, &json!("RUN_NOT_FOUND")));
    }
}

#[tokio::test]
async fn a_diff_that_is_not_what_it_should_be_is_refused() {
    let service = quiet_service().await;
    let (run, path) = run(&service).await;
    let with = |name: &str, value: Value| {
        let mut body = diff(1, b"x", 1);
        body[name] = value;
        body
    };
    for (bad, path) in [
        (diff(0, b"x", 1), "/iteration"),
        (diff(101, b"x", 1), "/iteration"),
        (diff(1, b"xx", 1), "/bytes"),
        (diff(1, &vec![b'x'; MAX_DIFF_BYTES + 1], 9_999_999), "/diff"),
        (diff(1, &vec![0; 100_000_000], 100_000_000), "/diff"),
        (diff(1, &noise(1, 745_000), 745_000), "/diff"),
        (with("diff", json!("%")), "/diff"),
        (with("diff", json!("")), "/diff"),
        (with("commit", json!("main")), "/commit"),
        (with("baseCommit", json!("")), "/baseCommit"),
        (with("more", json!(1)), ""),
    ] {
        let answer = run.control("diff", &bad).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert_eq!(answer.body["error"]["details"]["errors"][0]["path"], path);
    }
    assert_eq!(service.client.get(&path).await.body["diff"], "");
}

#[tokio::test]
async fn a_diff_of_nothing_but_what_json_escapes_is_cut_to_what_an_answer_holds() {
    let service = quiet_service().await;
    let (run, path) = run(&service).await;
    stored(&run, &diff(1, &vec![1; MAX_DIFF_BYTES], MAX_DIFF_BYTES)).await;
    let answer = service.client.get(&path).await;
    assert!(answer.text.len() < 4 * 1_048_576, "{}", answer.text.len());
    assert_eq!(answer.body["truncated"], true);
    let shown = answer.body["diff"].as_str().unwrap();
    assert!(shown.len() > 500_000 && shown.bytes().all(|byte| byte == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_diff_of_a_real_run_leads_from_its_base_to_its_result() {
    let service = TestService::start(1_000_000, &[]).await;
    let makefile = "test:\n\t@grep -q right answer.txt && echo '1 passed in 0.1s'\n";
    let files = [("Makefile", makefile), ("answer.txt", "wrong\n")];
    let repository = Repository::with(&files);
    let agent = "if grep -q wrong answer.txt; then echo nearly > answer.txt; \
                 else echo right > answer.txt; echo new > new.txt; fi";
    let body = awo_tests::agents::order(&repository.url(), agent);
    let order = awo_tests::agents::submit(&service.client, &body).await;
    let run = service.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let path = format!("/v1/runs/{}/diff", run["runId"].as_str().unwrap());
    let diff = service.client.get(&path).await.body;
    assert_eq!(diff["commit"], run["commit"], "{diff:#}");
    assert_eq!(
        (&diff["iteration"], &diff["truncated"]),
        (&json!(2), &json!(false))
    );
    let text = diff["diff"].as_str().unwrap();
    assert!(
        text.contains("-wrong\n+right\n") && text.contains("+++ b/new.txt\n"),
        "{text}"
    );
    // It is a patch that git takes, and it makes the result out of the base.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("Makefile"), makefile).unwrap();
    std::fs::write(dir.path().join("answer.txt"), "wrong\n").unwrap();
    std::fs::write(dir.path().join("the.diff"), text).unwrap();
    let applied = std::process::Command::new("git")
        .args(["apply", "the.diff"])
        .current_dir(dir.path())
        .status()
        .unwrap();
    assert!(applied.success());
    let answer = std::fs::read_to_string(dir.path().join("answer.txt")).unwrap();
    assert_eq!(answer, "right\n");
}
