//! An operator's commands, on the tables of a real local service.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use awo_local::{Options, Service};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{CallOutput, command, fed};

/// A local service, and a data directory that leads another process to it.
pub struct World {
    pub service: Service,
    pub dir: TempDir,
}

impl World {
    pub async fn start() -> World {
        let dir = tempfile::tempdir().unwrap();
        let runner = dir.path().join("runner");
        // Stands in for the runner: it hands its nonce to the test, which speaks in its place.
        let nonce = dir.path().join("nonce");
        let script = format!(
            "#!/bin/sh\nprintf %s \"$AWO_NONCE\" > {}\nexec sleep 60\n",
            nonce.display()
        );
        std::fs::write(&runner, script).unwrap();
        std::fs::set_permissions(&runner, std::fs::Permissions::from_mode(0o755)).unwrap();
        let service = Service::start(Options {
            data_dir: None,
            port: 0,
            runner,
            workspace_root: dir.path().to_owned(),
            log_dir: dir.path().to_owned(),
            private_files: Vec::new(),
            sweep_period: Duration::from_secs(60),
            item_locks: Duration::ZERO,
            takes_secrets: true,
            settings: BTreeMap::new(),
        });
        let service = service.await.unwrap();
        let endpoints = json!(service.settings).to_string();
        std::fs::write(dir.path().join("endpoints.json"), endpoints).unwrap();
        World { service, dir }
    }

    pub async fn admin(&self, args: &[&str]) -> CallOutput {
        let mut call = command(["admin", "--json"]);
        call.args(args).env("AWO_DATA_DIR", self.dir.path());
        CallOutput::of(call.output().await.unwrap())
    }

    pub async fn fed(&self, args: &[&str], input: &str) -> CallOutput {
        let mut call = command(["admin", "--json"]);
        call.args(args).env("AWO_DATA_DIR", self.dir.path());
        fed(call, input).await
    }

    pub async fn client(&self, key: &str, args: &[&str]) -> CallOutput {
        let mut call = command(args.iter().chain(&["--json"]));
        call.env("AWO_URL", &self.service.base_url)
            .env("AWO_API_KEY", key);
        CallOutput::of(call.output().await.unwrap())
    }

    pub async fn org_with_key(&self) -> (String, String, String) {
        let org = text(
            &self.admin(&["create-org", "--name", "Team A"]).await.json(),
            "orgId",
        );
        let made = self
            .admin(&["create-key", "--org", &org, "--scopes", "*"])
            .await
            .json();
        (org, text(&made, "apiKey"), text(&made, "keyId"))
    }
}

pub fn text(of: &Value, name: &str) -> String {
    of[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} in {of}"))
        .to_owned()
}

const STRANGER: &str = "org_01k0000000000000000000000z";

#[tokio::test(flavor = "multi_thread")]
async fn a_key_opens_the_api_until_it_is_revoked() {
    let world = World::start().await;
    let (org, key, id) = world.org_with_key().await;
    assert_eq!(world.client(&key, &["credits"]).await.json()["balance"], 0);
    let keys = world.admin(&["list-keys", "--org", &org]).await;
    assert!(
        !keys.out.contains("hash") && !keys.out.contains(&key),
        "{keys:?}"
    );
    assert_eq!(keys.json()["keys"][0]["scopes"], json!(["*"]));
    assert_eq!(
        world.admin(&["revoke-key", "--key-id", &id]).await.json()["revoked"],
        true
    );
    let refused = world.client(&key, &["credits"]).await;
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("UNAUTHORIZED"), "{refused:?}");
    let keys = world.admin(&["list-keys", "--org", &org]).await.json();
    assert!(keys["keys"][0]["revokedAt"].is_string(), "{keys}");
    let unknown = world
        .admin(&["revoke-key", "--key-id", "abcdefABC123"])
        .await;
    assert_eq!((unknown.code, unknown.out.as_str()), (3, ""), "{unknown:?}");
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_and_limits_of_a_key_hold() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    let made = [
        "create-key",
        "--org",
        &org,
        "--scopes",
        "credits:read,runs:read",
        "--requests-per-minute",
        "2",
    ];
    let key = text(&world.admin(&made).await.json(), "apiKey");
    assert_eq!(world.client(&key, &["credits"]).await.code, 0);
    let refused = world.client(&key, &["list"]).await;
    assert!(
        refused.err.contains("FORBIDDEN") && refused.err.contains("work-orders:read"),
        "{refused:?}"
    );
    // The minute may turn between two calls, so one more than enough.
    let mut last = refused;
    for _ in 0..4 {
        last = world.client(&key, &["credits"]).await;
    }
    assert!(last.err.contains("RATE_LIMITED"), "{last:?}");
    let bad = world
        .admin(&["create-key", "--org", &org, "--scopes", "runs:read,all"])
        .await;
    assert_eq!(bad.code, 2);
    assert!(bad.err.contains("webhooks:write"), "{bad:?}");
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credits_are_granted_and_given_back() {
    let world = World::start().await;
    let (org, key, _) = world.org_with_key().await;
    let granted = world
        .admin(&["grant", "--org", &org, "--credits", "2000.5"])
        .await
        .json();
    assert_eq!(granted["balance"], json!(2000.5));
    let again = world
        .admin(&["grant", "--org", &org, "--credits", "0.5"])
        .await
        .json();
    assert_eq!(again["balance"], json!(2001));
    assert_ne!(granted["transactionId"], again["transactionId"]);
    let run = world.paid_run(&key).await;
    let paid = world.client(&key, &["credits"]).await.json()["balance"]
        .as_f64()
        .unwrap();
    assert!(paid < 2001.0, "{paid}");
    let refund = |credits: &'static str| {
        let args = [
            "refund".to_owned(),
            "--org".to_owned(),
            org.clone(),
            "--run".to_owned(),
            run.clone(),
            "--credits".to_owned(),
            credits.to_owned(),
        ];
        let world = &world;
        async move {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            world.admin(&args).await
        }
    };
    let refunded = refund("0.01").await.json()["balance"].as_f64().unwrap();
    assert!(
        (refunded - paid - 0.01).abs() < 1e-9,
        "{refunded} after {paid}"
    );
    let too_much = refund("1000").await;
    assert_eq!(
        (too_much.code, too_much.out.as_str()),
        (3, ""),
        "{too_much:?}"
    );
    for bad in ["0", "-1", "0.0000001", "many"] {
        let called = world
            .admin(&["grant", "--org", &org, "--credits", bad])
            .await;
        assert_eq!(called.code, 2, "{bad}: {called:?}");
    }
    world.service.stop().await;
}

impl World {
    /// A run that used something: the test speaks for its runner.
    async fn paid_run(&self, key: &str) -> String {
        let submit = [
            "submit",
            "--repo",
            "https://example.com/a",
            "--prompt",
            "do",
        ];
        let run = text(&self.client(key, &submit).await.json(), "runId");
        let nonce = read_when_there(&self.dir.path().join("nonce")).await;
        let token = "ab".repeat(32);
        let spec = self
            .control(
                "/control/claim",
                None,
                &json!({"nonce": nonce, "token": token}),
            )
            .await;
        let path = format!("/control/{}/runs/{run}", text(&spec, "orgId"));
        let at = "2026-11-20T08:00:00.000Z";
        let ready = json!({"type": "workspaceReady", "commit": "a".repeat(40), "branch": "main", "workDir": "/tmp/x"});
        let started = json!({"type": "iterationStarted", "iteration": 1});
        let events = json!([{"number": 1, "at": at, "event": ready}, {"number": 2, "at": at, "event": started}]);
        self.control(
            &format!("{path}/report"),
            Some(&token),
            &json!({"events": events}),
        )
        .await;
        let used = json!({"model": "gpt-4o-mini", "inputTokens": 1_000_000, "outputTokens": 0, "cachedInputTokens": 0});
        let usage = json!([{"usage": used, "costUsdNano": 150_000_000}]);
        let finish = json!({"events": [], "outcome": {"type": "succeeded"}, "iterations": 1, "usage": usage});
        self.control(&format!("{path}/finish"), Some(&token), &finish)
            .await;
        run
    }

    async fn control(&self, path: &str, token: Option<&str>, body: &Value) -> Value {
        // Fails when another test was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = http
            .post(format!("{}{path}", self.service.base_url))
            .json(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let body = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {body}");
        serde_json::from_str(&body).unwrap()
    }
}

async fn read_when_there(path: &Path) -> String {
    for _ in 0..1_000 {
        match std::fs::read_to_string(path) {
            Ok(text) if !text.is_empty() => return text,
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("no task was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_and_secrets_are_set_for_organizations_that_are_there() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    let set = world
        .admin(&["set-limits", "--org", &org, "--max-concurrent", "2"])
        .await
        .json();
    assert_eq!(set, json!({"orgId": org, "maxConcurrent": 2}));
    for bad in [
        vec![],
        vec!["--max-queue-size", "1001"],
        vec!["--max-concurrent", "0"],
    ] {
        let args = [&["set-limits", "--org", &org][..], &bad].concat();
        assert_eq!(world.admin(&args).await.code, 2, "{bad:?}");
    }
    let labels = async |required: &str| {
        let set = ["set-cost-labels", "--org", &org, "--labels", "team,project"];
        let args = [&set[..], &["--required", required]].concat();
        world.admin(&args).await
    };
    let declared = json!({"orgId": org, "labels": ["team", "project"], "required": ["team"]});
    assert_eq!(labels("team").await.json(), declared);
    assert_ne!(labels("ticket").await.code, 0);
    let filled = world.admin(&["backfill-costs"]).await.json();
    assert_eq!(filled, json!({"organizations": 1, "recorded": 0}));
    let secret = |org: &str| {
        let mut call = command([
            "admin",
            "--json",
            "set-secret",
            "--org",
            org,
            "--name",
            "git:github.com",
        ]);
        call.env("AWO_DATA_DIR", world.dir.path());
        fed(call, "s3cr3t\n")
    };
    let called = secret(&org).await;
    assert!(!called.out.contains("s3cr3t") && !called.err.contains("s3cr3t"));
    assert_eq!(
        called.json(),
        json!({"orgId": org, "name": "git:github.com"})
    );
    let parsed = awo_domain::OrgId::parse(&org).unwrap();
    let stored = world
        .service
        .cloud
        .secrets()
        .unwrap()
        .get(&parsed, "git:github.com")
        .await
        .unwrap();
    assert_eq!(stored.as_deref(), Some("s3cr3t"));
    assert_eq!(secret(STRANGER).await.code, 3);
    for args in [
        &["create-key", "--org", STRANGER, "--scopes", "*"][..],
        &["list-keys", "--org", STRANGER],
        &["grant", "--org", STRANGER, "--credits", "1"],
        &["set-limits", "--org", STRANGER, "--max-concurrent", "1"],
        &["set-cost-labels", "--org", STRANGER, "--labels", "team"],
    ] {
        let called = world.admin(args).await;
        assert_eq!((called.code, called.out.as_str()), (3, ""), "{args:?}");
        assert!(
            called.err.contains("there is no organization"),
            "{called:?}"
        );
    }
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_gets_the_keys_that_its_agent_may_want_and_no_others() {
    let world = World::start().await;
    let (org, key, _) = world.org_with_key().await;
    world
        .admin(&["grant", "--org", &org, "--credits", "2000"])
        .await;
    for name in ["anthropic", "openai", "git:example.com"] {
        let args = ["admin", "set-secret", "--org", &org, "--name", name];
        let mut call = command(args);
        call.env("AWO_DATA_DIR", world.dir.path());
        assert_eq!(fed(call, &format!("key-of-{name}\n")).await.code, 0);
    }
    let submit = ["submit", "--repo", "https://example.com/a", "--prompt", "x"];
    let codex = [&submit[..], &["--agent", "codex"]].concat();
    world.client(&key, &codex).await.json();
    let nonce = read_when_there(&world.dir.path().join("nonce")).await;
    let claim = json!({"nonce": nonce, "token": "ab".repeat(32)});
    let spec = world.control("/control/claim", None, &claim).await;
    let keys = json!([{"provider": "openai", "key": "key-of-openai"}]);
    assert_eq!(spec["modelKeys"], keys);
    let tariff = json!({"creditsPerUsd": 100.0, "creditsPerMinute": 1.0, "ownPrices": {}});
    assert_eq!(spec["tariff"], tariff);
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stores_are_found_by_environment_too_or_the_error_names_what_is_missing() {
    let world = World::start().await;
    let mut call = command(["admin", "--json", "create-org", "--name", "By environment"]);
    call.envs(&world.service.settings);
    let called = CallOutput::of(call.output().await.unwrap());
    assert!(called.json()["orgId"].is_string());
    let unset = CallOutput::of(
        command(["admin", "create-org", "--name", "x"])
            .output()
            .await
            .unwrap(),
    );
    assert_eq!(unset.code, 2, "{unset:?}");
    assert!(unset.err.contains("--local"), "{unset:?}");
    let (World { service, dir }, create) = (world, ["admin", "create-org", "--name", "x"]);
    service.stop().await;
    let mut call = command(create);
    call.env("AWO_DATA_DIR", dir.path());
    let gone = CallOutput::of(call.output().await.unwrap());
    assert_eq!(gone.code, 4, "{gone:?}");
    assert!(gone.err.contains("make run"), "{gone:?}");
}
