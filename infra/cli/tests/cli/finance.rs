//! Exports, reconciliation and the console's address.

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, ReceivedRequest, Reply};

const MONTH: [&str; 2] = ["--month", "2026-11"];

/// Our report of two days: what was used of one model of each provider, and compute.
fn report() -> String {
    let row = |day: &str, model: &str, tokens: i64, usd: f64| json!({"bucket": day, "group": {"model": model}, "inputTokens": tokens, "outputTokens": tokens / 10, "modelUsd": usd});
    let rows = [
        row("2026-11-19", "(compute)", 0, 0.0),
        row("2026-11-19", "claude-sonnet-4-5", 1_000, 0.0045),
        row("2026-11-20", "claude-sonnet-4-5", 2_000, 0.009),
        row("2026-11-20", "gpt-4o", 4_000, 0.014),
    ];
    json!({ "rows": rows }).to_string()
}

async fn double() -> Double {
    Double::start(|seen: &ReceivedRequest, _| match seen.route().as_str() {
        "GET /v1/usage/report" => Reply::of(200, report()),
        "GET /console/" => Reply::of(200, "<!doctype html>"),
        "GET /v1/exports/focus" => {
            if seen.target.contains("day=20") {
                Reply::of(
                    200,
                    "A,B\r\n1,2\r\n# incomplete: the export failed here\r\n",
                )
            } else {
                Reply::of(200, "A,B\r\n1,2\r\n3,4\r\n")
            }
        }
        other => panic!("{other}"),
    })
    .await
}

/// What Anthropic's usage report says of a day, as its API answers.
fn anthropic_usage(day: &str, tokens: i64) -> Value {
    json!({
        "data": [{
            "starting_at": format!("{day}T00:00:00Z"), "ending_at": "later",
            "results": [{
                "uncached_input_tokens": tokens - 300, "cache_read_input_tokens": 200,
                "cache_creation": {"ephemeral_1h_input_tokens": 40, "ephemeral_5m_input_tokens": 60},
                "output_tokens": tokens / 10, "server_tool_use": {"web_search_requests": 0},
                "model": "claude-sonnet-4-5-20250929", "api_key_id": null, "workspace_id": null,
                "service_tier": "standard", "context_window": "0-200k",
            }],
        }],
        "has_more": false, "next_page": null,
    })
}

/// What its cost report says: cents, as text.
fn anthropic_cost(day: &str, cents: &str) -> Value {
    json!({
        "data": [{
            "starting_at": format!("{day}T00:00:00Z"), "ending_at": "later",
            "results": [{
                "amount": cents, "currency": "USD", "cost_type": "tokens", "token_type": "output_tokens",
                "description": "Claude Sonnet 4.5 Usage - Output Tokens", "model": "claude-sonnet-4-5-20250929",
                "service_tier": "standard", "context_window": "0-200k", "workspace_id": null,
            }],
        }],
        "has_more": false, "next_page": null,
    })
}

/// What OpenAI's reports say of 20 November, by model and by line item.
fn openai(tokens: i64, dollars: [f64; 2]) -> [Value; 2] {
    let bucket = |results: Value| {
        json!({"object": "page", "has_more": false, "next_page": null, "data": [
            {"object": "bucket", "start_time": 1_795_132_800, "end_time": 1_795_219_200, "results": results},
        ]})
    };
    let item = |item: &str, value: f64| json!({"object": "organization.costs.result", "amount": {"value": value, "currency": "usd"}, "line_item": item, "project_id": null});
    [
        bucket(json!([{
            "object": "organization.usage.completions.result", "input_tokens": tokens, "output_tokens": tokens / 10,
            "input_cached_tokens": 800, "num_model_requests": 5, "model": "gpt-4o-2024-08-06", "project_id": null,
        }])),
        bucket(json!([
            item("gpt-4o-2024-08-06, input", dollars[0]),
            item("gpt-4o-2024-08-06, output", dollars[1])
        ])),
    ]
}

async fn reconciled(
    double: &Double,
    provider: &str,
    answers: &[Value],
    more: &[&str],
) -> (i32, Value) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.json");
    // Answers one after the other, as a shell's loop leaves them.
    let text: Vec<String> = answers.iter().map(Value::to_string).collect();
    std::fs::write(&file, text.join("\n")).unwrap();
    let file = [
        "--file",
        file.to_str().unwrap(),
        "--provider",
        provider,
        "--json",
    ];
    let args = [&["finance", "reconcile"][..], &MONTH, &file, more].concat();
    let called = at(&double.url, &args).await;
    assert!(called.code < 2, "{called:?}");
    (called.code, serde_json::from_str(&called.out).unwrap())
}

#[tokio::test]
async fn a_providers_report_that_agrees_is_exit_code_0_whatever_other_models_there_are() {
    let double = double().await;
    let answers = [
        anthropic_usage("2026-11-19", 1_000),
        anthropic_cost("2026-11-19", "0.45"),
        json!([
            anthropic_usage("2026-11-20", 2_000),
            anthropic_cost("2026-11-20", "0.9")
        ]),
        // Of another month.
        anthropic_usage("2026-12-01", 7_000),
    ];
    let (code, shown) = reconciled(&double, "anthropic", &answers, &["--tolerance", "0"]).await;
    assert_eq!(code, 0, "{shown:#}");
    let [model] = shown["models"].as_array().unwrap().as_slice() else {
        panic!("{shown:#}");
    };
    assert_eq!(model["model"], "claude-sonnet-4-5");
    assert_eq!(
        model["theirs"],
        json!({"inputTokens": 3_000, "outputTokens": 300, "usd": 0.0135})
    );
    assert_eq!(shown["days"].as_array().unwrap().len(), 2);
    let (code, shown) = reconciled(&double, "openai", &openai(4_000, [0.01, 0.004]), &[]).await;
    assert_eq!(
        (code, &shown["models"][0]["finding"]),
        (0, &json!("agrees")),
        "{shown:#}"
    );
}

#[tokio::test]
async fn dollars_that_differ_and_tokens_that_differ_are_distinguished_and_exit_code_1() {
    let double = double().await;
    let (code, shown) = reconciled(&double, "openai", &openai(4_000, [0.01, 0.006]), &[]).await;
    assert_eq!(
        (code, &shown["models"][0]["finding"]),
        (1, &json!("prices-differ")),
        "{shown:#}"
    );
    assert_eq!(shown["models"][0]["usdErrorPercent"], -12.5);
    let (code, _) = reconciled(
        &double,
        "openai",
        &openai(4_000, [0.01, 0.006]),
        &["--tolerance", "13"],
    )
    .await;
    assert_eq!(code, 0);
    let (code, shown) = reconciled(&double, "openai", &openai(8_000, [0.02, 0.008]), &[]).await;
    assert_eq!(
        (code, &shown["models"][0]["finding"]),
        (1, &json!("calls-elsewhere")),
        "{shown:#}"
    );
    assert_eq!(shown["models"][0]["tokensErrorPercent"], -50.0);
    let nothing = json!({"data": [], "has_more": false, "next_page": null});
    let (code, shown) = reconciled(&double, "anthropic", &[nothing], &[]).await;
    assert_eq!(
        (code, &shown["models"][0]["finding"]),
        (1, &json!("calls-unknown")),
        "{shown:#}"
    );
    // Without costs only tokens are compared.
    let [usage, _] = openai(4_000, [0.0, 0.0]);
    let (code, shown) = reconciled(&double, "openai", &[usage], &[]).await;
    assert_eq!(
        (code, &shown["models"][0]["usdErrorPercent"]),
        (0, &Value::Null),
        "{shown:#}"
    );
}

#[tokio::test]
async fn a_file_that_is_no_report_is_refused_with_a_reason() {
    let double = double().await;
    let dir = tempfile::tempdir().unwrap();
    for (text, why) in [
        ("nonsense", "is no JSON"),
        ("{}", "it has no data"),
        (
            r#"{"data":[{"start_time":1795132800,"results":[{"input_tokens":1}]}]}"#,
            "group_by=model",
        ),
        (
            r#"{"data":[{"start_time":1795132800,"results":[{"amount":{"value":1,"currency":"usd"},"line_item":null}]}]}"#,
            "group_by=line_item",
        ),
    ] {
        let file = dir.path().join("report.json");
        std::fs::write(&file, text).unwrap();
        let file = ["--provider", "openai", "--file", file.to_str().unwrap()];
        let called = at(
            &double.url,
            &[&["finance", "reconcile"][..], &MONTH, &file].concat(),
        )
        .await;
        assert_eq!(called.code, 2, "{called:?}");
        assert!(called.err.contains(why), "{called:?}");
    }
}

#[tokio::test]
async fn an_export_is_written_whole_or_not_at_all() {
    let double = double().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("focus.csv");
    let out = ["--out", path.to_str().unwrap()];
    let called = at(
        &double.url,
        &[&["finance", "export"][..], &MONTH, &out].concat(),
    )
    .await;
    assert_eq!(
        (called.code, called.out.trim()),
        (0, format!("2 rows in {}", path.display()).as_str())
    );
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "A,B\r\n1,2\r\n3,4\r\n"
    );
    std::fs::remove_file(&path).unwrap();
    let called = at(
        &double.url,
        &[&["finance", "export", "--day", "20"][..], &MONTH, &out].concat(),
    )
    .await;
    assert!(
        called.code != 0 && called.err.contains("broke off"),
        "{called:?}"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let called = at(&double.url, &[&["finance", "export"][..], &MONTH].concat()).await;
    assert_eq!(called.out, "A,B\r\n1,2\r\n3,4\r\n");
}

#[tokio::test]
async fn the_consoles_address_is_printed_without_a_key() {
    let double = double().await;
    let called = at(&double.url, &["console"]).await;
    assert!(
        called
            .out
            .starts_with(&format!("{}/console/", double.url.trim_end_matches('/'))),
        "{called:?}"
    );
    assert!(!called.out.contains("org_live_"));
    let shown = at(&double.url, &["console", "--json"]).await.json();
    assert!(shown["url"].as_str().unwrap().ends_with("/console/"));
}
