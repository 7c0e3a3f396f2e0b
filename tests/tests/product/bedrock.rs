//! Runs that Bedrock answers, and runs whose models are elsewhere: the service as a whole, a Bedrock
//! that checks signatures, and sessions of a role that say whose they are.

use std::sync::{Arc, Mutex, OnceLock};

use awo_domain::control::{BaseUrl, Provider};
use awo_local::sts::Session;
use awo_origins::bedrock::{Bedrock, KnownCredential, REGION, Reply};
use awo_store::settings::providers::ProviderChange;
use awo_tests::repository::Repository;
use awo_tests::role_sessions;
use awo_tests::service::TestService;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value, json};

const PROFILE: &str = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
const ROLE: &str = "arn:aws:iam::000000000000:role/awo-bedrock";
const KEY: &str = "sk-of-the-organization";
/// Calls a model, and shows all that the agent has.
const CALL: &str = r#"curl -sS -f -o answer "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -H 'content-type: application/json' -d '{"model":"claude-sonnet-4-5","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}' || exit 1
grep -q message_stop answer || exit 1; env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n'; echo done > done"#;

fn events() -> Vec<Value> {
    let usage = json!({"input_tokens": 70_000, "cache_creation_input_tokens": 10_000,
        "cache_read_input_tokens": 20_000, "output_tokens": 1});
    vec![
        json!({"type": "message_start", "message": {"type": "message", "usage": usage}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 1_000}}),
        json!({"type": "message_stop"}),
    ]
}

/// A service with a Bedrock.
struct World {
    service: TestService,
    bedrock: Bedrock,
}

impl World {
    async fn start(settings: &[(&str, &str)]) -> World {
        // The service's own key, from which the stand-in for STS derives what signs.
        let local_key: Arc<OnceLock<String>> = Arc::default();
        let known_key = Arc::clone(&local_key);
        let known = move |id: &str, token: &str| {
            let (secret, expires_at) = role_sessions::secret_of(&known_key, id, token)?;
            Some(KnownCredential { secret, expires_at })
        };
        let bedrock = Bedrock::start(known, |_, _| Reply::Message(events()));
        let profiles = format!("claude-sonnet-4-5={PROFILE}");
        let mut all = vec![
            ("AWO_BEDROCK_REGION", REGION),
            ("AWO_BEDROCK_ROLE_ARN", ROLE),
            ("AWO_BEDROCK_BASE_URL", bedrock.url.as_str()),
            ("AWO_BEDROCK_INFERENCE_PROFILES", profiles.as_str()),
        ];
        all.extend_from_slice(settings);
        let service = TestService::start(1_000_000, &all).await;
        let key = service.service.settings["AWS_ACCESS_KEY_ID"].clone();
        local_key.set(key).unwrap();
        World { service, bedrock }
    }

    async fn set_key(&self) {
        let secrets = self.service.service.cloud.secrets().unwrap();
        let set = secrets.set(&self.service.org, "anthropic", KEY);
        set.await.unwrap();
    }

    async fn set_providers(&self, change: ProviderChange) {
        let store = self.service.service.cloud.store().unwrap();
        store
            .set_providers(&self.service.org, &change)
            .await
            .unwrap();
    }

    /// A run that calls a model once.
    async fn run(&self) -> (Value, Value) {
        let repository = Repository::with(&[("Makefile", "test:\n\t@true\n"), ("a", "b\n")]);
        let body = json!({
            "taskPrompt": "work",
            "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
            "agent": { "type": "command", "command": ["sh", "-c", CALL] },
            "tenantContext": { "tenantId": "Acme & Söhne" },
            "maxIterations": 1,
        });
        let made = self.service.client.post("/v1/work-orders", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let run = self.service.client.finished_run(&made.body).await;
        (made.body, run)
    }

    async fn log(&self, run: &Value) -> String {
        let path = format!("/v1/runs/{}/logs", run["runId"].as_str().unwrap());
        self.service.client.get(&path).await.text
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_a_key_is_answered_by_bedrock_in_a_session_that_says_whose_it_is() {
    let world = World::start(&[]).await;
    let (order, run) = world.run().await;
    assert_eq!(
        run["status"],
        "succeeded",
        "{run:#} {:?}",
        world.bedrock.refused()
    );
    assert_eq!(world.bedrock.refused(), Vec::<String>::new());
    let calls = world.bedrock.calls().clone();
    assert_eq!(calls.len(), 1);
    assert_eq!((&*calls[0].model, calls[0].streams), (PROFILE, true));
    let session = Session::of_token(&calls[0].token).unwrap();
    assert_eq!(
        (&*session.role_arn, &*session.name),
        (ROLE, run["runId"].as_str().unwrap())
    );
    let tags: Vec<(&str, &str)> = session.tags.iter().map(|(k, v)| (&**k, &**v)).collect();
    let id = order["id"]
        .as_str()
        .or(order["workOrderId"].as_str())
        .unwrap();
    let wanted = [
        ("orgId", world.service.org.as_str()),
        ("tenantId", "Acme _ Söhne"),
        ("workOrderId", id),
    ];
    assert_eq!(tags, wanted);
    // What the agent and every process that it may look at have in their environments.
    let log = world.log(&run).await;
    assert!(log.contains("ANTHROPIC_BASE_URL"), "{log}");
    let secret = Session::secret_of(
        &world.service.service.settings["AWS_ACCESS_KEY_ID"],
        &calls[0].token,
    );
    for hidden in [
        &session.access_key_id,
        &calls[0].token,
        &secret,
        "AWS_SECRET_ACCESS_KEY",
    ] {
        assert!(!log.contains(hidden), "{hidden}");
    }
    // 70 000 fresh at 3.3, 10 000 written at 4.125, 20 000 read at 0.33, 1 000 out at 16.5 a million.
    let used = &run["usage"]["byModel"][PROFILE];
    assert_eq!(used["inputTokens"], 100_000, "{run:#}");
    assert_eq!(
        (&used["cachedInputTokens"], &used["outputTokens"]),
        (&json!(20_000), &json!(1_000))
    );
    let cost = used["costUsd"].as_f64().unwrap();
    assert!((cost - 0.295_35).abs() < 1e-9, "{cost}");
    world.service.service.stop().await;
}

/// A server that speaks Messages, and the keys that came to it.
async fn gateway() -> (String, Arc<Mutex<Vec<String>>>) {
    async fn answer(State(keys): State<Arc<Mutex<Vec<String>>>>, headers: HeaderMap) -> String {
        let key = headers["x-api-key"].to_str().unwrap().to_owned();
        keys.lock().unwrap().push(key);
        // One document, with the text that the agent searches.
        json!({"type": "message", "note": "message_stop", "usage": {"input_tokens": 5}}).to_string()
    }
    let keys = Arc::default();
    let app = Router::new().route("/team-a/v1/messages", post(answer));
    let app = app.with_state(Arc::clone(&keys));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/team-a", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, keys)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_or_an_operators_choice_selects_the_provider_and_its_address() {
    let (url, keys) = gateway().await;
    let (elsewhere, none) = gateway().await;
    let world = World::start(&[("AWO_ANTHROPIC_BASE_URL", elsewhere.as_str())]).await;
    world.set_key().await;
    // With a key: Anthropic, where the deployment says.
    let (_, run) = world.run().await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(*none.lock().unwrap(), [KEY]);
    // Where the organization's own setting says.
    let own = Some(Some(BaseUrl::parse(&url).unwrap()));
    world
        .set_providers(ProviderChange {
            messages_provider: Some(Some(Provider::Anthropic)),
            anthropic_base_url: own,
            ..ProviderChange::default()
        })
        .await;
    let (_, run) = world.run().await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(
        (keys.lock().unwrap().len(), none.lock().unwrap().len()),
        (1, 1)
    );
    assert_eq!(world.bedrock.calls().len(), 0);
    // Bedrock, although there is a key, which is not even handed to the runner.
    world
        .set_providers(ProviderChange {
            messages_provider: Some(Some(Provider::Bedrock)),
            ..ProviderChange::default()
        })
        .await;
    let (_, run) = world.run().await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(
        (keys.lock().unwrap().len(), world.bedrock.calls().len()),
        (1, 1)
    );
    world.service.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_without_a_lease_gets_no_credentials() {
    let world = World::start(&[]).await;
    let (_, run) = world.run().await;
    let path = format!(
        "{}/control/{}/runs/{}/credentials",
        world.service.service.base_url,
        world.service.org,
        run["runId"].as_str().unwrap()
    );
    let http = awo_tests::client::http_client();
    let asked = |token: Option<String>, body: &str| {
        let request = http.post(&path).body(body.to_owned());
        let request = request.header("content-type", "application/json");
        match token {
            Some(token) => request.bearer_auth(token).send(),
            None => request.send(),
        }
    };
    let stranger = asked(Some("0".repeat(64)), "{}").await.unwrap();
    assert_eq!(stranger.status(), 409);
    assert!(!stranger.text().await.unwrap().contains("ASIA"));
    assert_eq!(asked(None, "{}").await.unwrap().status(), 401);
    let more = asked(Some("0".repeat(64)), r#"{"durationSeconds": 9}"#);
    assert_eq!(more.await.unwrap().status(), 400);
    world.service.service.stop().await;
}
