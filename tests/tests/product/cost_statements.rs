//! Statements: what the ledger says of a month, and months that never change once they are closed.

use std::sync::Arc;

use awo_domain::TransactionId;
use awo_domain::money::MicroCredits;
use awo_domain::statement::{Month, Statement, StatementStatus};
use awo_domain::time::DAY_MS;
use awo_store::ledger::credits::Booking;
use awo_tests::driven::DrivenRun;
use awo_tests::rules::{Dump, client};
use awo_tests::service::TestService;
use awo_workers::sweep;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};

use crate::cost_reports::{of_ledger, story};
use crate::http_api::{order, quiet_service};
use crate::usage::{Dice, end, succeeded};

const HOSTILE: &str = "<script>alert(1)</script>";

async fn driven(service: &TestService) -> (Value, DrivenRun) {
    let mut body = order();
    body["limits"] = json!({ "maxCredits": 5 });
    body["tenantContext"] = json!({ "tenantId": HOSTILE });
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let run = DrivenRun::of(service, &made.body).await;
    let started = json!({ "events": [], "executed": true });
    assert_eq!(run.control("report", &started).await.status, 200);
    service.service.cloud.clock.advance(60_000);
    (made.body, run)
}

async fn statement(service: &TestService, month: &Month) -> (Statement, String) {
    let answer = service.client.get(&format!("/v1/statements/{month}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    (serde_json::from_value(answer.body).unwrap(), answer.text)
}

async fn sweep(service: &TestService) {
    let state = sweep::state(&service.service.cloud).unwrap();
    let swept = sweep::handle(Arc::new(state), sweep::Tick::default())
        .await
        .unwrap();
    assert_eq!(swept.failed, 0, "{swept:?}");
}

async fn refund(service: &TestService, run: &DrivenRun, micro: i64) {
    let cloud = &service.service.cloud;
    let now = cloud.clock.now();
    let id = TransactionId::new(now, cloud.mint.random(now));
    let of = (MicroCredits::from_micro(micro), &Booking::default());
    let store = cloud.store().unwrap();
    let work = awo_store::ledger::refunds::ChargedWork::Run(run.run_id.clone());
    let refunded = store.refund(&service.org, &id, &work, of, now);
    refunded.await.unwrap();
}

fn advance_to(service: &TestService, at: awo_domain::Timestamp) {
    let clock = &service.service.cloud.clock;
    clock.advance(at.ms_since(clock.now()));
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, in its order")]
async fn a_closed_month_never_changes_and_what_comes_later_is_a_correction_that_names_the_run() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let store = cloud.store().unwrap();
    let month = Month::of(cloud.clock.now());
    let (_, mut charged) = driven(&service).await;
    end(&mut charged, succeeded(), json!([])).await;
    let (late_order, late) = driven(&service).await;
    let path = format!("/api/v1/work-orders/{}", late_order["id"].as_str().unwrap());
    let canceled = service.client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let (open, _) = statement(&service, &month).await;
    assert_eq!(
        (open.status, open.open_holds.micro()),
        (StatementStatus::Open, 5_000_000)
    );
    assert_eq!(open.purchases, MicroCredits::from_credits(1_000_000));
    assert!(
        store
            .close_months(&service.org, Some(&month), cloud.clock.now())
            .await
            .is_err()
    );
    // On the third day after its end the sweep closes it.
    advance_to(&service, month.closes_at().plus_ms(-DAY_MS / 2));
    sweep(&service).await;
    assert_eq!(
        statement(&service, &month).await.0.status,
        StatementStatus::Open
    );
    advance_to(&service, month.closes_at().plus_ms(DAY_MS));
    sweep(&service).await;
    let (closed, text) = statement(&service, &month).await;
    assert_eq!(closed.status, StatementStatus::Closed);
    assert_eq!(closed.fault(None).unwrap(), None);
    assert_eq!((closed.open_holds, closed.rows.len()), (open.open_holds, 1));
    assert_eq!(closed.rows[0].tenant, HOSTILE);
    assert!(closed.corrections.is_empty());
    // What comes later is booked later: the sweep found that the task of the canceled run was gone.
    refund(&service, &charged, 250_000).await;
    assert_eq!(statement(&service, &month).await.1, text, "byte for byte");
    let (next, _) = statement(&service, &month.next()).await;
    assert_eq!(next.opening_balance, closed.closing_balance);
    assert_eq!(next.previous_hash, closed.hash);
    assert_eq!(next.fault(Some(&closed)).unwrap(), None);
    let corrections: Vec<_> = next
        .corrections
        .iter()
        .map(|of| (of.kind.as_str(), &of.run_id, &of.month))
        .collect();
    let wanted = [
        ("deduction", &late.run_id, &month),
        ("refund", &charged.run_id, &month),
    ];
    assert_eq!(corrections, wanted);
    let balance = service.client.get("/v1/credits").await.body;
    assert_eq!(
        balance["balance"].as_f64(),
        Some(next.closing_balance.to_decimal())
    );
    advance_to(&service, month.next().closable_at());
    let again = store
        .close_months(&service.org, Some(&month.next()), cloud.clock.now())
        .await
        .unwrap();
    assert_eq!(again.len(), 1, "the month before it is closed already");
    assert_eq!(again[0].fault(Some(&closed)).unwrap(), None);
    let listed = service.client.get("/v1/statements?limit=2").await.body;
    let months: Vec<_> = listed["statements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| &of["month"])
        .collect();
    assert_eq!(months, [&json!(month.next().next()), &json!(month.next())]);
    assert_eq!(listed["total"], 3);
}

#[tokio::test]
async fn a_statement_is_csv_and_a_page_for_print_in_which_text_is_nothing_else() {
    let service = quiet_service().await;
    let (_, mut run) = driven(&service).await;
    end(&mut run, succeeded(), json!([])).await;
    let month = Month::of(service.service.cloud.clock.now());
    let path = format!("/v1/statements/{month}");
    let get = async |path: &str, media_type: &str| {
        let accept = [("accept", media_type)];
        let answer = service.client.send("GET", path, &accept, Vec::new()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.text
    };
    let (of, _) = statement(&service, &month).await;
    let page = get(&path, "text/html").await;
    assert!(
        page.starts_with("<!doctype html>") && !page.contains("<script"),
        "{page}"
    );
    assert!(page.contains("&lt;script&gt;"), "{page}");
    let csv = get(&path, "text/csv").await;
    let row = format!("deduction,{HOSTILE},(none),(compute),,,,");
    assert!(csv.contains(&row), "{csv}");
    let total = csv
        .lines()
        .find(|line| line.starts_with("deductions,"))
        .unwrap();
    assert!(
        total.ends_with(&format!(",{}", of.deductions.to_decimal())) || total.contains('.'),
        "{total}"
    );
    let all = get("/v1/statements", "text/csv").await;
    assert!(
        all.lines()
            .nth(1)
            .unwrap()
            .starts_with(&format!("{month},open,0.000000,1000000.000000,")),
        "{all}"
    );
    for unknown in ["2001-01", "2999-01", "2026-13", "x"] {
        let answer = service
            .client
            .get(&format!("/v1/statements/{unknown}"))
            .await;
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (404, &json!("STATEMENT_NOT_FOUND"))
        );
    }
}

/// Sets a number or a text of an item, or removes it, past the product.
async fn tamper(
    service: &TestService,
    (table, partition, sk): (&str, &str, &str),
    (path, to): (&[&str], Option<AttributeValue>),
) {
    let cloud = &service.service.cloud;
    let pk = AttributeValue::S(format!("{}{partition}", service.org));
    let update = client(cloud)
        .update_item()
        .table_name(cloud.environment.required(table).unwrap())
        .key("pk", pk)
        .key("sk", AttributeValue::S(sk.to_owned()));
    let names = (0..path.len()).map(|nth| format!("#n{nth}"));
    let attribute = names.clone().collect::<Vec<_>>().join(".");
    let update = match to {
        Some(to) => update
            .update_expression(format!("SET {attribute} = :to"))
            .expression_attribute_values(":to", to),
        None => update.update_expression(format!("REMOVE {attribute}")),
    };
    let names = names.zip(path.iter().map(|name| (*name).to_owned()));
    let update = update.set_expression_attribute_names(Some(names.collect()));
    update.send().await.unwrap();
}

/// Items that an organization lacks from before sums had all that statements need.
async fn forget_sums(service: &TestService) {
    let balance = ("AWO_LEDGER_TABLE", "", "balance");
    tamper(service, balance, (&["summedFrom"], None)).await;
}

async fn have_sums(service: &TestService, from: &Month) {
    let balance = ("AWO_LEDGER_TABLE", "", "balance");
    let from = AttributeValue::S(from.to_string());
    tamper(service, balance, (&["summedFrom"], Some(from))).await;
}

/// The months' statements and their list, as they are sent.
async fn sent(service: &TestService, months: &[Month]) -> Vec<String> {
    let mut all = vec![service.client.get("/v1/statements").await.text];
    for month in months {
        all.push(statement(service, month).await.1);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_statement_by_sums_is_to_the_byte_the_one_by_entries_and_is_closed_as_it_stood() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let store = cloud.store().unwrap();
    // From the middle of a month, whatever today is, so that the story ends in the month after it.
    let first = Month::of(cloud.clock.now()).next();
    advance_to(&service, first.start().plus_ms(14 * DAY_MS));
    let (_, mut run) = driven(&service).await;
    end(&mut run, succeeded(), json!([])).await;
    story(&service, &mut Dice(0x2545_f491_4f6c_dd1d)).await;
    refund(&service, &run, 7_003).await;
    let last = Month::of(cloud.clock.now());
    let months = [first.clone(), last.clone()];
    assert_eq!(first.next(), last, "the story goes on into the next month");
    for added in 0..3 {
        for _ in 0..added * added {
            let added = store.add_costs(&service.org, cloud.clock.now());
            added.await.unwrap();
        }
        for wait_ms in [0, 61_000] {
            cloud.clock.advance(wait_ms);
            have_sums(&service, &first).await;
            let by_sums = sent(&service, &months).await;
            forget_sums(&service).await;
            assert_eq!(sent(&service, &months).await, by_sums, "{added} {wait_ms}");
        }
    }
    have_sums(&service, &first).await;
    let mut open = Vec::new();
    for month in &months {
        let (of, _) = statement(&service, month).await;
        let (from, to) = (month.start().day(), month.end().day());
        let net = of.deductions.micro() - of.refunds.micro();
        assert_eq!(net, of_ledger(&service, &from, &to).await, "{month}");
        assert!(of.rows.len() > 5 && of.as_of.is_none(), "{of:?}");
        open.push(of);
    }
    assert!(
        !open[1].corrections.is_empty(),
        "a refund of the month before"
    );
    advance_to(&service, last.closable_at());
    let closed = store.close_months(&service.org, Some(&last), cloud.clock.now());
    let mut closed = closed.await.unwrap();
    closed.retain(|of| of.month >= first);
    assert_eq!(closed.len(), open.len());
    for (closed, open) in closed.into_iter().zip(open) {
        let as_open = Statement {
            status: open.status,
            closed_at: None,
            open_holds: open.open_holds,
            hash: open.hash.clone(),
            previous_hash: open.previous_hash.clone(),
            ..closed
        };
        assert_eq!(as_open, open);
    }
    let broken = Dump::of(cloud, &service.org).await.broken_rules(1_000);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test]
async fn sums_that_do_not_come_to_the_balance_are_not_shown() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let (_, mut run) = driven(&service).await;
    end(&mut run, succeeded(), json!([])).await;
    let month = Month::of(cloud.clock.now());
    let store = cloud.store().unwrap();
    store
        .add_costs(&service.org, cloud.clock.now())
        .await
        .unwrap();
    cloud.clock.advance(61_000);
    let (right, text) = statement(&service, &month).await;
    let dump = Dump::of(cloud, &service.org).await;
    let sums = dump.partition("#costsum");
    let sums = sums.iter().map(|item| item["sk"].as_str().unwrap());
    let of_month = format!("all#month#{month}");
    let name = sums
        .clone()
        .find(|name| name.starts_with(&of_month))
        .unwrap();
    let more = AttributeValue::N((right.deductions.micro() + 1).to_string());
    let item = ("AWO_WORK_TABLE", "#costsum", name);
    tamper(&service, item, (&["total", "creditsMicro"], Some(more))).await;
    assert_eq!(statement(&service, &month).await.1, text);
}
