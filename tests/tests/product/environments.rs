//! Environments: the resource, who names one, and what runs see of it.

use std::path::Path;

use awo_tests::client::Client;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const MAKEFILE: &str = "test:\n\t@true\n";
const SETUP_SECRET: &str = "setup-secret-3141592653";
const VERIFY_SECRET: &str = "verify-secret-2718281828";
const AGENT_SECRET: &str = "agent-secret-1618033988";

async fn service() -> TestService {
    TestService::start(1_000_000, &[]).await
}

async fn make(client: &Client, environment: &Value) {
    let made = client.post("/v1/environments", environment).await;
    assert_eq!(made.status, 201, "{}", made.text);
}

async fn set_secret(service: &TestService, environment: &str, name: &str, value: &str) {
    let secrets = service.service.cloud.secrets().unwrap();
    let name = format!("env:{environment}:{name}");
    secrets.set(&service.org, &name, value).await.unwrap();
}

fn order(repository: &str, script: &str) -> Value {
    json!({
        "taskPrompt": "work",
        "workspaceSource": { "type": "git", "repository": repository, "branch": "main" },
        "agent": { "type": "command", "command": ["sh", "-c", script] },
        "maxIterations": 1,
    })
}

async fn ran(service: &TestService, body: &Value) -> Value {
    let made = service.client.post("/v1/work-orders", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    service.client.finished_run(&made.body).await
}

async fn put(client: &Client, path: &str, body: &Value) -> awo_tests::client::Answer {
    let json = [("content-type", "application/json")];
    client
        .send("PUT", path, &json, body.to_string().into_bytes())
        .await
}

async fn delete(client: &Client, path: &str) -> awo_tests::client::Answer {
    client.send("DELETE", path, &[], Vec::new()).await
}

/// The paths of a 400.
fn wrong(answer: &awo_tests::client::Answer) -> Vec<String> {
    assert_eq!(answer.status, 400, "{}", answer.text);
    let errors = answer.body["error"]["details"]["errors"]
        .as_array()
        .unwrap();
    let paths = errors.iter().map(|e| e["path"].as_str().unwrap());
    paths.map(str::to_owned).collect()
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
fn holding(dir: &Path, text: &str) -> Vec<String> {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_is_made_shown_listed_replaced_and_deleted() {
    let service = service().await;
    let client = &service.client;
    let whole = json!({
        "name": "node", "description": "d", "variables": { "CI": "1" },
        "secrets": [{ "name": "TOKEN", "phases": ["setup", "verify"] }],
        "setup": [{ "name": "deps", "run": "npm ci", "timeoutMs": 1000 }],
        "caches": ["node_modules"],
        "registries": [{ "kind": "npm", "url": "https://npm.example.com/", "secret": "NPM" }],
        "size": "small",
    });
    let made = client.post("/v1/environments", &whole).await;
    assert_eq!(made.status, 201, "{}", made.text);
    for (name, value) in whole.as_object().unwrap() {
        assert_eq!(&made.body[name], value);
    }
    assert_eq!(made.body["egress"], json!([]));
    let got = client.get("/v1/environments/node").await;
    assert_eq!((got.status, &got.body), (200, &made.body));
    let again = client.post("/v1/environments", &whole).await;
    assert_eq!(again.status, 409, "{}", again.text);
    make(client, &json!({ "name": "python" })).await;
    let first = client.get("/v1/environments?limit=1").await.body;
    assert_eq!(
        (&first["total"], &first["environments"][0]["name"]),
        (&json!(2), &json!("python"))
    );
    let next = format!(
        "/v1/environments?cursor={}",
        first["nextCursor"].as_str().unwrap()
    );
    let second = client.get(&next).await.body;
    assert_eq!(second["environments"][0]["name"], "node");
    let replaced = put(client, "/v1/environments/node", &json!({ "size": "large" })).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text);
    assert_eq!(
        (&replaced.body["size"], &replaced.body["secrets"]),
        (&json!("large"), &json!([]))
    );
    assert!(replaced.body["updatedAt"].is_string());
    assert_eq!(delete(client, "/v1/environments/node").await.status, 204);
    let gone = client.get("/v1/environments/node").await;
    assert_eq!(
        (gone.status, &gone.body["error"]["code"]),
        (404, &json!("ENVIRONMENT_NOT_FOUND"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_environment_cannot_be_is_400_with_every_path() {
    let service = service().await;
    let client = &service.client;
    let bad = json!({
        "name": "a b", "variables": { "LD_PRELOAD": "x" },
        "secrets": [{ "name": "T", "phases": ["build"] }],
        "setup": [{ "name": "x", "run": "", "timeoutMs": 1 }],
        "caches": ["/etc"], "size": "huge", "nonsense": 1,
    });
    let paths = wrong(&client.post("/v1/environments", &bad).await);
    for path in [
        "/name",
        "/variables/LD_PRELOAD",
        "/secrets/0/phases/0",
        "/setup/0/run",
        "/setup/0/timeoutMs",
        "/caches/0",
        "/size",
        "/nonsense",
    ] {
        assert!(paths.contains(&path.to_owned()), "{path} {paths:?}");
    }
    // What this deployment cannot give is said, not ignored.
    let digest = "0".repeat(64);
    let image = json!({
        "name": "a", "image": format!("a@sha256:{digest}"), "egress": ["example.com"],
        "services": [{ "name": "db", "image": "postgres:16", "port": 5432 }],
    });
    let refused = client.post("/v1/environments", &image).await;
    assert_eq!(wrong(&refused), ["/egress", "/image", "/services"]);
    assert!(
        refused.text.contains("container engine"),
        "{}",
        refused.text
    );
    assert_eq!(client.get("/v1/environments").await.body["total"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_has_at_most_fifty_environments() {
    let service = service().await;
    for number in 0..50 {
        make(&service.client, &json!({ "name": format!("e{number}") })).await;
    }
    let more = json!({ "name": "one-more" });
    let refused = service.client.post("/v1/environments", &more).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let listed = service.client.get("/v1/environments?limit=100").await.body;
    assert_eq!(listed["environments"].as_array().unwrap().len(), 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_that_a_profile_or_a_template_names_is_there_and_stays() {
    let service = service().await;
    let client = &service.client;
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    let template = json!({ "id": "t", "name": "T", "source": source, "environment": "e" });
    let profile = json!({ "name": "p", "environment": "e" });
    for (path, body) in [("/v1/templates", &template), ("/api/v1/profiles", &profile)] {
        let refused = client.post(path, body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains("/environment"), "{}", refused.text);
    }
    make(client, &json!({ "name": "e" })).await;
    for (path, body) in [("/v1/templates", &template), ("/api/v1/profiles", &profile)] {
        let made = client.post(path, body).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let resolved = client.get("/api/v1/profiles/p?resolve=true").await.body;
    assert_eq!(resolved["data"]["environment"], "e");
    let refused = delete(client, "/v1/environments/e").await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    for named in ["profile p", "template t"] {
        assert!(refused.text.contains(named), "{}", refused.text);
    }
    let other = json!({ "environment": "nobody" });
    for path in ["/v1/templates/t", "/api/v1/profiles/p"] {
        assert_eq!(put(client, path, &other).await.status, 400);
    }
    let null = json!({ "environment": null });
    assert_eq!(put(client, "/v1/templates/t", &null).await.status, 200);
    assert_eq!(delete(client, "/v1/environments/e").await.status, 409);
    assert_eq!(
        put(client, "/api/v1/profiles/p", &json!({})).await.status,
        200
    );
    assert_eq!(delete(client, "/v1/environments/e").await.status, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_orders_environment_counts_before_its_templates_and_its_profiles() {
    let service = service().await;
    let client = &service.client;
    for name in ["of-order", "of-template", "of-profile"] {
        make(client, &json!({ "name": name })).await;
    }
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    for (path, body) in [
        (
            "/v1/templates",
            json!({ "id": "t", "name": "T", "source": source, "environment": "of-template" }),
        ),
        (
            "/v1/templates",
            json!({ "id": "plain", "name": "T", "source": source }),
        ),
        (
            "/api/v1/profiles",
            json!({ "name": "p", "environment": "of-profile" }),
        ),
    ] {
        assert_eq!(client.post(path, &body).await.status, 201);
    }
    let from = |template: &str| json!({ "type": "template", "templateId": template });
    let cases = [
        (
            json!({ "environment": "of-order", "harness": "p" }),
            "t",
            Some("of-order"),
        ),
        (json!({ "harness": "p" }), "t", Some("of-template")),
        (json!({ "harness": "p" }), "plain", Some("of-profile")),
        (json!({}), "plain", None),
    ];
    for (more, template, wanted) in cases {
        let mut body = json!({ "taskPrompt": "x", "workspaceSource": from(template) });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let made = client.post("/v1/work-orders", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(made.body["environment"].as_str(), wanted, "{more}");
    }
    let unknown =
        json!({ "taskPrompt": "x", "workspaceSource": from("plain"), "environment": "x" });
    let refused = client.post("/v1/work-orders", &unknown).await;
    assert_eq!(wrong(&refused), ["/environment"]);
    let (_, other) = service.another_org(1_000).await;
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    let theirs = json!({ "taskPrompt": "x", "workspaceSource": source, "environment": "of-order" });
    assert_eq!(
        wrong(&other.post("/v1/work-orders", &theirs).await),
        ["/environment"]
    );
}

/// Looks everywhere for what it should not find: its own variables, those of all processes, and the
/// files of home, temporary folder and workspace.
const HUNTER: &str = r#"
env > seen.txt
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' >> seen.txt
grep -rhs secret- "$HOME" "$TMPDIR" . >> seen.txt 2>/dev/null
ps axo args >> seen.txt 2>/dev/null
test -e "$HOME/alive.pid" && kill -0 "$(cat "$HOME/alive.pid")" 2>/dev/null && echo STILL-ALIVE >> seen.txt
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
    assert_eq!(
        mine,
        format!("mine is {}\n", "*".repeat(AGENT_SECRET.len()))
    );
    let workspace = Path::new(run["workDir"].as_str().unwrap());
    let run_dir = workspace.parent().unwrap();
    for value in [SETUP_SECRET, VERIFY_SECRET, AGENT_SECRET] {
        assert_eq!(holding(workspace, value), Vec::<String>::new());
    }
    assert_eq!(holding(run_dir, SETUP_SECRET), Vec::<String>::new());
    // What the setup left is no change of the agent's.
    let diff = format!("/v1/runs/{}/diff", run["runId"].as_str().unwrap());
    assert!(!service.client.get(&diff).await.text.contains("kept.txt"));
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
    let kept = again(None).await;
    assert_eq!(kept["error"]["code"], "WORKSPACE_FAILED", "{kept:#}");
    make(client, &json!({ "name": "e" })).await;
    let replaced = again(Some("new")).await;
    assert_eq!(replaced["status"], "succeeded", "{replaced:#}");
    let seen = repository.show(replaced["branch"].as_str().unwrap(), "seen.txt");
    assert_eq!(seen, "new\n");
}
