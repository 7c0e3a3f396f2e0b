//! Outcomes, as a table with totals.

use serde_json::{Value, json};

use crate::call::at;
use crate::double::{Double, ReceivedRequest, Reply};

const CSV: &str = "threads,withPullRequest\r\n5,3\r\n";

fn row(group: &Value, merged: u64, rate: Option<f64>, per_merged: Option<f64>) -> Value {
    json!({
        "group": group, "threads": 5, "withPullRequest": 3, "open": 1, "merged": merged, "closed": 1,
        "mergeRate": rate, "credits": 12.5, "creditsPerMerged": per_merged, "medianHoursToMerge": per_merged.map(|_| 2.25),
        "mergedAsVerified": merged,
    })
}

/// A report of two pages.
fn report(seen: &ReceivedRequest) -> String {
    let is_second = seen.target.contains("cursor=");
    let group = |name: &str| json!({ "repository": name });
    let rows = if is_second {
        vec![row(&group("https://b.example"), 0, None, None)]
    } else {
        vec![row(&group("https://a.example"), 1, Some(0.5), Some(12.5))]
    };
    let mut totals = row(&Value::Null, 1, Some(0.5), Some(25.0));
    totals.as_object_mut().unwrap().remove("group");
    let mut report = json!({
        "from": "2026-11-01", "to": "2026-12-01", "groupBy": "repository", "rows": rows, "totals": totals,
        "asOf": "2026-11-20T08:00:00.000Z", "hasMore": !is_second,
    });
    if !is_second {
        report["nextCursor"] = json!("c1");
    }
    report.to_string()
}

async fn double() -> Double {
    Double::start(|seen: &ReceivedRequest, _| match seen.route().as_str() {
        "GET /v1/outcomes" => match seen.headers.get("accept") {
            Some(kind) if kind == "text/csv" => Reply::of(200, CSV),
            _ => Reply::of(200, report(seen)),
        },
        other => panic!("{other}"),
    })
    .await
}

#[tokio::test]
async fn outcomes_are_a_table_of_all_pages_with_totals() {
    let double = double().await;
    let period = ["--from", "2026-11-01", "--to", "2026-12-01"];
    let args = [&["outcomes", "--by", "repository"][..], &period].concat();
    let called = at(&double.url, &args).await;
    for text in [
        "https://a.example",
        "https://b.example",
        "50.0 %",
        "3 with a pull request",
        "1 merged (1 as verified), 1 closed, 1 open",
        "2.2 h",
    ] {
        assert!(called.out.contains(text), "{text}: {}", called.out);
    }
    let target = &double.seen()[0].target.clone();
    assert!(
        target.contains("groupBy=repository") && target.contains("from=2026-11-01"),
        "{target}"
    );
    let called = at(&double.url, &["outcomes", "--csv"]).await;
    assert_eq!(called.out.trim_end(), CSV.trim_end());
    let shown = at(&double.url, &["outcomes", "--json"]).await.json();
    assert_eq!(shown["totals"]["mergeRate"], 0.5);
}
