//! The bodies and agents that the documents show.

use std::collections::BTreeMap;

use awo_tests::receiver::{Answer, Receiver, ca_file};
use serde_json::{Value, json};

use super::blocks::{block_of, filled, path};
use super::reader::{Reader, found};

const PLAN: (&str, &str) = ("Makefile", "test:\n\ttest -e .awo/agent.sh\n");

fn body(page: &str, head: &str) -> Value {
    serde_json::from_str(&block_of(page, head)).unwrap()
}

/// Every member of the one is in the other, with the same value.
fn has(whole: &Value, part: &Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (name, part) in part {
                has(whole.get(name).unwrap_or(&Value::Null), part);
            }
        }
        (Value::Array(all), Value::Array(parts)) => {
            assert_eq!(all.len(), parts.len());
            all.iter()
                .zip(parts)
                .for_each(|(whole, part)| has(whole, part));
        }
        _ => assert_eq!(whole, part),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bodies_of_the_api_page_come_back_as_they_were_sent_and_are_used() {
    let reader = Reader::started(
        &[(".awo/agent.sh", "#!/bin/sh\ndate > NOTES.md\n"), PLAN],
        &[],
    );
    let client = &reader.local().client;
    let page = "docs/api.md";
    let template = body(page, "{\"id\": \"ours\"");
    let made = client.post("/v1/templates", &template).await;
    assert_eq!(made.status, 201, "{}", made.text);
    has(&client.get("/v1/templates/ours").await.body, &template);
    let source =
        json!({"type": "template", "templateId": "ours", "variables": {"name": "billing"}});
    let order = json!({"taskPrompt": "x", "workspaceSource": source});
    let order = client.post("/v1/work-orders", &order).await;
    assert_eq!(
        order.body["workspaceSource"],
        json!({"type": "git", "repository": "https://git.example.com/billing.git"}),
    );

    let profile = body(page, "{\"name\": \"careful\"");
    let made = client.post("/api/v1/profiles", &profile).await;
    assert_eq!(made.status, 201, "{}", made.text);
    has(
        &client.get("/api/v1/profiles/careful").await.body["data"],
        &profile,
    );
    let resolved = client
        .get("/api/v1/profiles/careful?resolve=true")
        .await
        .body;
    assert_eq!(
        resolved["data"]["loopStrategy"]["baseIterations"], 4,
        "{resolved}"
    );

    let plugin = body(page, "{\"id\": \"custom:licence-headers\"");
    let made = client.post("/api/v1/verification/plugins", &plugin).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let shown = client
        .get("/api/v1/verification/plugins/custom:licence-headers")
        .await;
    has(&shown.body["data"], &plugin);
    // Without that script in the repository it is an error of each run.
    reader.shell("awo submit --prompt x --harness careful --max-iterations 1 --follow");
    assert!(reader.ran("awo checks @latest").contains("Licence headers"));
    reader.ran("awo plugins delete custom:licence-headers");

    reader.ran("awo submit --prompt x --follow");
    let run = reader.newest_run().await;
    let curl = block_of(page, "curl -N");
    let key = client.key().unwrap();
    let id = run["runId"].as_str().unwrap();
    let stream = reader.ran(&format!(
        "KEY={key} URL={} RUN={id}\n{curl}",
        client.base_url()
    ));
    assert!(stream.contains("event: run.created\n") && stream.contains("event: run.completed\n"));
    let follow_up = block_of(page, "curl -s");
    let id = run["workOrderId"].as_str().unwrap();
    let made = reader.ran(&format!(
        "KEY={key} URL={} ID={id}\n{follow_up}",
        client.base_url()
    ));
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!((&made["turn"], &made["continues"]), (&json!(2), &json!(id)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_ones_own_is_asked_and_its_result_counts() {
    let result = block_of("docs/agents.md", "{\"summary\"");
    let agent = block_of("docs/agents.md", "exec my-agent");
    let reader = Reader::started(&[(".awo/agent.sh", &agent), PLAN], &[]);
    let own = format!("#!/bin/sh\ncat > TASK.md\ncat > \"$AWO_RESULT\" <<'END'\n{result}END\n");
    reader.program("my-agent", &own);
    reader.ran("awo submit --prompt 'Fix the parser' --follow");
    let run = reader.newest_run().await;
    assert!(reader.delivered(&run, "TASK.md").contains("Fix the parser"));
    let result: Value = serde_json::from_str(&result).unwrap();
    let usage = &result["usage"][0];
    let counted = &run["usage"]["byModel"][usage["model"].as_str().unwrap()];
    for name in ["inputTokens", "outputTokens"] {
        assert_eq!(counted[name], usage[name], "{run:#}");
    }
    let events = format!("/v1/runs/{}/events", run["runId"].as_str().unwrap());
    let events = reader.local().client.get(&events).await.body;
    let events = events["events"].as_array().unwrap();
    let finished = events
        .iter()
        .find(|event| event["type"] == "agent.finished");
    assert_eq!(finished.unwrap()["data"]["summary"], result["summary"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_that_asks_for_children_brings_together_what_they_did() {
    let agent = block_of("docs/agents.md", "# .awo/agent.sh");
    let plan = "tests: [{run: 'grep Bonjour greetings.txt'}]\n";
    let files = [
        (".awo/agent.sh", agent.as_str()),
        ("greetings.txt", "Bonjour\n"),
        ("verify.yaml", plan),
    ];
    let reader = Reader::started(&files, &[]);
    let made = reader.json("awo submit --prompt Greet --json");
    reader.ran(&format!("awo follow {}", made["runId"].as_str().unwrap()));
    let client = &reader.local().client;
    let run = client
        .get(&format!("/v1/runs/{}", made["runId"].as_str().unwrap()))
        .await
        .body;
    assert_eq!(
        reader.delivered(&run, "greetings.txt"),
        "Bonjour\nHello\nHallo\n"
    );
    let children = format!("/v1/work-orders?parentId={}", made["id"].as_str().unwrap());
    let children = client.get(&children).await.body;
    assert_eq!(children["total"], 2, "{children}");
    assert_eq!(client.get("/v1/work-orders").await.body["total"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_of_the_page_is_made_and_its_run_has_what_it_says() {
    let agent = "#!/bin/sh\necho \"${LICENCE_KEY:-none} $CI\" > SEEN.md\n";
    let plan = "tests: [{run: 'test ${#LICENCE_KEY} = 9 -a $CI = 1'}]\n";
    let lock = r#"{"name":"a","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"a","version":"1.0.0"}}}"#;
    let files = [
        (".awo/agent.sh", agent),
        ("verify.yaml", plan),
        ("package.json", r#"{"name":"a","version":"1.0.0"}"#),
        ("package-lock.json", lock),
    ];
    let reader = Reader::started(&files, &[]);
    for name in ["licence", "token"] {
        std::fs::write(reader.project().join(name), format!("a-{name}\n")).unwrap();
    }
    let block = block_of("docs/environments.md", "cat > node.json");
    let printed = reader.ran(&block);
    // What a registry names has a value to be set, too.
    for secret in ["LICENCE_KEY", "NPM_TOKEN"] {
        let hint = format!("awo environments set-secret node {secret}");
        assert!(printed.contains(&hint), "{printed}");
    }
    let sent = std::fs::read_to_string(reader.project().join("node.json")).unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let client = &reader.local().client;
    has(&client.get("/v1/environments/node").await.body, &sent);
    let run = reader.newest_run().await;
    assert_eq!(run["verified"], true, "{run:#}");
    assert_eq!(reader.delivered(&run, "SEEN.md"), "none 1\n");
    let audit = format!("/api/v1/audit/runs/{}", run["runId"].as_str().unwrap());
    let audit = client.get(&audit).await.body;
    assert_eq!(
        audit["data"]["environment"]["size"], sent["size"],
        "{audit:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_of_the_page_that_extends_another_is_made() {
    let reader = Reader::started(&[PLAN], &[]);
    reader.ran(&block_of("docs/environments.md", "cat > base.json"));
    let made = reader.local().client.get("/v1/environments/docs").await;
    assert_eq!(made.body["extends"], "base", "{}", made.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schedule_of_the_page_is_made_and_listed() {
    let reader = Reader::started(&[PLAN], &[]);
    let printed = reader.ran(&block_of("docs/schedules.md", "cat > nightly.json"));
    let sent = std::fs::read_to_string(reader.project().join("nightly.json")).unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let listed = reader.local().client.get("/v1/schedules").await.body;
    let made = &listed["schedules"][0];
    has(made, &sent);
    let id = made["id"].as_str().unwrap();
    assert_eq!(printed.matches(id).count(), 2, "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_collector_of_the_page_is_made_and_its_token_is_not_shown() {
    let reader = Reader::started(&[], &[]);
    let printed = reader.ran(&block_of("docs/telemetry.md", "cat > headers.json"));
    let listed = reader.local().client.get("/v1/webhooks").await.body;
    let names = json!({ "kind": "otlp", "headerNames": ["authorization"] });
    has(&listed["webhooks"][0], &names);
    let shown = format!("{printed}{listed}");
    assert!(printed.contains("authorization"), "{printed}");
    assert!(!shown.contains("the-token-of-your-collector"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outcomes_of_the_page_are_printed() {
    let reader = Reader::started(&[], &[]);
    let printed = reader.ran(&block_of("docs/outcomes.md", "awo outcomes"));
    assert!(printed.contains("2026-11-01 to 2026-12-01"), "{printed}");
    assert!(printed.contains("0 merged (0 as verified)"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_of_the_page_is_made_and_listed() {
    let reader = Reader::started(&[], &[]);
    let printed = reader.ran(&block_of("docs/inboxes.md", "awo inboxes create"));
    let listed = reader.local().client.get("/v1/inboxes").await.body;
    let made = &listed["inboxes"][0];
    has(
        made,
        &json!({ "name": "Our repositories", "kind": "github" }),
    );
    let id = made["id"].as_str().unwrap();
    assert!(printed.contains(&format!("/v1/hooks/{id}")), "{printed}");
    assert_eq!(printed.matches(id).count(), 3, "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trigger_of_the_page_is_made_and_listed() {
    let reader = Reader::started(&[], &[]);
    let printed = reader.ran(&block_of("docs/triggers.md", "INBOX="));
    let listed = reader.local().client.get("/v1/triggers").await.body;
    let made = &listed["triggers"][0];
    let sent = std::fs::read_to_string(reader.project().join("label.json")).unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    has(made, &sent);
    let id = made["id"].as_str().unwrap();
    assert!(printed.matches(id).count() >= 2, "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_of_the_page_lists_the_tools() {
    let reader = Reader::started(&[PLAN], &[]);
    let printed = reader.ran(&block_of("docs/mcp.md", "echo"));
    let answer: Value = serde_json::from_str(printed.trim()).unwrap();
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_with_a_named_index_of_the_page_is_made() {
    let reader = Reader::started(&[PLAN], &[]);
    reader.ran(&block_of("docs/environments.md", "cat > python.json"));
    let sent = std::fs::read_to_string(reader.project().join("python.json")).unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let made = reader.local().client.get("/v1/environments/python").await;
    has(&made.body, &sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_with_a_database_of_the_page_is_made_where_tasks_are_containers() {
    let reader = Reader::started(&[PLAN], &[("AWO_ENVIRONMENT_IMAGES", "ghcr.io/acme/")]);
    reader.ran(&block_of("docs/environments.md", "cat > pg.json"));
    let sent = std::fs::read_to_string(reader.project().join("pg.json")).unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let made = reader.local().client.get("/v1/environments/pg").await.body;
    has(&made, &sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_with_hosts_of_the_page_keeps_a_run_from_all_others() {
    if let Err(why) = awo_supervisor::check_loopback_only() {
        println!("skipped: {why}");
        return;
    }
    let agent = "#!/bin/sh\ncurl --silent --max-time 30 --write-out '%{http_connect}' https://other.test > SEEN.md\ntrue\n";
    let lock = r#"{"name":"a","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"a","version":"1.0.0"}}}"#;
    let files = [
        (".awo/agent.sh", agent),
        PLAN,
        ("package.json", r#"{"name":"a","version":"1.0.0"}"#),
        ("package-lock.json", lock),
    ];
    let reader = Reader::started(&files, &[]);
    reader.ran(&block_of("docs/environments.md", "cat > narrow.json"));
    reader.ran("awo submit --environment narrow --prompt x --follow");
    let run = reader.newest_run().await;
    assert_eq!(reader.delivered(&run, "SEEN.md"), "403", "{run:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_of_the_tutorial_is_tested_and_shows_its_deliveries() {
    let receiver = Receiver::start(&[Answer::Status(204)]).await;
    let settings = [
        ("AWO_WEBHOOK_ALLOW_LOOPBACK", "1"),
        ("AWO_WEBHOOK_CA_FILE", &ca_file()),
    ];
    let reader = Reader::started(
        &[(".awo/agent.sh", "#!/bin/sh\ndate > NOTES.md\n"), PLAN],
        &settings,
    );
    let block = block_of("docs/tutorial-webhook.md", "awo webhooks create");
    let lines = super::blocks::commands(&block);
    let [create, test, deliveries] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let made = reader.ran(&filled(
        create,
        &[("https://hooks.example.com/awo", &receiver.url)],
    ));
    assert!(made.contains("whsec_"), "{made}");
    let id = found(&made, "wh_");
    let tested = reader.ran(&filled(test, &[("wh_…", &id)]));
    assert!(tested.contains("delivered"), "{tested}");
    assert_eq!(receiver.has_heard(1).await[0].body["type"], "webhook.test");
    reader.ran("awo submit --prompt x --follow");
    receiver.has_heard(2).await;
    let list = format!("/v1/webhooks/{id}/deliveries");
    let done = |list: &Value| list["deliveries"][0]["status"] == "delivered";
    let limit = std::time::Duration::from_secs(60);
    reader.local().client.until(&list, limit, done).await;
    let shown = reader.ran(&filled(deliveries, &[("wh_…", &id)]));
    assert!(
        shown.contains("run.completed") && shown.contains("204"),
        "{shown}"
    );
}

#[test]
fn the_plan_with_a_virtual_environment_is_read_as_it_is_written() {
    let plan = block_of("docs/verification.md", "setup: [{name: deps");
    let reader = Reader::new(&[("verify.yaml", &plan), ("requirements.txt", "\n")]);
    let shown = reader.ran("awo verify --plan");
    for command in ["python3 -m venv .venv", ".venv/bin/python -m pytest -q"] {
        assert!(shown.contains(command), "{shown}");
    }
}

#[test]
fn the_headers_of_a_delivery_are_the_golden_ones() {
    let golden = std::fs::read_to_string(path("tests/golden/webhook_signatures.json")).unwrap();
    let block = block_of("docs/webhooks.md", "POST /your/path");
    let lines = block.lines().filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<&str, &str> = lines.collect();
    for name in ["webhook-signature", "X-Service-Signature"] {
        assert!(golden.contains(headers[name]), "{name}");
    }
}

#[test]
fn the_folders_of_the_architecture_are_there() {
    let block = block_of("ARCHITECTURE.md", "shared/domain/");
    let mut seen = 0;
    for line in block.lines().filter(|line| !line.starts_with(' ')) {
        let named = line.split_whitespace().next().unwrap();
        let named = named.split(['<', '{']).next().unwrap();
        assert!(path(named).exists(), "{named}");
        seen += 1;
    }
    assert!(seen > 15, "{block}");
}
