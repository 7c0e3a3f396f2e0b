//! A project whose environment has one registry, and an agent that searches for its credential.

use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::server::Server;

pub const TOKEN: &str = "registry-credential-1123581321";

pub async fn service() -> TestService {
    TestService::start(1_000_000, &[("AWO_ALLOW_LOOPBACK_REGISTRIES", "1")]).await
}

/// An environment with one registry, whose credential is set.
pub async fn environment(service: &TestService, kind: &str, url: &str, install: &str) {
    let environment = json!({
        "name": kind,
        "registries": [{ "kind": kind, "url": url, "secret": "REGISTRY" }],
        "setup": [{ "name": "install", "run": install }],
    });
    let made = service.client.post("/v1/environments", &environment).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/v1/environments/{kind}/secrets/REGISTRY");
    let json = [("content-type", "application/json")];
    let value = json!({ "value": TOKEN }).to_string().into_bytes();
    let set = service.client.send("PUT", &path, &json, value).await;
    assert_eq!(set.status, 204, "{}", set.text);
}

/// Installs once more itself, and searches for the credential.
pub fn hunter(more: &str) -> String {
    format!(
        "{{ env; cat /proc/[0-9]*/environ; cat ~/.npmrc ~/.cargo/config.toml ~/.pip/pip.conf; \
         grep -rhs registry-credential \"$HOME\" \"$TMPDIR\" .; }} > seen.txt 2>/dev/null; {more}"
    )
}

pub async fn ran(
    service: &TestService,
    kind: &str,
    repository: &Repository,
    script: &str,
) -> Value {
    let body = json!({
        "taskPrompt": "work",
        "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
        "maxIterations": 1,
        "environment": kind,
    });
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let run = service.client.finished_run(&made.body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let seen = repository.show(run["branch"].as_str().unwrap(), "seen.txt");
    assert!(
        seen.contains("AWO_REGISTRY_REGISTRY=http://127.0.0.1:"),
        "{seen}"
    );
    assert!(!seen.contains(TOKEN), "{seen}");
    run
}

/// Everything that was asked showed the credential.
pub fn all_showed(server: &Server, credential: &str) {
    let seen = server.seen();
    assert!(!seen.is_empty());
    for (call, shown) in seen {
        assert_eq!(shown.as_deref(), Some(credential), "{call}");
    }
}
