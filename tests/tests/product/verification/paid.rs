//! A manual verification is paid: held before it starts, charged by the second at its size, put down to the
//! run whose workspace it is of.

use awo_domain::money::MicroCredits;
use awo_domain::{TransactionId, VerificationId};
use awo_store::ledger::credits::Booking;
use awo_store::ledger::refunds::ChargedWork;
use awo_tests::client::{Answer, Client};
use awo_tests::processes::{runner_and_supervisor, signal};
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::{verified, verify, workspace, workspace_of};
use crate::http_api::quiet_service;

/// A plan that takes two seconds.
const TWO_SECONDS: &str = "tests: [{run: 'sleep 2; echo 1 passed in 2s'}]\n";

async fn dump(service: &TestService) -> Dump {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(100);
    assert!(broken.is_empty(), "{broken:#?}");
    dump
}

async fn balance(client: &Client) -> (f64, f64) {
    let body = client.get("/v1/credits").await.body;
    let amount = |name: &str| body[name].as_f64().unwrap();
    (amount("balance"), amount("reserved"))
}

async fn deductions(client: &Client) -> Vec<Value> {
    let answer = client.get("/v1/credits/usage?type=deduction").await;
    answer.body["transactions"].as_array().unwrap().clone()
}

async fn report(client: &Client, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("/v1/usage/report?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.body.get("data").unwrap_or(&answer.body);
    body["rows"].as_array().unwrap().clone()
}

fn is_refused_for_credits(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{}", answer.text);
    let late = answer.text.starts_with(char::is_whitespace);
    assert!(!late, "an answer had begun: {}", answer.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_is_charged_by_the_second_and_put_down_to_its_run() {
    let service = quiet_service().await;
    let client = &service.client;
    let dir = workspace(&service, &[("verify.yaml", TWO_SECONDS)]).await;
    let run_id = dir.ancestors().nth(1).unwrap().file_name().unwrap();
    let run_id = run_id.to_str().unwrap().to_owned();
    let before = balance(client).await;
    let result = verified(&service, &dir, &json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
    let after = balance(client).await;
    let all = deductions(client).await;
    let [entry] = all.as_slice() else {
        panic!("{all:#?}");
    };
    let amount = entry["amount"].as_f64().unwrap();
    // One credit a minute: two seconds at least, and no more than its time.
    assert!((2.0 / 60.0..1.0).contains(&amount), "{entry:#}");
    assert!((before.0 - after.0 - amount).abs() < 1e-6, "{entry:#}");
    assert_eq!(before.1, after.1, "its hold is resolved");
    assert_eq!(entry["purpose"], "verification");
    assert_eq!(entry["runId"], json!(run_id));
    assert!(entry["workOrderId"].is_string() && entry["breakdown"].is_object());
    let id = VerificationId::parse(entry["verificationId"].as_str().unwrap()).unwrap();
    let run = client.get(&format!("/v1/runs/{run_id}")).await.body;
    assert!(
        run.get("cost").is_none(),
        "it is not the run's cost: {run:#}"
    );
    let rows = report(client, "groupBy=outcome").await;
    let row = rows
        .iter()
        .find(|row| row["group"]["outcome"] == "verification");
    let row = row.unwrap_or_else(|| panic!("{rows:#?}"));
    assert_eq!(
        (&row["runs"], &row["credits"]),
        (&json!(0), &entry["amount"])
    );
    dump(&service).await;
    refunds(&service, &id, amount).await;
    dump(&service).await;
}

/// A refund of it, up to what it cost.
async fn refunds(service: &TestService, id: &VerificationId, amount: f64) {
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let work = ChargedWork::Verification(id.clone());
    let before = balance(&service.client).await.0;
    let refund = async |credits: f64| {
        let txn = TransactionId::new(now, cloud.mint.random(now));
        let of = (
            MicroCredits::from_decimal(credits).unwrap(),
            &Booking::default(),
        );
        store.refund(&service.org, &txn, &work, of, now).await
    };
    refund(amount).await.unwrap();
    assert!((balance(&service.client).await.0 - before - amount).abs() < 1e-6);
    let more = refund(0.000001).await.unwrap_err();
    assert!(
        format!("{more:?}").contains("this verification was charged"),
        "{more:?}"
    );
    let entries = service
        .client
        .get("/v1/credits/usage?type=refund")
        .await
        .body;
    assert_eq!(entries["transactions"][0]["verificationId"], json!(id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_needs_its_hold_before_the_first_byte() {
    let service = quiet_service().await;
    // The work order of its workspace holds one of two credits.
    let (org, poor) = service.another_org(2).await;
    let dir = workspace_of(&service, (&org, &poor), &[("README.md", "")]).await;
    let long = json!({ "workDir": dir, "timeoutMs": 60_001 });
    let answer = poor.post(super::RUN, &long).await;
    is_refused_for_credits(&answer, 402);
    assert!(
        answer.text.contains("credits are needed"),
        "{}",
        answer.text
    );
    assert_eq!(balance(&poor).await, (2.0, 1.0));
    // A minute is the least hold, and what is left covers it.
    let short = json!({ "workDir": dir, "timeoutMs": 1_000 });
    assert_eq!(poor.post(super::RUN, &short).await.status, 200);
    let budget =
        json!({ "name": "All", "period": "month", "limitCredits": 1.5, "onLimit": "wait" });
    let made = service.client.post("/v1/budgets", &budget).await;
    assert_eq!(made.status, 201, "{}", made.text);
    // A run would wait; a request for a verification does not.
    let dir = workspace(&service, &[("README.md", "")]).await;
    is_refused_for_credits(&verify(&service, &dir, &json!({})).await, 402);
    dump(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ends_without_a_result_pays_only_for_what_ran() {
    let service = quiet_service().await;
    let client = &service.client;
    let before = balance(client).await;
    let dir = workspace(&service, &[("verify.yaml", "nonsense: 1\n")]).await;
    let answer = verify(&service, &dir, &json!({})).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    // The work order of the workspace holds one credit.
    assert_eq!(balance(client).await, (before.0, before.1 + 1.0));
    assert_eq!(deductions(client).await, Vec::<Value>::new());
    dump(&service).await;
    let plan = "tests: [{run: 'touch started; sleep 4321'}]\n";
    let dir = workspace(&service, &[("verify.yaml", plan)]).await;
    let killed = async {
        super::ends::until_at_work(&dir.join("started")).await;
        let (runner, _) = runner_and_supervisor(dir.to_str().unwrap());
        signal(runner, "-9");
    };
    let plain = json!({});
    let (answer, ()) = tokio::join!(verify(&service, &dir, &plain), killed);
    assert_eq!(answer.body["error"]["code"], "INTERNAL_ERROR");
    let all = deductions(client).await;
    assert_eq!(all.len(), 1, "its own content may have ended it: {all:#?}");
    assert_eq!(all[0]["purpose"], "verification");
    assert_eq!(balance(client).await.1, before.1 + 2.0);
    dump(&service).await;
}
