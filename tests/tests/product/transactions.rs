//! Credit transactions by every filter and page by page.

use awo_store::ledger::credits::Booking;
use awo_tests::client::Client;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};
use crate::usage::{Dice, end, succeeded, with};

/// Purchases, deductions and refunds of several tenants over several days.
async fn ledger(service: &TestService) -> Vec<Value> {
    let (client, cloud) = (&service.client, &service.service.cloud);
    let store = cloud.store().unwrap();
    for i in 0..24 {
        let mut body = order();
        if i % 4 > 0 {
            body["tenantContext"] = json!({ "tenantId": format!("t{}", i % 4) });
        }
        if i % 4 == 2 {
            body["tenantContext"]["tenantUserId"] = json!(format!("u{}", i % 3));
        }
        let made = client.post("/v1/work-orders", &body).await.body;
        let mut run = DrivenRun::of(service, &made).await;
        cloud.clock.advance(5 * 3_600_000);
        end(&mut run, succeeded(), json!([])).await;
        if i % 5 == 0 {
            let now = cloud.clock.now();
            let id = awo_domain::TransactionId::new(now, cloud.mint.random(now));
            let amount = awo_domain::money::MicroCredits::from_micro(1_000);
            store
                .refund(
                    &service.org,
                    &id,
                    &awo_store::ledger::refunds::ChargedWork::Run(run.run_id.clone()),
                    (amount, &Booking::default()),
                    now,
                )
                .await
                .unwrap();
        }
    }
    let all = client.get("/v1/credits/usage?limit=100").await.body;
    assert_eq!(all["total"], 1 + 24 + 5);
    all["transactions"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_filter_of_transactions_combines_with_every_other_and_with_paging() {
    let service = quiet_service().await;
    let all = ledger(&service).await;
    let mut dice = Dice(0xda94_2042_e4dd_58b5);
    for _ in 0..80 {
        let mut query: Vec<(&str, String)> = Vec::new();
        let mut maybe = |name: &'static str, values: &[String]| {
            if dice.below(2) == 0 {
                query.push((name, values[dice.below(values.len())].clone()));
            }
        };
        let times: Vec<String> = all
            .iter()
            .map(|e| e["createdAt"].as_str().unwrap().to_owned())
            .collect();
        maybe("startDate", &times[times.len() / 2..]);
        maybe("endDate", &times[..times.len() / 2]);
        maybe(
            "type",
            &["deduction", "purchase", "refund"].map(str::to_owned),
        );
        maybe("tenantId", &["t1", "t2", "t9"].map(str::to_owned));
        maybe("tenantUserId", &["u0", "u1"].map(str::to_owned));
        let of = |name: &str| {
            query
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| v.as_str())
        };
        let same = |e: &Value, name: &str| of(name).is_none_or(|v| e[name] == v);
        let wanted = all.iter().filter(|e| {
            let at = e["createdAt"].as_str().unwrap();
            of("startDate").is_none_or(|from| from <= at)
                && of("endDate").is_none_or(|until| at < until)
                && ["type", "tenantId", "tenantUserId"]
                    .iter()
                    .all(|name| same(e, name))
        });
        let wanted: Vec<&Value> = wanted.collect();
        assert_eq!(
            pages(&service.client, &query, wanted.len()).await,
            wanted.into_iter().cloned().collect::<Vec<_>>(),
            "{query:?}"
        );
    }
    cursors_are_bound(&service.client).await;
}

/// All that a filter lets through, by cursors, and the same by offsets.
async fn pages(client: &Client, query: &[(&str, String)], total: usize) -> Vec<Value> {
    let (mut by_cursor, mut cursor) = (Vec::new(), None::<String>);
    for page in 0..50 {
        let mut query = query.to_vec();
        query.push(("limit", "7".to_owned()));
        let mut by_offset = query.clone();
        by_offset.push(("offset", (7 * page).to_string()));
        query.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
        let path = "/v1/credits/usage";
        let answer = client.get(&with(&query, path)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.body["total"], total, "{query:?}");
        let offset = client.get(&with(&by_offset, path)).await.body;
        assert_eq!(
            offset["transactions"], answer.body["transactions"],
            "{query:?}"
        );
        by_cursor.extend(answer.body["transactions"].as_array().unwrap().clone());
        cursor = answer.body["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return by_cursor;
        }
    }
    panic!("the pages do not end");
}

async fn cursors_are_bound(client: &Client) {
    let first = client
        .get("/v1/credits/usage?limit=2&type=deduction")
        .await
        .body;
    let cursor = first["nextCursor"].as_str().unwrap();
    for bad in [
        format!("cursor={cursor}"),
        format!("cursor={cursor}&type=refund"),
        format!("cursor={cursor}&type=deduction&startDate=2026-01-01"),
        format!("cursor=A{cursor}&type=deduction"),
    ] {
        let answer = client
            .get(&format!("/v1/credits/usage?limit=2&{bad}"))
            .await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text);
        assert!(answer.text.contains("cursor"), "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_names_its_purpose_its_prices_and_its_author() {
    let service = quiet_service().await;
    let (client, cloud) = (&service.client, &service.service.cloud);
    let mut body = order();
    body["limits"] = json!({ "maxCredits": 40 });
    let made = client.post("/v1/work-orders", &body).await.body;
    let mut run = DrivenRun::of(&service, &made).await;
    cloud.clock.advance(60_000);
    let usage = json!([{
        "usage": { "model": "gpt-4o", "inputTokens": 1, "outputTokens": 1 },
        "costUsdNano": 450_000_000,
    }]);
    end(&mut run, succeeded(), usage).await;
    let now = cloud.clock.now();
    let id = awo_domain::TransactionId::new(now, cloud.mint.random(now));
    let amount = awo_domain::money::MicroCredits::from_credits(2);
    let booking = Booking {
        actor: Some("kim".to_owned()),
        note: Some("the model was down".to_owned()),
        reference: Some("TICKET-7".to_owned()),
    };
    let store = cloud.store().unwrap();
    let work = awo_store::ledger::refunds::ChargedWork::Run(run.run_id.clone());
    let refund = store.refund(&service.org, &id, &work, (amount, &booking), now);
    refund.await.unwrap();
    let all = client.get("/v1/credits/usage").await.body;
    let (refund, deduction) = (&all["transactions"][0], &all["transactions"][1]);
    assert_eq!(deduction["amount"], 40, "{all:#}");
    assert_eq!(deduction["workOrderId"], made["id"], "{all:#}");
    let parts = &deduction["breakdown"];
    assert_eq!(parts["modelCredits"], 45, "{all:#}");
    let part = |name: &str| parts[name].as_f64().unwrap();
    assert!((1.0..1.1).contains(&part("computeCredits")), "{all:#}");
    let sum = part("modelCredits") + part("computeCredits") - part("cappedCredits");
    assert!((sum - 40.0).abs() < 1e-9, "{all:#}");
    let prices = deduction["priceList"].as_str().unwrap();
    assert!(prices.starts_with("genai-prices-"), "{all:#}");
    assert_eq!(refund["workOrderId"], made["id"], "{all:#}");
    assert_eq!(refund["actor"], "kim", "{all:#}");
    assert_eq!(refund["note"], "the model was down", "{all:#}");
    assert_eq!(refund["reference"], "TICKET-7", "{all:#}");
    assert!(refund.get("breakdown").is_none(), "{all:#}");
}
