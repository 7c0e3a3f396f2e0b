//! What docs/finance.md says to type, click and request.

use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::blocks::{block_of, text};
use super::reader::Reader;

const PAGE: &str = "docs/finance.md";
/// It reports the usage of a model.
const AGENT: &str = "#!/bin/sh\ndate >> NOTES.md\ncat > \"$AWO_RESULT\" <<'END'\n\
    {\"usage\": [{\"model\": \"claude-sonnet-4-5\", \"inputTokens\": 12000, \"outputTokens\": 800}]}\nEND\n";
const FILES: [(&str, &str); 2] = [
    (".awo/agent.sh", AGENT),
    ("Makefile", "test:\n\ttest -e .awo/agent.sh\n"),
];

/// The page's days and months as those of the test.
struct Calendar(Vec<(&'static str, String)>);

impl Calendar {
    fn new(reader: &Reader) -> Calendar {
        let first = "$(date -u +%Y-%m-01)";
        let lines = reader.ran(&format!(
            "date -u +%F; date -u -d tomorrow +%F; date -u -d \"{first} -1 month\" +%F; \
             date -u -d {first} +%F; date -u -d \"{first} +1 month\" +%F; date -u +%Y-%m"
        ));
        let names = [
            "2026-11-20",
            "2026-11-21",
            "2026-10-01",
            "2026-11-01",
            "2026-12-01",
            "2026-11",
        ];
        Calendar(
            names
                .into_iter()
                .zip(lines.lines().map(str::to_owned))
                .collect(),
        )
    }

    fn of(&self, text: &str) -> String {
        let date = Regex::new(r"2026-\d\d(-\d\d)?").unwrap();
        let own = |found: &Captures<'_>| {
            let own = self.0.iter().find(|(name, _)| *name == &found[0]);
            own.map_or(found[0].to_owned(), |(_, own)| own.clone())
        };
        date.replace_all(text, own).into_owned()
    }
}

/// What stands in backticks in the rows of a chapter's tables.
fn rows(chapter: &str) -> Vec<Vec<String>> {
    let page = text(PAGE);
    let (_, rest) = page.split_once(&format!("## {chapter}\n")).unwrap();
    let chapter = rest.split("\n## ").next().unwrap();
    let rows = chapter
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'));
    rows.map(|row| {
        row.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    })
    .collect()
}

/// A service with a run that succeeded and one that failed, both of tenant acme, and a refund.
async fn spent() -> Reader {
    let reader = Reader::started(&FILES, &[]);
    let org = reader.local().org.as_str().to_owned();
    reader.operator_ran(&block_of(PAGE, "awo admin set-cost-labels").replace("org_…", &org));
    reader.ran("awo submit --prompt a --tenant acme --metadata team=red --follow");
    let run = reader.newest_run().await;
    let run = run["runId"].as_str().unwrap();
    reader.shell("awo submit --prompt b --tenant acme --metadata team=blue --max-iterations 1 --follow -- false");
    reader.newest_run().await;
    reader.operator_ran(&format!(
        "awo admin refund --org {org} --run {run} --credits 1"
    ));
    reader
}

/// The sums that every division of a period has in common.
fn sums(report: &Value) -> Value {
    let totals = &report["totals"];
    json!([
        totals["credits"],
        totals["refunds"],
        totals["modelCredits"],
        totals["computeCredits"]
    ])
}

fn credits(of: &Value) -> i64 {
    let micro = of.as_f64().unwrap() * 1e6;
    #[expect(clippy::cast_possible_truncation, reason = "credits of a test")]
    let micro = micro.round() as i64;
    micro
}

#[tokio::test(flavor = "multi_thread")]
async fn each_question_has_the_same_answer_by_command_and_by_request() {
    let reader = spent().await;
    let (calendar, client) = (Calendar::new(&reader), &reader.local().client);
    write_provider_report(&reader, &calendar);
    let questions = rows("Fifteen questions");
    assert_eq!(questions.len(), 15);
    let ledger = client.get("/v1/credits/usage").await.body;
    let amount = |kind: &str| -> i64 {
        let all = ledger["transactions"].as_array().unwrap().iter();
        all.filter(|one| one["type"] == kind)
            .map(|one| credits(&one["amount"]))
            .sum()
    };
    for (number, codes) in questions.iter().enumerate() {
        let code = |begin: &str| codes.iter().find(|code| code.starts_with(begin));
        let command = calendar.of(code("awo ").unwrap_or_else(|| panic!("{codes:?}")));
        let request = code("GET ").map(|request| calendar.of(&request["GET ".len()..]));
        let asked = client.get(&request.unwrap()).await;
        assert_eq!(asked.status, 200, "{}", asked.text);
        if command.contains("--out ") {
            reader.ran(&command);
            let file = std::fs::read_to_string(reader.project().join("focus.csv")).unwrap();
            assert_eq!(file, asked.text);
        } else if command.contains("reconcile") {
            assert!(reader.ran(&command).contains("agrees"));
        } else if command.contains("finance verify") {
            assert!(reader.ran(&command).contains("agree"));
            assert_eq!(asked.body["total"], 1, "{}", asked.text);
        } else {
            let command = format!("{} --json", command.trim_end_matches(" --json"));
            let shown = reader.json(&command);
            if shown.get("totals").is_some() {
                assert_eq!(sums(&shown), sums(&asked.body), "question {}", number + 1);
                let of_ledger = [amount("deduction"), amount("refund")];
                let of_report = ["credits", "refunds"].map(|name| credits(&shown["totals"][name]));
                // Of another month there is nothing.
                let expected = if number == 1 { [0, 0] } else { of_ledger };
                assert_eq!(of_report, expected, "question {}", number + 1);
            } else {
                for name in ["transactions", "balance", "available", "hash"] {
                    assert_eq!(
                        shown.get(name),
                        asked.body.get(name),
                        "question {}",
                        number + 1
                    );
                }
            }
        }
    }
}

/// What the provider would say of the same calls, as its API answers.
fn write_provider_report(reader: &Reader, calendar: &Calendar) {
    let day = calendar.of("2026-11-20");
    let page = |result: Value| {
        json!({"data": [{"starting_at": format!("{day}T00:00:00Z"), "results": [result]}]})
            .to_string()
    };
    let usage = page(json!({
        "uncached_input_tokens": 12_000, "cache_read_input_tokens": 0, "output_tokens": 800,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "model": "claude-sonnet-4-5-20250929",
    }));
    let cost = page(json!({
        "amount": "4.8", "currency": "USD", "cost_type": "tokens",
        "description": "Claude Sonnet 4.5", "model": "claude-sonnet-4-5-20250929",
    }));
    let both = format!("{usage}\n{cost}");
    for (name, content) in [
        ("usage.json", usage),
        ("cost.json", cost),
        ("report.json", both),
    ] {
        std::fs::write(reader.project().join(name), content).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_reports_and_statements_are_as_the_page_says() {
    let reader = spent().await;
    let (calendar, client) = (Calendar::new(&reader), &reader.local().client);
    write_provider_report(&reader, &calendar);
    let invoice = calendar.of(&block_of(PAGE, "awo finance reconcile"));
    assert!(reader.ran(&invoice).contains("agrees"));

    let mut requests = 0;
    for codes in rows("Reports") {
        for request in codes.iter().filter(|code| code.starts_with("/v1/")) {
            let report = client.get(&calendar.of(request)).await;
            assert_eq!(report.status, 200, "{}", report.text);
            assert!(
                credits(&report.body["totals"]["credits"]) > 0,
                "{request}: {}",
                report.text
            );
            requests += 1;
        }
    }
    assert_eq!(requests, 5);
    let report = "awo finance report --by label:team --bucket month --only tenant=acme";
    assert!(text(PAGE).contains(&format!("`{report}`")));
    let teams = reader.json(&format!("{report} --json"));
    assert_eq!(teams["rows"].as_array().unwrap().len(), 2, "{teams}");
    assert!(
        reader
            .ran(&format!("{report} --csv"))
            .contains("label:team")
    );

    for codes in rows("Statements and month close") {
        for code in codes.iter().filter(|code| code.starts_with("awo ")) {
            let command = calendar.of(code);
            let shown = reader.shell(&format!(
                "export AWO_DATA_DIR='{}'; {command}",
                reader.data()
            ));
            if command.contains("close") {
                // The month is still open.
                assert!(shown.err.contains("can be closed from"), "{shown:?}");
            } else {
                assert_eq!(shown.code, Some(0), "{command}: {shown:?}");
                assert!(!shown.out.is_empty(), "{command}");
            }
        }
    }
    let month = calendar.of("2026-11");
    let statement = reader.json(&format!("awo finance statements {month} --json"));
    let asked = client.get(&format!("/v1/statements/{month}")).await.body;
    assert_eq!(statement["hash"], asked["hash"]);
    let closing = credits(&asked["openingBalance"]) + credits(&asked["purchases"])
        - credits(&asked["deductions"])
        + credits(&asked["refunds"]);
    assert_eq!(closing, credits(&asked["closingBalance"]), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_budget_of_the_page_is_made_as_its_row_says() {
    let reader = spent().await;
    let client = &reader.local().client;
    let mut acme = String::new();
    for codes in rows("Budgets") {
        let command = codes[0].replace("bud_…", &acme);
        let shown = reader.ran(&command);
        let list = client.get("/v1/budgets").await.body;
        let newest = &list["budgets"][0];
        let words: Vec<&str> = command.split(' ').collect();
        let option = |name: &str| {
            words
                .iter()
                .position(|word| *word == name)
                .map(|at| words[at + 1])
        };
        match words.get(3) {
            None => assert!(shown.contains("no budgets"), "{shown}"),
            Some(&"create") => {
                assert_eq!(newest["name"].as_str(), option("--name"));
                assert_eq!(
                    newest["limitCredits"].to_string(),
                    option("--limit").unwrap()
                );
                assert_eq!(newest["onLimit"], option("--on-limit").unwrap_or("block"));
                assert_eq!(newest["period"], option("--period").unwrap_or("month"));
                assert_eq!(newest["scope"]["tenantId"].as_str(), option("--tenant"));
                assert_eq!(
                    newest["scope"].get("label").is_some(),
                    option("--label").is_some()
                );
                assert!(newest["spentCredits"].as_f64().unwrap() > 0.0, "{newest}");
                if option("--tenant").is_some() {
                    acme = newest["id"].as_str().unwrap().to_owned();
                }
            }
            Some(&"update") => {
                let budget = client.get(&format!("/v1/budgets/{acme}")).await.body;
                assert_eq!(
                    budget["limitCredits"].to_string(),
                    option("--limit").unwrap()
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(!acme.is_empty());
}
