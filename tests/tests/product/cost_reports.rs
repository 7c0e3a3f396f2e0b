//! Cost reports agree with the ledger to the micro-credit, under every grouping and whether or not
//! their records were added to sums.

use awo_domain::TransactionId;
use awo_domain::cost::labels::CostLabels;
use awo_domain::money::MicroCredits;
use awo_store::ledger::credits::Booking;
use awo_tests::crash_part;
use awo_tests::driven::DrivenRun;
use awo_tests::faults::Fault;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use awo_tests::world::World;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};
use crate::story::Step::{Claim, Create, Dispatch, Finish, Report, TaskStopped};
use crate::story::Story;
use crate::usage::{Dice, end, succeeded, with};

const MODELS: [&str; 3] = ["gpt-4o", "claude-sonnet-4-5", "=no price, \"yet\""];
const GROUPS: [&str; 9] = [
    "tenant",
    "tenantUser",
    "repository",
    "agent",
    "harness",
    "key",
    "outcome",
    "label:team",
    "label:cost centre",
];
const HOUR_MS: i64 = 3_600_000;
const RUNS: usize = 30;
const QUESTIONS: usize = 60;
/// More calls than any sweep here makes.
const MAX_CALLS: u32 = 60;
/// More than one transaction takes, and more than any test has.
const ADDITIONS: usize = 50;

/// Runs of several tenants, models and labels over some weeks, and refunds of them.
pub async fn story(service: &TestService, dice: &mut Dice) {
    let (client, cloud) = (&service.client, &service.service.cloud);
    let store = cloud.store().unwrap();
    let labels = ["team", "cost centre"].map(str::to_owned);
    let labels = CostLabels::declare(&labels, &[]).unwrap();
    store
        .declare_cost_labels(&service.org, &labels)
        .await
        .unwrap();
    for nth in 0..RUNS {
        let mut body = order();
        let hold = [1, 1_000][dice.below(2)];
        body["limits"] = json!({ "maxCredits": hold });
        if dice.below(3) > 0 {
            body["tenantContext"] = json!({ "tenantId": format!("t{}", dice.below(3)) });
            if dice.below(2) > 0 {
                body["tenantContext"]["tenantUserId"] = json!(format!("u{}", dice.below(2)));
            }
        }
        if dice.below(3) > 0 {
            body["metadata"] = json!({ "team": format!("#{}", dice.below(3)), "other": "x" });
        }
        let made = client.post("/v1/work-orders", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let mut run = DrivenRun::of(service, &made.body).await;
        let minutes = i64::try_from(1 + dice.below(40)).unwrap();
        cloud.clock.advance(minutes * 61_007);
        let mut usage = Vec::new();
        for model in &MODELS[..dice.below(4)] {
            let tokens = 1 + dice.below(90_000);
            let used = json!({ "model": model, "inputTokens": tokens, "outputTokens": tokens / 7 });
            let mut priced = json!({ "usage": used });
            if *model != MODELS[2] {
                priced["costUsdNano"] = json!(1 + dice.below(900_000_000));
            }
            usage.push(priced);
        }
        let failed = json!({ "type": "failed", "code": "AGENT_FAILED", "message": "no" });
        let outcome = if dice.below(3) > 0 {
            succeeded()
        } else {
            failed
        };
        end(&mut run, outcome, json!(usage)).await;
        cloud.clock.advance(minutes * HOUR_MS);
        if nth % 4 == 0 {
            let now = cloud.clock.now();
            let id = TransactionId::new(now, cloud.mint.random(now));
            let of = (MicroCredits::from_micro(7_003), &Booking::default());
            let work = awo_store::ledger::refunds::ChargedWork::Run(run.run_id.clone());
            let refunded = store.refund(&service.org, &id, &work, of, now).await;
            refunded.unwrap();
        }
    }
}

/// Micro-credits, exact: the text has at most six places.
fn micro(value: &Value) -> i64 {
    let micro = value.as_f64().unwrap() * 1e6;
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^53")]
    let whole = micro.round() as i64;
    whole
}

/// Credits less refunds of a period, as the ledger has them.
pub async fn of_ledger(service: &TestService, from: &str, to: &str) -> i64 {
    let mut sum = 0;
    let period = format!("startDate={from}&endDate={to}&limit=100");
    let answer = service
        .client
        .get(&format!("/v1/credits/usage?{period}"))
        .await;
    assert!(
        answer.body["total"].as_u64().unwrap() <= 100,
        "{}",
        answer.text
    );
    for entry in answer.body["transactions"].as_array().unwrap() {
        match entry["type"].as_str().unwrap() {
            "deduction" => sum += micro(&entry["amount"]),
            "refund" => sum -= micro(&entry["amount"]),
            _ => {}
        }
    }
    sum
}

pub async fn report(service: &TestService, query: &[(&str, String)]) -> Value {
    let answer = service.client.get(&with(query, "/v1/usage/report")).await;
    assert_eq!(answer.status, 200, "{query:?}: {}", answer.text);
    let mut body = answer.body;
    assert!(body["asOf"].is_string());
    body.as_object_mut().unwrap().remove("asOf");
    body
}

fn net(of: &Value) -> i64 {
    micro(&of["credits"]) - micro(&of["refunds"])
}

/// A day of the story, as its number from the first.
fn day(service_began: awo_domain::Timestamp, days: usize) -> String {
    let day_ms = 24 * HOUR_MS;
    service_began
        .plus_ms(day_ms * i64::try_from(days).unwrap())
        .day()
}

/// What is asked, and whether it is filtered.
type Question = (Vec<(&'static str, String)>, bool);

/// Random questions about the days from the first on.
fn questions(began: awo_domain::Timestamp, days: usize, dice: &mut Dice) -> Vec<Question> {
    let mut questions = Vec::new();
    for _ in 0..QUESTIONS {
        let (a, b) = (dice.below(days), dice.below(days));
        let moment = ["", "T07:30:00.500Z"][dice.below(2)];
        let mut query = vec![
            ("from", format!("{}{moment}", day(began, a.min(b)))),
            ("to", day(began, a.max(b) + 1)),
            ("bucket", ["none", "day", "month"][dice.below(3)].to_owned()),
        ];
        let by = GROUPS[dice.below(GROUPS.len())];
        let group = ["model".to_owned(), by.to_owned(), format!("model,{by}")];
        query.push(("groupBy", group[dice.below(3)].clone()));
        let filter = match dice.below(6) {
            0 => Some(("tenant", "t1")),
            1 => Some(("model", MODELS[0])),
            2 => Some(("label:team", "#1")),
            3 => Some(("label:team", "(none)")),
            _ => None,
        };
        query.extend(filter.map(|(name, value)| (name, value.to_owned())));
        query.push(("limit", "100".to_owned()));
        questions.push((query, filter.is_some()));
    }
    questions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_grouping_agrees_with_the_ledger_before_and_after_costs_are_added_up() {
    let service = quiet_service().await;
    let (cloud, mut dice) = (&service.service.cloud, Dice(0x2545_f491_4f6c_dd1d));
    let began = cloud.clock.now();
    story(&service, &mut dice).await;
    let days = usize::try_from(cloud.clock.now().ms_since(began) / (24 * HOUR_MS)).unwrap() + 2;
    let questions = questions(began, days, &mut dice);
    let mut before = Vec::new();
    for (query, is_filtered) in &questions {
        let answer = report(&service, query).await;
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(answer["hasMore"], false, "{query:?}");
        let sum: i64 = rows.iter().map(net).sum();
        assert_eq!(sum, net(&answer["totals"]), "{query:?}: {answer:#}");
        if !is_filtered {
            let ledger = of_ledger(&service, &query[0].1, &query[1].1).await;
            assert_eq!(sum, ledger, "{query:?}: {answer:#}");
        }
        before.push(answer);
    }
    // A part of them, then all: no answer changes.
    let store = cloud.store().unwrap();
    for all in [false, true] {
        for _ in 0..ADDITIONS {
            let more = store
                .add_costs(&service.org, cloud.clock.now())
                .await
                .unwrap();
            if !all || !more {
                break;
            }
        }
        for ((query, _), before) in questions.iter().zip(&before) {
            assert_eq!(&report(&service, query).await, before, "{query:?}");
        }
    }
    assert!(
        !store
            .add_costs(&service.org, cloud.clock.now())
            .await
            .unwrap()
    );
    cloud.clock.advance(HOUR_MS);
    for ((query, _), before) in questions.iter().zip(&before) {
        assert_eq!(&report(&service, query).await, before, "{query:?}");
    }
    let dump = Dump::of(cloud, &service.org).await;
    assert!(dump.partition("#costnew").is_empty() && !dump.partition("#costsum").is_empty());
    let broken = dump.broken_rules(1_000);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "one story, in its order")]
async fn filters_rows_pages_and_csv_of_a_report_say_the_same() {
    let service = quiet_service().await;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    story(&service, &mut dice).await;
    let all = [
        ("from", "2020-01-01".to_owned()),
        ("to", "2040-01-01".to_owned()),
    ];
    let ask = |more: &[(&'static str, &str)]| {
        let more = more
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        all.iter().cloned().chain(more).collect::<Vec<_>>()
    };
    for by in GROUPS {
        let answer = report(&service, &ask(&[("groupBy", by)])).await;
        assert_eq!(answer["groupBy"], by);
        let mut runs = 0;
        for row in answer["rows"].as_array().unwrap() {
            runs += row["runs"].as_i64().unwrap();
            let value = row["group"][by].as_str().unwrap();
            let mut filtered = ask(&[("groupBy", "outcome"), (by, value)]);
            if let Some(tenant) = row["group"].get("tenant").filter(|_| by == "tenantUser") {
                filtered.push(("tenant", tenant.as_str().unwrap().to_owned()));
            }
            let mut totals = report(&service, &filtered).await["totals"].clone();
            let own = totals.as_object_mut().unwrap();
            own.insert("group".to_owned(), row["group"].clone());
            assert_eq!(&totals, row, "{by} {value}");
        }
        assert_eq!(runs, i64::try_from(RUNS).unwrap(), "{by}");
    }
    let models = report(&service, &ask(&[])).await;
    let names: Vec<&Value> = models["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["group"]["model"])
        .collect();
    assert!(names.contains(&&json!("(compute)")), "{names:?}");
    assert_eq!(models["totals"]["runs"], RUNS);
    let (mut paged, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut query = ask(&[
            ("groupBy", "model,tenantUser"),
            ("bucket", "day"),
            ("limit", "7"),
        ]);
        query.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
        let page = report(&service, &query).await;
        paged.extend(page["rows"].as_array().unwrap().clone());
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        assert_eq!(page["hasMore"], cursor.is_some());
        if cursor.is_none() {
            break;
        }
    }
    let query = ask(&[("groupBy", "model,tenantUser"), ("bucket", "day")]);
    let path = with(&query, "/v1/usage/report");
    let accept = [("accept", "text/csv")];
    let csv = service
        .client
        .send("GET", &path, &accept, Vec::new())
        .await
        .text;
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("bucket,model,tenant,tenantUser,runs,"),
        "{csv}"
    );
    assert_eq!(lines.count(), paged.len());
    let credits: i64 = paged.iter().map(net).sum();
    let models = net(&models["totals"]);
    assert_eq!(credits, models);
}

#[tokio::test]
async fn a_report_that_cannot_be_is_400_and_says_which_parameter() {
    let service = quiet_service().await;
    for (query, path) in [
        ("groupBy=tenant,key", "groupBy"),
        ("groupBy=label:", "groupBy"),
        ("bucket=week", "bucket"),
        ("from=yesterday", "from"),
        ("from=2026-02-01&to=2026-01-01", "to"),
        ("label:=x", "label:"),
        ("limit=101", "limit"),
        ("team=red", "team"),
    ] {
        let answer = service
            .client
            .get(&format!("/v1/usage/report?{query}"))
            .await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text);
        let errors = &answer.body["error"]["details"]["errors"];
        assert_eq!(errors[0]["path"], path, "{query}: {}", answer.text);
    }
    let empty = report(&service, &[]).await;
    assert_eq!(
        (&empty["rows"], &empty["bucket"]),
        (&json!([]), &json!("none"))
    );
    let month = &service.service.cloud.clock.now().day()[..7];
    assert_eq!(empty["from"], format!("{month}-01"));
}

#[tokio::test]
async fn whatever_call_of_an_addition_goes_wrong_records_are_added_once() {
    let world = World::new().await;
    let labels = CostLabels::declare(&["team".to_owned()], &[]).unwrap();
    let mut points = 0;
    for fault in Fault::ALL {
        for nth in crash_part::calls(fault, MAX_CALLS) {
            while world.deliver_notifications(&world.sound).await {}
            let mut story = Story::new(&world).await;
            let declared = world.store.declare_cost_labels(&story.org.id, &labels);
            declared.await.unwrap();
            for step in [Create, Dispatch, Claim, Report, Finish, TaskStopped] {
                story.insist(step).await;
            }
            world.cloud.clock.advance(HOUR_MS);
            world.faults.arm(nth, fault);
            let swept = world.faulty.sweep();
            drop(world.faults.until_crash(swept).await);
            let fired = world.faults.disarm();
            world.cloud.clock.advance(61_000);
            world.sound.sweep().await.unwrap();
            world.lose_wake_ups().await;
            let dump = world.dump(&story.org.id).await;
            assert!(dump.partition("#costnew").is_empty(), "{fault:?} {nth}");
            assert!(!dump.partition("#cost").is_empty());
            let broken = dump.broken_rules(5);
            assert!(broken.is_empty(), "{fault:?} {nth}: {broken:#?}");
            if !fired {
                break;
            }
            points += 1;
        }
    }
    println!("crash points of an addition: {points}");
    assert!(points > 6, "{points}");
}
