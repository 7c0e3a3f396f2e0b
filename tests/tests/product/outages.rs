//! Outages of providers: a fake one fails in each way, and runs wait for it without being charged.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

const MAKEFILE: &str = "test:\n\t@true\n";
/// Calls a model once, and fails as programs do if that did.
const CALL: &str = r#"curl -sS -f -o answer "$OPENAI_BASE_URL/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY" -H 'content-type: application/json' -d '{"model":"gpt-4o","messages":[]}' || exit 1
"#;

/// What the provider does with a call.
#[derive(Debug, Clone, Copy)]
enum Way {
    Answers,
    /// With this status and, if it is not empty, this `Retry-After`.
    Fails(u16, &'static str),
    /// With this status and a body that names this kind of error.
    Refuses(u16, &'static str),
    /// Begins to answer, and reports this kind of error within the stream.
    Stops(&'static str),
    /// Hangs up before a word.
    HangsUp,
    /// Hangs up in the middle of its answer.
    BreaksOff,
}

/// A provider on loopback that does one after the other, and the last one for ever.
struct Provider {
    url: String,
    calls: Arc<Mutex<usize>>,
    serving: AbortHandle,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Provider {
    async fn start(ways: &'static [Way]) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&calls);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let call = {
                    let mut calls = counted.lock().unwrap();
                    *calls += 1;
                    *calls
                };
                let way = ways[(call - 1).min(ways.len() - 1)];
                let _ = answer(stream, way).await;
            }
        });
        Provider {
            url,
            calls,
            serving: serving.abort_handle(),
        }
    }

    fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }
}

async fn answer(mut stream: TcpStream, way: Way) -> std::io::Result<()> {
    if let Way::HangsUp = way {
        return Ok(());
    }
    let mut head = vec![0; 65_536];
    let mut read = 0;
    while !head[..read].windows(4).any(|end| end == b"\r\n\r\n") {
        read += stream.read(&mut head[read..]).await?;
    }
    let body = r#"{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":100000,"completion_tokens":1000}}"#;
    let whole = |status: &str, more: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
    };
    let text = match way {
        Way::Answers => whole("200 OK", "", body),
        Way::Refuses(status, kind) => {
            let error = format!(r#"{{"error":{{"message":"x","type":"{kind}","code":"{kind}"}}}}"#);
            whole(&format!("{status} x"), "retry-after: 1000\r\n", &error)
        }
        Way::Stops(kind) => {
            let body = format!("data: {{\"error\":{{\"type\":\"{kind}\",\"message\":\"x\"}}}}\n\n");
            let whole = whole("200 OK", "", &body);
            whole.replacen("application/json", "text/event-stream", 1)
        }
        Way::Fails(status, "") => whole(&format!("{status} x"), "", "{}"),
        Way::Fails(status, after) => {
            let more = format!("retry-after: {after}\r\n");
            whole(&format!("{status} x"), &more, "{}")
        }
        _ => {
            let whole = whole("200 OK", "", body);
            whole[..whole.len() - 20].to_owned()
        }
    };
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

async fn service(provider: &Provider) -> TestService {
    let settings = [("AWO_OPENAI_BASE_URL", provider.url.as_str())];
    let service = TestService::start(1_000_000, &settings).await;
    let secrets = service.service.cloud.secrets().unwrap();
    let set = secrets.set(&service.org, "openai", "sk-test-key");
    set.await.unwrap();
    service
}

async fn submitted(service: &TestService, repository: &Repository, script: &str) -> Value {
    let body = json!({
        "taskPrompt": "work",
        "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
        "maxIterations": 1,
    });
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

fn repository() -> Repository {
    Repository::with(&[("Makefile", MAKEFILE), ("a", "b\n")])
}

async fn events(service: &TestService, run: &Value, kind: &str) -> Vec<Value> {
    let path = format!(
        "/v1/runs/{}/events?limit=100",
        run["runId"].as_str().unwrap()
    );
    let events = service.client.get(&path).await.body;
    let events = events["events"].as_array().unwrap().clone();
    events
        .into_iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

async fn breakdown(service: &TestService) -> (f64, f64) {
    let path = "/v1/credits/usage?type=deduction&limit=1";
    let entry = service.client.get(path).await.body["transactions"][0].clone();
    let part = |name: &str| entry["breakdown"][name].as_f64().unwrap();
    (part("modelCredits"), part("computeCredits"))
}

fn at(run: &Value, name: &str) -> awo_domain::Timestamp {
    serde_json::from_value(run[name].clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_way_a_provider_fails_its_outage_uses_up_no_iteration_and_no_compute() {
    let ways = &[
        Way::Fails(429, "1"),
        Way::HangsUp,
        Way::Fails(503, "1"),
        Way::BreaksOff,
        Way::Fails(529, "0"),
        Way::Answers,
    ];
    let provider = Provider::start(ways).await;
    let service = service(&provider).await;
    let script = format!("{CALL}echo done > done");
    let repository = repository();
    let order = submitted(&service, &repository, &script).await;
    let path = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    let waits = |run: &Value| run["phase"] == "waiting_for_provider";
    service
        .client
        .until(&path, Duration::from_secs(30), waits)
        .await;
    let run = service.client.finished_run(&order).await;
    assert_eq!(
        (&run["status"], &run["iteration"]),
        (&json!("succeeded"), &json!(1)),
        "{run:#}"
    );
    assert_eq!(provider.calls(), ways.len());
    let waiting = events(&service, &run, "provider.waiting").await;
    let reported: Vec<u64> = waiting
        .iter()
        .map(|e| e["data"]["waitMs"].as_u64().unwrap())
        .collect();
    // What a provider asks for; where it does not ask, twice as long as the wait before.
    assert_eq!(reported, [1_000, 5_000, 1_000, 10_000, 0]);
    assert_eq!(
        events(&service, &run, "provider.resumed").await.len(),
        reported.len()
    );
    let (model, compute) = breakdown(&service).await;
    assert!(model > 0.0);
    let whole = at(&run, "completedAt").ms_since(at(&run, "startedAt"));
    let paid = (compute * 60_000.0) as i64;
    let waited = i64::try_from(reported.iter().sum::<u64>()).unwrap();
    assert!(
        (paid - (whole - waited)).abs() < 2_500,
        "{paid} of {whole} without {waited}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_stays_away_ends_the_run_and_the_wait_alone_is_free() {
    let ways = &[Way::Answers, Way::Fails(503, "3600")];
    let provider = Provider::start(ways).await;
    let service = service(&provider).await;
    let script = format!("{CALL}sleep 2\n{CALL}");
    let began = Instant::now();
    let repository = repository();
    let order = submitted(&service, &repository, &script).await;
    let run = service.client.finished_run(&order).await;
    assert!(began.elapsed() < Duration::from_secs(30));
    let error = &run["error"];
    assert_eq!(
        (&error["code"], &error["category"], &error["retryable"]),
        (
            &json!("PROVIDER_UNAVAILABLE"),
            &json!("provider"),
            &json!(true)
        ),
        "{run:#}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("openai answered 503") && message.contains("3600 s"),
        "{message}"
    );
    // 100 000 input and 1 000 output tokens of gpt-4o: 0.26 US dollars; and the time of the attempt.
    let (model, compute) = breakdown(&service).await;
    assert_eq!(model, 26.0);
    assert!((2.0 / 60.0..0.5).contains(&compute), "{compute}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_without_quota_ends_the_run_at_once_and_its_compute_is_paid() {
    for (status, kind) in [
        (429, "insufficient_quota"),
        (429, "billing_not_active"),
        (403, "x"),
    ] {
        let provider = Provider::start(Box::leak(Box::new([Way::Refuses(status, kind)]))).await;
        let service = service(&provider).await;
        let repository = repository();
        let order = submitted(&service, &repository, &format!("sleep 2\n{CALL}")).await;
        let run = service.client.finished_run(&order).await;
        let error = &run["error"];
        assert_eq!(
            (&error["code"], &error["category"], &error["retryable"]),
            (
                &json!("PROVIDER_REFUSED"),
                &json!("provider"),
                &json!(false)
            ),
            "{run:#}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("--name openai"), "{message}");
        let waits = events(&service, &run, "provider.waiting").await.len();
        assert_eq!((provider.calls(), waits), (1, 0));
        let (model, compute) = breakdown(&service).await;
        assert!(model == 0.0 && compute >= 2.0 / 60.0, "{model} {compute}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_the_provider_within_a_stream_is_an_outage() {
    let ways = &[Way::Stops("server_error"), Way::Answers];
    let provider = Provider::start(ways).await;
    let service = service(&provider).await;
    let repository = repository();
    let script = format!("{CALL}grep -q server_error answer && exit 1\necho done > done");
    let order = submitted(&service, &repository, &script).await;
    let run = service.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(events(&service, &run, "provider.waiting").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_the_callers_is_no_outage() {
    let provider = Provider::start(&[Way::Fails(400, "1")]).await;
    let service = service(&provider).await;
    let repository = repository();
    let order = submitted(&service, &repository, CALL).await;
    let run = service.client.finished_run(&order).await;
    assert_eq!(run["error"]["code"], "AGENT_FAILED", "{run:#}");
    assert_eq!(
        (
            provider.calls(),
            events(&service, &run, "provider.waiting").await.len()
        ),
        (1, 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_that_an_agent_survives_is_its_own_matter() {
    let provider = Provider::start(&[Way::Fails(500, ""), Way::Answers]).await;
    let service = service(&provider).await;
    let repository = repository();
    let script = format!("({CALL}) || {{ {CALL} }}; echo done > done");
    let order = submitted(&service, &repository, &script).await;
    let run = service.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(events(&service, &run, "provider.waiting").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_waits_is_canceled_at_once_and_pays_nothing_for_the_wait() {
    let provider = Provider::start(&[Way::Fails(429, "600")]).await;
    let service = service(&provider).await;
    let repository = repository();
    let order = submitted(&service, &repository, CALL).await;
    let path = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    let waits = |run: &Value| run["phase"] == "waiting_for_provider";
    let limit = Duration::from_secs(30);
    service.client.until(&path, limit, waits).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let canceled = service
        .client
        .post(&format!("{path}/cancel"), &json!({}))
        .await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let settled = |run: &Value| run.get("settledAt").is_some();
    let run = service.client.until(&path, limit, settled).await;
    let whole = at(&run, "completedAt").ms_since(at(&run, "startedAt"));
    let (_, compute) = breakdown(&service).await;
    let paid = (compute * 60_000.0) as i64;
    assert!(paid + 3_000 < whole + 1_000, "{paid} of {whole}");
}
