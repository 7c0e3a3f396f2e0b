//! Credits and usage as a client sees them: every filter, every boundary of a period, and sums that
//! agree with the runs one by one.

use std::collections::{BTreeMap, BTreeSet};

use awo_domain::Timestamp;
use awo_domain::time::DAY_MS;
use awo_tests::client::Client;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

const MODELS: [&str; 3] = ["gpt-4o", "claude-sonnet-4-5", "=no price, \"yet\""];
/// Runs of the random story.
const RUNS: usize = 45;
/// Random questions about it.
const QUESTIONS: usize = 150;

/// Small, and the same on every machine.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }
}

async fn summary(client: &Client, query: &[(&str, String)]) -> Value {
    let answer = client.get(&with(query, "/api/v1/usage/summary")).await;
    assert_eq!(answer.status, 200, "{query:?}: {}", answer.text);
    answer.body["data"].clone()
}

pub fn with(query: &[(&str, String)], path: &str) -> String {
    let base = reqwest::Url::parse("http://h").unwrap();
    let mut url = base.join(path).unwrap();
    url.query_pairs_mut().extend_pairs(query);
    format!("{path}?{}", url.query().unwrap_or_default())
}

/// Ends a driven run, with what it used.
pub async fn end(run: &mut DrivenRun, outcome: Value, usage: Value) {
    run.iterate(1).await;
    let body = json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": usage });
    let finished = run.control("finish", &body).await;
    assert_eq!(finished.status, 200, "{}", finished.text);
}

fn failed() -> Value {
    json!({ "type": "failed", "code": "AGENT_FAILED", "message": "no" })
}

pub fn succeeded() -> Value {
    json!({ "type": "succeeded", "commit": "c1" })
}

/// Runs over several days, some of them again and again.
async fn random_story(service: &TestService, dice: &mut Dice) -> Vec<Value> {
    let (client, clock) = (&service.client, &service.service.cloud.clock);
    let mut failed_orders: Vec<Value> = Vec::new();
    for _ in 0..RUNS {
        let again = !failed_orders.is_empty() && dice.below(3) > 0;
        let work_order = if again {
            let old = failed_orders.remove(dice.below(failed_orders.len()));
            let path = format!("/api/v1/work-orders/{}/runs", old["id"].as_str().unwrap());
            let started = client.post(&path, &json!({})).await;
            assert_eq!(started.status, 201, "{}", started.text);
            old
        } else {
            client.post("/v1/work-orders", &order()).await.body
        };
        let mut run = DrivenRun::of(service, &work_order).await;
        let midnight = DAY_MS - clock.now().epoch_ms() % DAY_MS;
        let waits = [
            1,
            1_000,
            3_600_000,
            DAY_MS,
            midnight,
            midnight - 1,
            20_000_000,
        ];
        clock.advance(waits[dice.below(waits.len())]);
        let mut usage = Vec::new();
        for model in MODELS {
            if dice.below(2) == 0 {
                let mut used = json!({ "usage": {
                    "model": model,
                    "inputTokens": 1_000 + dice.below(1_000),
                    "outputTokens": dice.below(500),
                    "cachedInputTokens": dice.below(1_000),
                } });
                if model != MODELS[2] {
                    used["costUsdNano"] = json!(1 + dice.below(10_000_000));
                }
                usage.push(used);
            }
        }
        if dice.below(2) == 0 {
            end(&mut run, failed(), json!(usage)).await;
            failed_orders.push(work_order);
        } else {
            end(&mut run, succeeded(), json!(usage)).await;
        }
        run.free_slot().await;
    }
    client.get("/v1/runs?limit=100").await.body["runs"]
        .as_array()
        .unwrap()
        .clone()
}

fn completed(run: &Value) -> Timestamp {
    Timestamp::parse(run["completedAt"].as_str().unwrap()).unwrap()
}

fn close(a: &Value, b: f64) -> bool {
    (a.as_f64().unwrap() - b).abs() < 1e-9
}

/// The summary by going over all runs.
#[expect(clippy::too_many_lines, reason = "a sum for each field")]
fn check(answer: &Value, runs: &[Value], query: &[(&str, String)]) {
    let value = |name: &str| {
        query
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v.as_str())
    };
    let bound = |name: &str| value(name).map(|v| Timestamp::parse_bound(v).unwrap());
    let (from, until, model) = (bound("startDate"), bound("endDate"), value("model"));
    let used = |run: &Value, model: &str| run["usage"]["byModel"].get(model).is_some();
    let in_it = |run: &&Value| {
        from.is_none_or(|from| from <= completed(run))
            && until.is_none_or(|until| completed(run) < until)
            && model.is_none_or(|model| used(run, model))
            && value("runId").is_none_or(|id| run["runId"] == id)
            && value("workOrderId").is_none_or(|id| run["workOrderId"] == id)
    };
    let all: Vec<&Value> = runs.iter().filter(in_it).collect();
    let orders: BTreeSet<&str> = all
        .iter()
        .map(|r| r["workOrderId"].as_str().unwrap())
        .collect();
    let took = |run: &&Value| {
        let started = Timestamp::parse(run["startedAt"].as_str().unwrap()).unwrap();
        completed(run).ms_since(started)
    };
    let mut by_model: BTreeMap<&str, [f64; 5]> = BTreeMap::new();
    for run in &all {
        let models = run["usage"]["byModel"].as_object().into_iter().flatten();
        for (name, one) in models.filter(|(name, _)| model.is_none_or(|model| model == *name)) {
            let sums = by_model.entry(name).or_default();
            let names = [
                "inputTokens",
                "outputTokens",
                "cachedInputTokens",
                "costUsd",
            ];
            for (sum, name) in sums.iter_mut().zip(names) {
                *sum += one[name].as_f64().unwrap_or(0.0);
            }
            sums[4] += 1.0;
        }
    }
    let call = format!("{query:?}: {answer:#}");
    assert_eq!(answer["executionCount"], all.len(), "{call}");
    assert_eq!(answer["workOrderCount"], orders.len(), "{orders:?} {call}");
    assert_eq!(
        answer["totalDurationMs"],
        all.iter().map(took).sum::<i64>(),
        "{call}"
    );
    let models = answer["byModel"].as_object().unwrap();
    assert_eq!(models.len(), by_model.len(), "{call}");
    let names = [
        "inputTokens",
        "outputTokens",
        "cachedInputTokens",
        "costUsd",
        "executionCount",
    ];
    let totals = [
        "totalInputTokens",
        "totalOutputTokens",
        "totalCachedInputTokens",
        "totalCostUsd",
    ];
    for (i, name) in names.into_iter().enumerate() {
        for (model, sums) in &by_model {
            assert!(
                close(&models[*model][name], sums[i]),
                "{name} of {model} {call}"
            );
        }
        if let Some(total) = totals.get(i) {
            assert!(
                close(&answer[*total], by_model.values().map(|s| s[i]).sum()),
                "{total} {call}"
            );
        }
    }
    for (name, asked, there) in [
        ("periodStart", from, all.iter().map(|r| completed(r)).min()),
        ("periodEnd", until, all.iter().map(|r| completed(r)).max()),
    ] {
        if let Some(at) = asked.or(there) {
            assert_eq!(answer[name], at.to_string(), "{call}");
        }
    }
}

fn random_question(dice: &mut Dice, runs: &[Value]) -> Vec<(&'static str, String)> {
    let bound = |dice: &mut Dice| -> Option<Timestamp> {
        let at = completed(&runs[dice.below(runs.len())]);
        match dice.below(5) {
            0 => None,
            1 => Some(at.start_of_day()),
            2 => Some(at.start_of_day().plus_ms(DAY_MS)),
            3 => Some(at),
            _ => Some(at.plus_ms(1)),
        }
    };
    let (mut from, mut until) = (bound(dice), bound(dice));
    if matches!((from, until), (Some(from), Some(until)) if until < from) {
        (from, until) = (until, from);
    }
    let run = &runs[dice.below(runs.len())];
    let mut query = Vec::new();
    query.extend(from.map(|at| ("startDate", at.to_string())));
    query.extend(until.map(|at| ("endDate", at.to_string())));
    if dice.below(3) == 0 {
        query.push(("model", MODELS[dice.below(MODELS.len())].to_owned()));
    }
    match dice.below(6) {
        0 => query.push(("runId", run["runId"].as_str().unwrap().to_owned())),
        1 => query.push((
            "workOrderId",
            run["workOrderId"].as_str().unwrap().to_owned(),
        )),
        _ => {}
    }
    query
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_is_the_sum_of_its_runs_for_any_period_and_filter() {
    let service = quiet_service().await;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let runs = random_story(&service, &mut dice).await;
    assert_eq!(runs.len(), RUNS);
    check(&summary(&service.client, &[]).await, &runs, &[]);
    for _ in 0..QUESTIONS {
        let query = random_question(&mut dice, &runs);
        check(&summary(&service.client, &query).await, &runs, &query);
    }
    let dump = awo_tests::rules::Dump::of(&service.service.cloud, &service.org).await;
    assert_eq!(dump.broken_rules(1_000), Vec::<String>::new());
    csv_agrees(&service.client).await;
    let (_, stranger) = service.another_org(1).await;
    for (name, of) in [("runId", "runId"), ("workOrderId", "workOrderId")] {
        let query = [(name, runs[0][of].as_str().unwrap().to_owned())];
        let theirs = summary(&stranger, &query).await;
        assert_eq!(
            (&theirs["executionCount"], &theirs["byModel"]),
            (&json!(0), &json!({}))
        );
        assert_eq!(theirs["periodStart"], theirs["periodEnd"]);
    }
}

/// The table's columns add up to the summary's numbers.
async fn csv_agrees(client: &Client) {
    let whole = summary(client, &[]).await;
    let answer = client
        .send(
            "GET",
            "/api/v1/usage/summary",
            &[("accept", "text/csv")],
            Vec::new(),
        )
        .await;
    assert!(
        answer.header("content-type").starts_with("text/csv"),
        "{answer:?}"
    );
    // The one model whose name needs quotes.
    let text = answer
        .text
        .replace("\"'=no price, \"\"yet\"\"\"", "unpriced");
    let mut lines = text.split("\r\n");
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines
        .filter(|l| !l.is_empty())
        .map(|l| l.split(',').collect())
        .collect();
    assert!(rows.iter().all(|row| row.len() == header.len()), "{text}");
    let column = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let sum = |name: &str, of: &dyn Fn(&Vec<&str>) -> bool| -> f64 {
        let cells = rows
            .iter()
            .filter(|row| of(row))
            .map(|row| row[column(name)]);
        cells
            .filter(|cell| !cell.is_empty())
            .map(|cell| cell.parse::<f64>().unwrap())
            .sum()
    };
    let any = |_: &Vec<&str>| true;
    assert!(
        close(&whole["totalInputTokens"], sum("inputTokens", &any)),
        "{text}"
    );
    assert!(
        close(&whole["totalCostUsd"], sum("costUsd", &any)),
        "{text}"
    );
    assert!(
        close(&whole["totalDurationMs"], sum("durationMs", &any)),
        "{text}"
    );
    let of_days = |row: &Vec<&str>| row[1].is_empty();
    assert!(
        close(&whole["executionCount"], sum("executionCount", &of_days)),
        "{text}"
    );
    let unpriced = |row: &Vec<&str>| row[1] == "unpriced";
    let missing = sum("unpricedExecutions", &unpriced);
    assert!(
        close(&whole["byModel"][MODELS[2]]["executionCount"], missing),
        "{text}"
    );
    assert_eq!(whole["unpricedModels"], json!([MODELS[2]]));
}

#[tokio::test]
async fn a_run_counts_once_its_charge_is_final_and_not_if_it_never_had_compute() {
    let service = quiet_service().await;
    let client = &service.client;
    let waits = client.post("/v1/work-orders", &order()).await.body;
    let path = |order: &Value| format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap());
    let canceled = client.send("DELETE", &path(&waits), &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let order = client.post("/v1/work-orders", &order()).await.body;
    let run = DrivenRun::of(&service, &order).await;
    client.send("DELETE", &path(&order), &[], Vec::new()).await;
    let none = summary(client, &[]).await;
    assert_eq!(
        (&none["executionCount"], &none["workOrderCount"]),
        (&json!(0), &json!(0))
    );
    run.free_slot().await;
    let one = summary(client, &[]).await;
    assert_eq!(
        (&one["executionCount"], &one["workOrderCount"]),
        (&json!(1), &json!(1))
    );
    let read = client.get(&format!("/v1/runs/{}", run.run_id)).await.body;
    assert_eq!(one["periodStart"], read["completedAt"]);
}

#[tokio::test]
async fn bad_filters_are_named() {
    let service = quiet_service().await;
    for path in ["/api/v1/usage/summary", "/v1/credits/usage"] {
        for (query, name) in [
            ("startDate=yesterday", "startDate"),
            ("endDate=2026-13-01", "endDate"),
            ("endDate=2026-01-01T00:00:00", "endDate"),
            ("startDate=2026-01-02&endDate=2026-01-01", "endDate"),
            ("startDate=2026-01-02&startDate=2026-01-02", "startDate"),
            ("from=2026-01-02", "from"),
        ] {
            let answer = service.client.get(&format!("{path}?{query}")).await;
            assert_eq!(answer.status, 400, "{query}: {}", answer.text);
            assert!(answer.text.contains(name), "{query}: {}", answer.text);
        }
    }
    for bad in ["runId=run_x", "workOrderId=x", "tenantId=a", "limit=1"] {
        let answer = service
            .client
            .get(&format!("/api/v1/usage/summary?{bad}"))
            .await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text);
    }
    for bad in ["type=gift", "limit=0", "limit=101", "offset=10001"] {
        let answer = service
            .client
            .get(&format!("/v1/credits/usage?{bad}"))
            .await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text);
    }
}
