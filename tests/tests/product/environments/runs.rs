//! What runs see of their environment.

use std::path::Path;

use awo_tests::client::Client;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::{delete, make, put, service};

pub const MAKEFILE: &str = "test:\n\t@echo '1 passed in 0.1s'\n";
pub const SETUP_SECRET: &str = "setup-secret-3141592653";
pub const VERIFY_SECRET: &str = "verify-secret-2718281828";
pub const AGENT_SECRET: &str = "agent-secret-1618033988";

pub async fn set_secret(service: &TestService, environment: &str, name: &str, value: &str) {
    let path = format!("/v1/environments/{environment}/secrets/{name}");
    let set = put(&service.client, &path, &json!({ "value": value })).await;
    assert_eq!(set.status, 204, "{}", set.text);
}

pub fn order(repository: &str, script: &str) -> Value {
    json!({
        "taskPrompt": "work",
        "workspaceSource": { "type": "git", "repository": repository, "branch": "main" },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
        "maxIterations": 1,
    })
}

pub async fn ran(service: &TestService, body: &Value) -> Value {
    let made = service.client.post("/v1/work-orders", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    service.client.finished_run(&made.body).await
}

/// All that the service shows of a run: events, logs, the diff, the run itself and its audit.
async fn shown(client: &Client, run: &Value) -> String {
    let id = run["runId"].as_str().unwrap();
    let mut all = String::new();
    for path in [
        format!("/v1/runs/{id}"),
        format!("/v1/runs/{id}/events?limit=100"),
        format!("/v1/runs/{id}/logs"),
        format!("/v1/runs/{id}/diff"),
        format!("/api/v1/audit/runs/{id}"),
        format!("/api/v1/audit/runs/{id}/snapshots"),
    ] {
        let answer = client.get(&path).await;
        assert_eq!(answer.status, 200, "{path} {}", answer.text);
        all.push_str(&answer.text);
    }
    all
}

/// The files below a folder that hold a text.
pub fn holding(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(holding(&path, text));
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let has = bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes());
            found.extend(has.then(|| path.display().to_string()));
        }
    }
    found
}

/// Looks everywhere for what it should not find: its own variables, those of all processes, and the
/// files of home, temporary folder and workspace.
const HUNTER: &str = r#"
env > seen.txt
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' >> seen.txt
grep -rhs secret- "$HOME" "$TMPDIR" . >> seen.txt 2>/dev/null
ps axo args >> seen.txt 2>/dev/null
test -e "$HOME/alive.pid" && kill -0 "$(cat "$HOME/alive.pid")" 2>/dev/null && A=ALIVE && echo "STILL-$A" >> seen.txt
echo "mine is $MINE" > mine.txt
echo "printed $MINE"
printf '{"summary":"it is %s"}' "$MINE" > "$AWO_RESULT"
true
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_exists_in_its_phases_alone_and_its_value_is_shown_nowhere() {
    let service = service().await;
    let setup = "echo printed $SETUP; echo $SETUP > kept.txt; echo $SETUP > \"$HOME/.npmrc\"; \
                 echo $SETUP > \"$TMPDIR/x\"; setsid sleep 600 & echo $! > \"$HOME/alive.pid\"; \
                 test -z \"$MINE$CHECK\"";
    let secret = |name: &str, phase: &str| json!({ "name": name, "phases": [phase] });
    let environment = json!({
        "name": "e", "variables": { "MODE": "test-mode" },
        "secrets": [secret("SETUP", "setup"), secret("CHECK", "verify"), secret("MINE", "agent")],
        "setup": [{ "name": "deps", "run": setup }],
    });
    make(&service.client, &environment).await;
    for (name, value) in [
        ("SETUP", SETUP_SECRET),
        ("CHECK", VERIFY_SECRET),
        ("MINE", AGENT_SECRET),
    ] {
        set_secret(&service, "e", name, value).await;
    }
    let check = format!(
        "test:\n\t@test \"$$CHECK\" = {VERIFY_SECRET} && test -z \"$$MINE$$SETUP\" && \
         test \"$$MODE\" = test-mode && echo $$CHECK && test -e kept.txt\n"
    );
    // The check knows the value only in this test's own repository.
    let check = check.replace(VERIFY_SECRET, "$$(printf 'verify-%s' secret-2718281828)");
    let repository = Repository::with(&[("Makefile", &check)]);
    let mut body = order(&repository.url(), HUNTER);
    body["environment"] = json!("e");
    let run = ran(&service, &body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let everything = shown(&service.client, &run).await;
    for value in [SETUP_SECRET, VERIFY_SECRET, AGENT_SECRET] {
        assert!(!everything.contains(value), "{everything}");
    }
    assert!(everything.contains("printed ***"), "{everything}");
    assert!(everything.contains("it is ***"), "{everything}");
    // The branch that was pushed, and what is left of the run's folders.
    let branch = run["branch"].as_str().unwrap();
    let seen = repository.show(branch, "seen.txt");
    for value in [SETUP_SECRET, VERIFY_SECRET, AGENT_SECRET, "STILL-ALIVE"] {
        assert!(!seen.contains(value), "{seen}");
    }
    assert!(
        seen.contains("MODE=test-mode") && seen.contains("MINE="),
        "{seen}"
    );
    let mine = repository.show(branch, "mine.txt");
    assert_eq!(mine, format!("mine is {}", "*".repeat(AGENT_SECRET.len())));
    let workspace = Path::new(run["workDir"].as_str().unwrap());
    let run_dir = workspace.parent().unwrap();
    for value in [SETUP_SECRET, VERIFY_SECRET, AGENT_SECRET] {
        assert_eq!(holding(workspace, value), Vec::<String>::new());
    }
    assert_eq!(holding(run_dir, SETUP_SECRET), Vec::<String>::new());
    // What the setup left is no change of the agent's.
    let files = repository.files(branch);
    assert!(!files.contains(&"kept.txt".to_owned()), "{files:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_that_fails_names_its_step_and_the_end_of_its_output() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("a", "b\n")]);
    let step =
        |run: &str| json!([{ "name": "first", "run": "true" }, { "name": "deps", "run": run }]);
    let cases = [
        ("echo so it goes; exit 3", "exit code 3"),
        ("echo so it goes; sleep 60", "was stopped after 1 s"),
        // It is run again in each clean checkout that is verified.
        (
            "test ! -e broken || { echo so it goes; exit 3; }",
            "exit code 3",
        ),
    ];
    for (i, (run, why)) in cases.into_iter().enumerate() {
        let mut setup = step(run);
        setup[1]["timeoutMs"] = json!(1_000);
        let name = format!("e{i}");
        make(&service.client, &json!({ "name": name, "setup": setup })).await;
        let mut body = order(&repository.url(), "touch broken");
        body["environment"] = json!(name);
        let run = ran(&service, &body).await;
        assert_eq!(run["error"]["code"], "WORKSPACE_FAILED", "{run:#}");
        let message = run["error"]["message"].as_str().unwrap();
        for part in ["\"deps\"", why, "so it goes"] {
            assert!(message.contains(part), "{message}");
        }
    }
    let unset = json!({ "name": "unset", "secrets": [{ "name": "T", "phases": ["setup"] }] });
    make(&service.client, &unset).await;
    let mut body = order(&repository.url(), "true");
    body["environment"] = json!("unset");
    let run = ran(&service, &body).await;
    assert_eq!(run["error"]["code"], "WORKSPACE_FAILED", "{run:#}");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("set-secret --name env:unset:T"),
        "{message}"
    );
    assert_eq!(run["cost"]["credits"], 0, "nothing of it was executed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_size_is_asked_of_ecs_and_priced_in_the_breakdown() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("a", "b\n")]);
    let mut rates = Vec::new();
    for (size, cpu, memory) in [("small", "512", "1024"), ("xlarge", "4096", "16384")] {
        make(&service.client, &json!({ "name": size, "size": size })).await;
        let script = format!("date +%N > {size}");
        let mut body = order(&repository.url(), &script);
        body["environment"] = json!(size);
        let run = ran(&service, &body).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
        let started_by = format!("{}/{}", service.org, run["runId"].as_str().unwrap());
        let task = service.service.ecs.described(&started_by).unwrap();
        assert_eq!(
            (&task["cpu"], &task["memory"]),
            (&json!(cpu), &json!(memory)),
            "{task}"
        );
        let path = "/v1/credits/usage?type=deduction&limit=1";
        let entry = service.client.get(path).await.body["transactions"][0].clone();
        let compute = entry["breakdown"]["computeCredits"].as_f64().unwrap();
        let report = service
            .client
            .get("/v1/usage/report?groupBy=outcome")
            .await
            .body;
        assert!(report["totals"]["computeMinutes"].is_number(), "{report}");
        let seconds = seconds(&run);
        rates.push(compute * 60.0 / seconds);
    }
    assert!(
        (rates[0] - 0.5).abs() < 0.01 && (rates[1] - 4.0).abs() < 0.05,
        "{rates:?}"
    );
}

/// The started seconds of a run's compute.
fn seconds(run: &Value) -> f64 {
    let at = |name: &str| -> awo_domain::Timestamp {
        serde_json::from_value(run[name].clone()).unwrap()
    };
    let ms = at("completedAt").ms_since(at("startedAt"));
    (ms as f64 / 1_000.0).ceil()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_is_filled_by_a_setup_that_succeeded_and_found_by_the_next() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("requirements.txt", "a==1\n")]);
    let install = "test ! -e fails || exit 1; test -e deps/installed && echo from the cache || \
                   { mkdir -p deps ~/.cache/x; echo big > deps/installed; echo 1 > ~/.cache/x/y; }";
    let environment = json!({
        "name": "e", "setup": [{ "name": "deps", "run": install }], "caches": ["deps", "~/.cache/x"],
    });
    make(&service.client, &environment).await;
    let restored = async |script: &str| {
        let mut body = order(&repository.url(), script);
        body["environment"] = json!("e");
        let run = ran(&service, &body).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
        let path = format!(
            "/v1/runs/{}/events?limit=100",
            run["runId"].as_str().unwrap()
        );
        let events = service.client.get(&path).await.body;
        let mut events = events["events"].as_array().unwrap().iter();
        let ready = events.find(|e| e["type"] == "environment.ready").unwrap();
        ready["data"]["restored"].clone()
    };
    // An agent that spoils what is cached spoils its own copy.
    assert_eq!(
        restored("echo evil > deps/installed; echo 1 > one").await,
        json!([])
    );
    let script = "grep -q big deps/installed && echo 2 > two";
    assert_eq!(restored(script).await, json!(["deps", "~/.cache/x"]));
    // Another lock file, and another organization.
    repository.commit(&[("requirements.txt", "a==2\n")]);
    assert_eq!(restored("echo 3 > three").await, json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_has_the_environment_by_names_and_hashes() {
    let service = service().await;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("a", "b\n")]);
    let environment = json!({
        "name": "e", "variables": { "MODE": "abc" }, "size": "large",
        "secrets": [{ "name": "TOKEN", "phases": ["verify"] }],
    });
    make(&service.client, &environment).await;
    set_secret(&service, "e", "TOKEN", VERIFY_SECRET).await;
    let mut body = order(&repository.url(), "echo 1 > one");
    body["environment"] = json!("e");
    let run = ran(&service, &body).await;
    let path = format!("/api/v1/audit/runs/{}", run["runId"].as_str().unwrap());
    let audit = service.client.get(&path).await.body["data"]["environment"].clone();
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(audit["variables"], json!({ "MODE": hash }));
    assert_eq!(audit["secrets"], environment["secrets"]);
    assert_eq!(
        (&audit["name"], &audit["size"]),
        (&json!("e"), &json!("large"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_work_order_keeps_an_environment_that_is_deleted_and_sees_one_that_is_replaced() {
    let service = service().await;
    let client = &service.client;
    let repository = Repository::with(&[("Makefile", MAKEFILE), ("a", "b\n")]);
    let failing = json!([{ "name": "deps", "run": "exit 1" }]);
    make(
        client,
        &json!({ "name": "e", "setup": failing, "variables": { "V": "old" } }),
    )
    .await;
    let mut body = order(&repository.url(), "echo $V > seen.txt");
    body["environment"] = json!("e");
    let made = client.post("/v1/work-orders", &body).await.body;
    let run = client.finished_run(&made).await;
    assert_eq!(run["status"], "failed", "{run:#}");
    let again = async |variable: Option<&str>| {
        if let Some(value) = variable {
            let new = json!({ "variables": { "V": value } });
            assert_eq!(put(client, "/v1/environments/e", &new).await.status, 200);
        }
        let start = format!("/api/v1/work-orders/{}/runs", made["id"].as_str().unwrap());
        let started = client.send("POST", &start, &[], Vec::new()).await;
        assert_eq!(started.status, 201, "{}", started.text);
        client.finished_run(&started.body["data"]).await
    };
    assert_eq!(delete(client, "/v1/environments/e").await.status, 204);
    let stored = again(None).await;
    assert_eq!(stored["error"]["code"], "WORKSPACE_FAILED", "{stored:#}");
    make(client, &json!({ "name": "e" })).await;
    let replaced = again(Some("new")).await;
    assert_eq!(replaced["status"], "succeeded", "{replaced:#}");
    let seen = repository.show(replaced["branch"].as_str().unwrap(), "seen.txt");
    assert_eq!(seen, "new");
}
