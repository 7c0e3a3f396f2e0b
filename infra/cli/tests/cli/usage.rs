//! Usage by model, day and tenant, as tables and bars.

use serde_json::json;

use crate::call::at;
use crate::double::{Double, ReceivedRequest, Reply};

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

/// A report of costs.
fn report(seen: &ReceivedRequest) -> String {
    let by = if seen.target.contains("label%3Ateam") {
        "label:team"
    } else {
        "tenant"
    };
    let row = |name: &str, credits: f64, refunds: f64| json!({"group": {by: name}, "runs": 1, "failed": 0, "credits": credits, "refunds": refunds});
    let mut totals = row("", 45.0, 10.0);
    totals.as_object_mut().unwrap().remove("group");
    json!({
        "from": "2026-11-01", "to": "2026-12-01", "groupBy": by, "bucket": "none", "totals": totals,
        "rows": [row("(none)", 15.0, 0.0), row("acme", 30.0, 10.0)], "asOf": "2026-11-20T08:00:00.000Z", "hasMore": false,
    })
    .to_string()
}

async fn double() -> Double {
    Double::start(|seen: &ReceivedRequest, _| match seen.route().as_str() {
        "GET /v1/usage/report" => Reply::of(200, report(seen)),
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
async fn usage_by_tenant_and_by_label_is_what_the_report_says_was_charged() {
    let double = double().await;
    for by in ["tenant", "label:team"] {
        let period = ["--from", "2026-11-01", "--model", "gpt-4o"];
        let called = at(&double.url, &[&["usage", "--by", by], &period[..]].concat()).await;
        let (acme, nobody) = (row(&called.out, "acme"), row(&called.out, "(none)"));
        assert_eq!((acme.1, nobody.1), (24, 12), "{}", called.out);
        assert!(called.out.contains("45 credits"), "{}", called.out);
        let target = &double.seen().last().unwrap().target.clone();
        assert!(
            target.contains("from=2026-11-01") && target.contains("model=gpt-4o"),
            "{target}"
        );
        let shown = at(&double.url, &["usage", "--by", by, "--json"])
            .await
            .json();
        assert_eq!(shown["rows"][1]["group"], json!({ by: "acme" }));
    }
    for args in [
        &["--by", "label:"][..],
        &["--by", "week"],
        &["--by", "tenant", "--run", "@latest"],
    ] {
        let refused = at(&double.url, &[&["usage"], args].concat()).await;
        assert_eq!(refused.code, 2, "{refused:?}");
    }
}
