//! The FOCUS export: its rows are the ledger's, byte for byte the same at each export, and tools of other
//! people read them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use awo_domain::TransactionId;
use awo_domain::cost::labels::CostLabels;
use awo_domain::cost::report::month;
use awo_domain::money::MicroCredits;
use awo_domain::{Timestamp, api_key::Scope};
use awo_store::ledger::credits::Booking;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::cost_reports::{of_ledger, report, story};
use crate::http_api::{order, quiet_service};
use crate::usage::{Dice, end, succeeded};

const DAY_MS: i64 = 86_400_000;
/// More than any story here lasts.
const MAX_MONTHS: u32 = 12;
/// Rules of FOCUS that the validator finds kept at least.
const LEAST_RULES: u64 = 250;
/// It asks of each row that its invoice is named, and, as another branch of the same rule, that it is not.
const CONTRADICTION: &str = "InvoiceId-C-005-C";

/// An export's text.
async fn export(service: &TestService, query: &str) -> String {
    let path = format!("/v1/exports/focus?{query}");
    let answer = service.client.get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("text/csv"));
    answer.text
}

/// The cells of a line of CSV.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut last, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => last.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut last)),
            letter => last.push(letter),
        }
    }
    cells.push(last);
    cells
}

/// Its rows, by the columns' names.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
    let header = cells(lines.next().unwrap());
    let row = |line: &str| {
        let cells = cells(line);
        assert_eq!(cells.len(), header.len(), "{line}");
        header.iter().cloned().zip(cells).collect()
    };
    lines.map(row).collect()
}

/// Credits as micro-credits, exact.
fn micro(text: &str) -> i64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    assert!(part.len() <= 6, "{text}");
    format!("{whole}{part:0<6}").parse().unwrap()
}

/// What rows of usage cost in credits.
fn usage(rows: &[BTreeMap<String, String>]) -> i64 {
    let usage = rows.iter().filter(|row| row["ChargeCategory"] == "Usage");
    usage
        .map(|row| micro(&row["PricingCurrencyEffectiveCost"]))
        .sum()
}

/// The first moments of the months that the story lasted.
fn months(began: Timestamp, ended: Timestamp) -> Vec<Timestamp> {
    let months = (0..MAX_MONTHS).map(|later| month(began, later));
    months.take_while(|month| *month <= ended).collect()
}

fn name(month: Timestamp) -> String {
    month.day().chars().take("2026-11".len()).collect()
}

/// All months of a story.
async fn exports(service: &TestService, months: &[Timestamp]) -> Vec<String> {
    let mut texts = Vec::new();
    for month in months {
        texts.push(export(service, &format!("month={}", name(*month))).await);
    }
    texts
}

/// A run, and a refund of it when its month is over.
async fn refund_a_month_later(service: &TestService) {
    let (cloud, store) = (
        &service.service.cloud,
        service.service.cloud.store().unwrap(),
    );
    let made = service.client.post("/v1/work-orders", &order()).await;
    let mut run = DrivenRun::of(service, &made.body).await;
    cloud.clock.advance(61_000);
    end(&mut run, succeeded(), json!([])).await;
    cloud.clock.advance(32 * DAY_MS);
    let now = cloud.clock.now();
    let id = TransactionId::new(now, cloud.mint.random(now));
    let of = (MicroCredits::from_micro(7_001), &Booking::default());
    let work = awo_store::ledger::refunds::ChargedWork::Run(run.run_id.clone());
    let refunded = store.refund(&service.org, &id, &work, of, now);
    refunded.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_each_month_and_day_are_the_ledgers_and_never_change() {
    let service = quiet_service().await;
    let (cloud, mut dice) = (&service.service.cloud, Dice(0x51ed_270b_9f64_1d2f));
    let store = cloud.store().unwrap();
    service.service.sweep().await.unwrap();
    let began = cloud.clock.now();
    story(&service, &mut dice).await;
    refund_a_month_later(&service).await;
    let months = months(began, cloud.clock.now());
    assert!(months.len() > 1, "the story lasts over the end of a month");
    let before = exports(&service, &months).await;
    for (month_began, text) in months.iter().zip(&before) {
        let (from, to) = (month_began.day(), month(*month_began, 1).day());
        let all = rows(text);
        assert_eq!(usage(&all), of_ledger(&service, &from, &to).await, "{from}");
        // The same day by day, row by row.
        let mut days = text.lines().next().unwrap().to_owned() + "\r\n";
        for day in 0..31 {
            let at = month_began.plus_ms(day * DAY_MS);
            if at >= month(*month_began, 1) {
                break;
            }
            let query = format!("month={}&day={:02}", name(*month_began), day + 1);
            let of_day = export(&service, &query).await;
            let next = at.plus_ms(DAY_MS).day();
            assert_eq!(
                usage(&rows(&of_day)),
                of_ledger(&service, &at.day(), &next).await
            );
            days += of_day.split_once("\r\n").unwrap().1;
        }
        assert_eq!(&days, text);
        for row in &all {
            assert!(
                row["ChargePeriodStart"].starts_with(&name(*month_began)),
                "{row:?}"
            );
            assert_eq!(row["BillingPeriodStart"], format!("{from}T00:00:00Z"));
        }
    }
    let all: Vec<_> = before.iter().flat_map(|text| rows(text)).collect();
    let corrections = all.iter().filter(|row| row["ChargeClass"] == "Correction");
    assert!(
        corrections.count() > 0,
        "a refund of a run of the month before"
    );
    // Neither sums nor another price of a credit change what was exported.
    while store
        .add_costs(&service.org, cloud.clock.now())
        .await
        .unwrap()
    {}
    let price = MicroCredits::from_credits(321);
    store
        .note_credit_price(price, cloud.clock.now())
        .await
        .unwrap();
    assert_eq!(exports(&service, &months).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_call_things_stays_text_and_purchases_have_their_price() {
    let service = quiet_service().await;
    let (client, cloud) = (&service.client, &service.service.cloud);
    let store = cloud.store().unwrap();
    let labels = CostLabels::declare(&["team".to_owned()], &[]).unwrap();
    store
        .declare_cost_labels(&service.org, &labels)
        .await
        .unwrap();
    let hostile = "=HYPERLINK(\"http://x\",\"a, b\")";
    let mut body = order();
    body["tenantContext"] = json!({ "tenantId": hostile });
    body["metadata"] = json!({ "team": hostile });
    let made = client.post("/v1/work-orders", &body).await;
    let mut run = DrivenRun::of(&service, &made.body).await;
    cloud.clock.advance(61_000);
    let used = json!({ "model": "+1", "inputTokens": 1_000, "outputTokens": 10 });
    end(
        &mut run,
        succeeded(),
        json!([{ "usage": used, "costUsdNano": 5_000_000 }]),
    )
    .await;
    let now = cloud.clock.now();
    let id = TransactionId::new(now, cloud.mint.random(now));
    let booking = Booking {
        reference: Some("@INV-1".to_owned()),
        ..Booking::default()
    };
    let amount = MicroCredits::from_credits(250);
    store
        .grant(&service.org, &id, amount, &booking)
        .await
        .unwrap();
    let text = export(&service, &format!("month={}", name(now))).await;
    let rows = rows(&text);
    for row in &rows {
        for (column, cell) in row {
            let formula = cell.starts_with(['=', '+', '@', '\t']);
            assert!(!formula, "{column} is {cell}");
        }
    }
    let charged = rows
        .iter()
        .find(|row| row["SkuMeter"] == "Input Tokens")
        .unwrap();
    assert_eq!(charged["SubAccountId"], format!("'{hostile}"));
    assert_eq!(charged["ConsumedQuantity"], "1000.0");
    let tags: Value = serde_json::from_str(&charged["Tags"]).unwrap();
    assert_eq!(tags, json!({ "team": hostile }));
    let bought: Vec<_> = rows
        .iter()
        .filter(|row| row["ChargeCategory"] == "Purchase")
        .collect();
    let last = bought.last().unwrap();
    assert_eq!(
        (
            last["BilledCost"].as_str(),
            last["PricingQuantity"].as_str()
        ),
        ("2.5", "250.0")
    );
    assert_eq!(last["x_Reference"], "'@INV-1");
}

#[tokio::test]
async fn an_export_that_cannot_be_is_400_and_says_which_parameter() {
    let service = quiet_service().await;
    for (query, path) in [
        ("", "month"),
        ("month=2026-13", "month"),
        ("month=2026-11-20", "month"),
        ("month=2026-11&day=31", "day"),
        ("month=2026-11&day=7", "day"),
        ("month=2026-11&format=json", "format"),
    ] {
        let answer = service
            .client
            .get(&format!("/v1/exports/focus?{query}"))
            .await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text);
        let errors = answer.body["error"]["details"]["errors"]
            .as_array()
            .unwrap();
        assert!(
            errors.iter().any(|error| error["path"] == path),
            "{query}: {}",
            answer.text
        );
    }
    let none = service.key(&[Scope::RunsRead], None).await;
    assert_eq!(
        none.get("/v1/exports/focus?month=2026-11").await.status,
        403
    );
    assert_eq!(export(&service, "month=2020-01").await.lines().count(), 1);
}

/// What tools of other people say of an export; none where they are not installed.
fn checked(file: &Path) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let python = root.join(".venv/focus/bin/python");
    if !python.is_file() {
        let test = "focus::tools_of_other_people_read_an_export_and_count_the_same";
        let line =
            format!("\nnot shown: {test}, since `make .venv/focus/.ready` did not install it\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    let script = root.join("tests/focus/check.py");
    let done = Command::new(python).arg(script).arg(file).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
    Some(serde_json::from_slice(&done.stdout).unwrap())
}

/// The rows that a query of DuckDB gave: a name, none for rows without one, and micro-credits.
fn sums(of: &Value) -> BTreeMap<String, i64> {
    let row = |row: &Value| {
        let name = row[0].as_str().unwrap_or("(none)").to_owned();
        (name, micro(row[1].as_str().unwrap()))
    };
    of.as_array().unwrap().iter().map(row).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_other_people_read_an_export_and_count_the_same() {
    let service = quiet_service().await;
    let (cloud, mut dice) = (&service.service.cloud, Dice(0x1234_5678_9abc_def1));
    let began = cloud.clock.now();
    story(&service, &mut dice).await;
    let months = months(began, cloud.clock.now());
    let text = exports(&service, &months[..1]).await.remove(0);
    let file = service.dir.path().join("focus.csv");
    std::fs::write(&file, &text).unwrap();
    let Some(found) = checked(&file) else {
        return;
    };
    let rules = &found["validator"];
    let failed = rules["failed"].as_array().unwrap().iter();
    let mut failed = failed.filter(|rule| !rule.as_str().unwrap().contains(CONTRADICTION));
    assert_eq!(failed.next(), None, "{rules:#}");
    assert!(rules["passed"].as_u64().unwrap() > LEAST_RULES, "{rules:#}");
    let toolkit = &found["toolkit"];
    let count = rows(&text).len();
    assert_eq!(toolkit["detected"]["confidence"], "HIGH", "{toolkit:#}");
    assert_eq!(toolkit["rows"], count, "{toolkit:#}");
    let sql = &found["duckdb"];
    assert_eq!(sql["rows"][0][0], count.to_string());
    let (from, to) = (months[0].day(), month(months[0], 1).day());
    let ledger = of_ledger(&service, &from, &to).await;
    assert_eq!(micro(sql["usage"][0][0].as_str().unwrap()), ledger);
    for (by, query) in [
        ("tenant", "byTenant"),
        ("label:team", "byTeam"),
        ("model", "byModel"),
    ] {
        let wanted = [
            ("from", from.clone()),
            ("to", to.clone()),
            ("groupBy", by.to_owned()),
        ];
        let report = report(&service, &wanted).await;
        let net = |row: &Value| {
            let credits = |name: &str| MicroCredits::from_decimal(row[name].as_f64().unwrap());
            credits("credits").unwrap().micro() - credits("refunds").unwrap().micro()
        };
        let shown = |row: &Value| {
            let name = row["group"][by]
                .as_str()
                .unwrap()
                .replace("(compute)", "(none)");
            // As a spreadsheet may have it.
            let formula = name.starts_with('=') && by != "label:team";
            (if formula { format!("'{name}") } else { name }, net(row))
        };
        let report: BTreeMap<String, i64> = report["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(shown)
            .collect();
        let nonzero = |of: BTreeMap<String, i64>| of.into_iter().filter(|(_, micro)| *micro != 0);
        assert!(
            nonzero(sums(&sql[query])).eq(nonzero(report)),
            "{by}: {sql:#}"
        );
    }
}
