//! Usage by model, day and tenant, as tables and bars.

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, Reply, Seen};

const CSV: &str = "day,model,executionCount,durationMs,inputTokens,outputTokens,cachedInputTokens,costUsd,unpricedExecutions\r\n\
                   2026-11-19,,1,60000,,,,,\r\n\
                   2026-11-19,gpt-4o,1,,100,50,0,0.25,0\r\n\
                   2026-11-20,,2,60000,,,,,\r\n\
                   2026-11-20,gpt-4o,2,,200,100,0,0.5,0\r\n";

fn summary() -> String {
    let model = |cost: f64| json!({"inputTokens": 300, "outputTokens": 150, "cachedInputTokens": 0, "costUsd": cost, "executionCount": 3});
    let data = json!({
        "totalInputTokens": 600, "totalOutputTokens": 300, "totalCachedInputTokens": 0,
        "totalCostUsd": 0.75, "executionCount": 3, "workOrderCount": 2, "totalDurationMs": 125_000,
        "byModel": {"gpt-4o": model(0.5), "claude": model(0.25)},
        "periodStart": "2026-11-01T00:00:00.000Z", "periodEnd": "2026-12-01T00:00:00.000Z",
    });
    json!({"success": true, "data": data, "requestId": "r"}).to_string()
}

/// The ledger in two pages.
fn ledger(seen: &Seen) -> String {
    let entry = |id: u32, kind: &str, amount: f64, tenant: Option<&str>| {
        let mut entry = json!({"id": format!("txn_{id}"), "type": kind, "amount": amount, "createdAt": "2026-11-20T08:00:00.000Z"});
        if let Some(tenant) = tenant {
            entry["tenantId"] = json!(tenant);
        }
        entry
    };
    let page = match seen.target.contains("cursor=next") {
        false => {
            json!({"transactions": [entry(1, "deduction", 30.0, Some("acme")), entry(2, "refund", 10.0, Some("acme"))],
            "total": 4, "limit": 100, "offset": 0, "nextCursor": "next"})
        }
        true => {
            json!({"transactions": [entry(3, "deduction", 15.0, None), entry(4, "purchase", 500.0, None)],
            "total": 4, "limit": 100, "offset": 0})
        }
    };
    page.to_string()
}

async fn double() -> Double {
    Double::start(|seen: &Seen, _| match seen.route().as_str() {
        "GET /v1/credits/usage" => Reply::of(200, ledger(seen)),
        "GET /api/v1/usage/summary" => match seen.headers.get("accept") {
            Some(kind) if kind == "text/csv" => Reply::of(200, CSV),
            _ => Reply::of(200, summary()),
        },
        other => panic!("{other}"),
    })
    .await
}

/// The line that begins with a name, and how many cells its bar has.
fn row<'a>(out: &'a str, name: &str) -> (&'a str, usize) {
    let line = out.lines().find(|line| line.trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {out}"));
    (line, line.chars().filter(|c| *c == '█').count())
}

#[tokio::test]
async fn usage_is_a_table_with_bars_by_model_or_by_day() {
    let double = double().await;
    let period = ["--from", "2026-11-01", "--to", "2026-12-01"];
    let called = at(&double.url, &[&["usage"][..], &period].concat()).await;
    let (dear, cheap) = (row(&called.out, "gpt-4o"), row(&called.out, "claude"));
    assert_eq!((dear.1, cheap.1), (24, 12), "{}", called.out);
    assert!(called.out.contains("0.75 USD") && called.out.contains("2 min 5 s"));
    assert!(double.seen()[0].target.contains("startDate=2026-11-01"));
    let called = at(&double.url, &["usage", "--by", "day"]).await;
    let (first, second) = (
        row(&called.out, "2026-11-19"),
        row(&called.out, "2026-11-20"),
    );
    assert_eq!((first.1, second.1), (12, 24), "{}", called.out);
    let called = at(&double.url, &["usage", "--csv"]).await;
    assert_eq!(called.out.trim_end(), CSV.trim_end());
}

#[tokio::test]
async fn usage_by_tenant_adds_up_the_whole_ledger() {
    let double = double().await;
    let called = at(
        &double.url,
        &["usage", "--by", "tenant", "--from", "2026-11-01"],
    )
    .await;
    let (acme, nobody) = (row(&called.out, "acme"), row(&called.out, "(no tenant)"));
    assert_eq!((acme.1, nobody.1), (24, 12), "{}", called.out);
    assert!(called.out.contains("35 credits"), "{}", called.out);
    assert!(
        double
            .seen()
            .iter()
            .all(|seen| seen.target.contains("startDate=2026-11-01"))
    );
    let shown = at(&double.url, &["usage", "--by", "tenant", "--json"])
        .await
        .json();
    let acme = json!({"tenantId": "acme", "runs": 1, "credits": 30.0, "refunded": 10.0});
    let tenants = shown["tenants"].as_array().unwrap();
    assert!(tenants.contains(&acme), "{shown}");
    assert_eq!(tenants[0]["tenantId"], Value::Null);
    let refused = at(
        &double.url,
        &["usage", "--by", "tenant", "--model", "gpt-4o"],
    )
    .await;
    assert_eq!(refused.code, 2, "{refused:?}");
}
