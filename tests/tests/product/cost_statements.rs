//! Statements: what the ledger says of a month, and months that never change once they are closed.

use std::sync::Arc;

use awo_domain::TransactionId;
use awo_domain::money::MicroCredits;
use awo_domain::statement::{Month, Statement, StatementStatus};
use awo_domain::time::DAY_MS;
use awo_store::ledger::credits::Booking;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use awo_workers::sweep;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};
use crate::usage::{end, succeeded};

const HOSTILE: &str = "<script>alert(1)</script>";

async fn driven(service: &TestService) -> (Value, DrivenRun) {
    let mut body = order();
    body["limits"] = json!({ "maxCredits": 5 });
    body["tenantContext"] = json!({ "tenantId": HOSTILE });
    let made = service.client.post("/v1/work-orders", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let run = DrivenRun::of(service, &made.body).await;
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

fn advance_to(service: &TestService, at: awo_domain::Timestamp) {
    let clock = &service.service.cloud.clock;
    clock.advance(at.ms_since(clock.now()));
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
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
    let now = cloud.clock.now();
    let id = TransactionId::new(now, cloud.mint.random(now));
    let of = (MicroCredits::from_micro(250_000), &Booking::default());
    store
        .refund(&service.org, &id, &charged.run_id, of, now)
        .await
        .unwrap();
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
