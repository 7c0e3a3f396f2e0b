//! Budgets: limits of a period's spending, enforced by reservation.

mod alerts;
mod bodies;
mod waiting;

use awo_cloud::notifications::Notifier;
use awo_cloud::queue::WakeUp;
use awo_domain::cost::labels::CostLabels;
use awo_domain::money::MicroCredits;
use awo_domain::{RunId, TransactionId};
use awo_execution::dispatcher::Dispatcher;
use awo_store::ledger::credits::Booking;
use awo_tests::client::Answer;
use awo_tests::driven::DrivenRun;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};
use crate::usage::{end, succeeded};

/// Rivals for what is left of a budget.
const RIVALS: usize = 64;
/// What they get of it, each one credit.
const COVERED: usize = 10;
/// How often one tries again that did not get its turn.
const TRIES: usize = 50;

fn limited(on_limit: &str, limit: f64) -> Value {
    json!({ "name": "All", "period": "month", "limitCredits": limit, "onLimit": on_limit })
}

async fn create_budget(service: &TestService, body: &Value) -> Value {
    let made = service.client.post("/v1/budgets", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

fn asks(credits: f64) -> Value {
    let mut body = order();
    body["limits"] = json!({ "maxCredits": credits });
    body
}

async fn submit(service: &TestService, body: &Value) -> Answer {
    for _ in 0..TRIES {
        let answer = service.client.post("/v1/work-orders", body).await;
        assert_ne!(answer.status, 500, "{}", answer.text);
        if answer.status != 429 {
            return answer;
        }
    }
    panic!("no turn in {TRIES} tries");
}

async fn accepted(service: &TestService, body: &Value) -> Value {
    let answer = submit(service, body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.body
}

/// Spent, reserved and remaining credits.
async fn standing(service: &TestService, budget: &Value) -> (f64, f64, f64) {
    let path = format!("/v1/budgets/{}", budget["id"].as_str().unwrap());
    let budget = service.client.get(&path).await.body;
    let number = |name: &str| budget[name].as_f64().unwrap();
    (
        number("spentCredits"),
        number("reservedCredits"),
        number("remainingCredits"),
    )
}

async fn holds(service: &TestService) {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(1_000);
    assert!(broken.is_empty(), "{broken:#?}");
}

async fn put(service: &TestService, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    let body = body.to_string().into_bytes();
    service.client.send("PUT", path, &json, body).await
}

async fn delete(service: &TestService, path: &str) -> Answer {
    service.client.send("DELETE", path, &[], Vec::new()).await
}

async fn cancel(service: &TestService, order: &Value) {
    let path = format!("/api/v1/work-orders/{}", order["id"].as_str().unwrap());
    let answer = delete(service, &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

async fn position(service: &TestService, order: &Value) -> Value {
    let path = format!("/api/v1/queue/position/{}", order["id"].as_str().unwrap());
    let answer = service.client.get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["data"].clone()
}

/// Lets the dispatcher look at the queue once; it has no slots to give.
async fn dispatch(service: &TestService) {
    let dispatcher = Dispatcher::new(&service.service.cloud).unwrap();
    dispatcher
        .fill_slots(&WakeUp::of(&service.org))
        .await
        .unwrap();
    // As every caller of a dispatcher does: what it noted for webhooks is sent.
    Notifier::new(&service.service.cloud).notify().await;
}

/// Ends a run after a minute of compute, which costs a credit.
async fn end_after_a_minute(service: &TestService, order: &Value) -> RunId {
    let mut run = DrivenRun::of(service, order).await;
    service.service.cloud.clock.advance(60_000);
    end(&mut run, succeeded(), json!([])).await;
    run.run_id
}

#[tokio::test]
async fn a_budget_that_blocks_refuses_what_would_pass_it_and_says_what_is_left() {
    let service = quiet_service().await;
    let budget = create_budget(&service, &limited("block", 10.0)).await;
    assert_eq!(budget["scope"], json!({}));
    assert_eq!(budget["alertsAt"], json!([50, 80, 100]));
    let first = accepted(&service, &asks(6.0)).await;
    let before = Dump::of(&service.service.cloud, &service.org).await;
    let refused = submit(&service, &asks(4.000_001)).await;
    assert_eq!(refused.status, 402, "{}", refused.text);
    assert_eq!(refused.body["error"]["code"], "FORBIDDEN");
    let details =
        json!({ "budgetId": budget["id"], "limitCredits": 10.0, "remainingCredits": 4.0 });
    assert_eq!(
        refused.body["error"]["details"], details,
        "{}",
        refused.text
    );
    assert_eq!(Dump::of(&service.service.cloud, &service.org).await, before);
    let whole = submit(&service, &asks(10.5)).await;
    assert_eq!(whole.status, 402, "{}", whole.text);
    accepted(&service, &asks(4.0)).await;
    assert_eq!(standing(&service, &budget).await, (0.0, 10.0, 0.0));
    // A new run of what waits takes the old one's part, and no more.
    let path = format!("/api/v1/work-orders/{}/runs", first["id"].as_str().unwrap());
    let again = service.client.post(&path, &json!({})).await;
    assert_eq!(again.status, 201, "{}", again.text);
    assert_eq!(standing(&service, &budget).await, (0.0, 10.0, 0.0));
    cancel(&service, &first).await;
    assert_eq!(standing(&service, &budget).await, (0.0, 4.0, 6.0));
    accepted(&service, &asks(6.0)).await;
    holds(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_rivals_at_a_nearly_spent_budget_never_pass_it() {
    let service = quiet_service().await;
    let limit = COVERED as f64 + 0.5;
    let budget = create_budget(&service, &limited("block", limit)).await;
    let body = asks(1.0);
    let rivals = (0..RIVALS).map(|_| submit(&service, &body));
    let answers = join_all(rivals).await;
    let got = answers.iter().filter(|answer| answer.status == 201).count();
    let refused = answers.iter().filter(|answer| answer.status == 402).count();
    assert_eq!((got, refused), (COVERED, RIVALS - COVERED));
    assert_eq!(
        standing(&service, &budget).await,
        (0.0, COVERED as f64, 0.5)
    );
    holds(&service).await;
}

#[tokio::test]
async fn a_settlement_that_costs_less_frees_the_rest_at_once_and_a_refund_what_it_gives_back() {
    let service = quiet_service().await;
    let budget = create_budget(&service, &limited("block", 10.0)).await;
    let first = accepted(&service, &asks(10.0)).await;
    assert_eq!(submit(&service, &asks(1.0)).await.status, 402);
    let run = end_after_a_minute(&service, &first).await;
    let (spent, reserved, remaining) = standing(&service, &budget).await;
    assert!((1.0..1.5).contains(&spent), "{spent}");
    assert_eq!((reserved, remaining), (0.0, 10.0 - spent));
    accepted(&service, &asks(8.0)).await;
    let cloud = &service.service.cloud;
    let now = cloud.clock.now();
    let id = TransactionId::new(now, cloud.mint.random(now));
    let of = (MicroCredits::from_micro(500_000), &Booking::default());
    let store = cloud.store().unwrap();
    store
        .refund(
            &service.org,
            &id,
            &awo_store::ledger::refunds::ChargedWork::Run(run),
            of,
            now,
        )
        .await
        .unwrap();
    assert_eq!(standing(&service, &budget).await.0, spent - 0.5);
    holds(&service).await;
}

#[tokio::test]
async fn a_budget_that_is_made_in_mid_period_counts_what_was_spent_and_is_reserved() {
    let service = quiet_service().await;
    let mut of_acme = asks(3.0);
    of_acme["tenantContext"] = json!({ "tenantId": "acme", "tenantUserId": "ann" });
    let spent = accepted(&service, &of_acme).await;
    end_after_a_minute(&service, &spent).await;
    let open = accepted(&service, &of_acme).await;
    let running = accepted(&service, &of_acme).await;
    let mut run = DrivenRun::of(&service, &running).await;
    accepted(&service, &asks(7.0)).await;
    let charged = service
        .client
        .get("/v1/credits/usage?type=deduction")
        .await
        .body;
    let charged = charged["transactions"][0]["amount"].as_f64().unwrap();
    let mut body = limited("block", 20.0);
    let mut scoped = Vec::new();
    for (scope, wanted) in [
        (json!({}), (charged, 13.0)),
        (json!({ "tenantId": "acme" }), (charged, 6.0)),
        (
            json!({ "tenantId": "acme", "tenantUserId": "ann" }),
            (charged, 6.0),
        ),
        (
            json!({ "tenantId": "other", "tenantUserId": "ann" }),
            (0.0, 0.0),
        ),
        (json!({ "tenantId": "other" }), (0.0, 0.0)),
    ] {
        body["scope"] = scope.clone();
        let budget = create_budget(&service, &body).await;
        let (spent, reserved, _) = standing(&service, &budget).await;
        assert_eq!((spent, reserved), wanted, "{scope}");
        assert_eq!(budget["spentCredits"].as_f64(), Some(spent));
        scoped.push(budget);
    }
    // A budget that gets another scope counts anew, as one that is made with it.
    body["scope"] = json!({ "tenantId": "acme" });
    let path = format!("/v1/budgets/{}", scoped[4]["id"].as_str().unwrap());
    let changed = put(&service, &path, &body).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let (spent, reserved, _) = standing(&service, &scoped[4]).await;
    assert_eq!((spent, reserved), (charged, 6.0));
    // What was open then is settled where it was counted.
    end(&mut run, succeeded(), json!([])).await;
    cancel(&service, &open).await;
    let (spent, reserved, _) = standing(&service, &scoped[1]).await;
    assert!(spent > charged && reserved == 0.0, "{spent} {reserved}");
    let ledger = service.client.get("/v1/credits").await.body;
    assert_eq!(
        standing(&service, &scoped[0]).await.1,
        ledger["reserved"].as_f64().unwrap()
    );
    // Once begins with its creation.
    body["scope"] = json!({});
    body["period"] = json!("once");
    service.service.cloud.clock.advance(1_000);
    let once = create_budget(&service, &body).await;
    assert_eq!(standing(&service, &once).await, (0.0, 0.0, 20.0));
    assert_eq!(once.get("periodEnd"), None);
}

#[tokio::test]
async fn a_scope_counts_whom_it_names_and_nobody_else() {
    let service = quiet_service().await;
    let store = service.service.cloud.store().unwrap();
    let labels = CostLabels::declare(&["team".to_owned()], &[]).unwrap();
    store
        .declare_cost_labels(&service.org, &labels)
        .await
        .unwrap();
    let mut body = limited("block", 1.0);
    body["scope"] = json!({ "tenantId": "acme" });
    let acme = create_budget(&service, &body).await;
    body["scope"] = json!({ "label": { "name": "team", "value": "red" } });
    let red = create_budget(&service, &body).await;
    let with = |tenant: &str, team: &str| {
        let mut body = asks(1.0);
        body["tenantContext"] = json!({ "tenantId": tenant });
        body["metadata"] = json!({ "team": team });
        body
    };
    accepted(&service, &with("acme", "blue")).await;
    accepted(&service, &with("other", "red")).await;
    accepted(&service, &with("other", "blue")).await;
    let details = |answer: &Answer| answer.body["error"]["details"]["budgetId"].clone();
    assert_eq!(
        details(&submit(&service, &with("acme", "green")).await),
        acme["id"]
    );
    assert_eq!(
        details(&submit(&service, &with("third", "red")).await),
        red["id"]
    );
    body["scope"] = json!({ "label": { "name": "project", "value": "x" } });
    let unknown = service.client.post("/v1/budgets", &body).await;
    assert_eq!(unknown.status, 400, "{}", unknown.text);
    assert_eq!(
        unknown.body["error"]["details"]["errors"][0]["path"],
        "/scope/label/name"
    );
    let listed = service.client.get("/v1/budgets?limit=1").await.body;
    assert_eq!(
        (&listed["total"], &listed["budgets"][0]["id"]),
        (&json!(2), &red["id"])
    );
    let path = format!(
        "/v1/budgets?limit=1&cursor={}",
        listed["nextCursor"].as_str().unwrap()
    );
    assert_eq!(
        service.client.get(&path).await.body["budgets"][0]["id"],
        acme["id"]
    );
    holds(&service).await;
}

#[tokio::test]
async fn children_of_an_agent_count_where_they_belong_and_hold_within_their_budgets() {
    let service = quiet_service().await;
    let mut body = limited("block", 50.0);
    let all = create_budget(&service, &body).await;
    body["scope"] = json!({ "tenantId": "acme" });
    body["period"] = json!("day");
    let acme = create_budget(&service, &body).await;
    let mut parent = asks(50.0);
    parent["tenantContext"] = json!({ "tenantId": "acme" });
    let parent = accepted(&service, &parent).await;
    let mut run = DrivenRun::of(&service, &parent).await;
    run.iterate(1).await;
    let child = json!({ "taskPrompt": "a part", "limits": { "maxCredits": 10 } });
    let opened = run.ask(&json!([child.clone(), child])).await;
    assert_eq!(opened.body["errors"], json!([]), "{}", opened.text);
    // They hold out of their parent's hold: nothing more is reserved.
    for budget in [&all, &acme] {
        assert_eq!(standing(&service, budget).await, (0.0, 50.0, 0.0));
    }
    holds(&service).await;
    for id in opened.body["opened"].as_array().unwrap() {
        cancel(&service, &json!({ "id": id })).await;
    }
    holds(&service).await;
}

#[tokio::test]
async fn a_purge_frees_what_its_runs_reserved() {
    let service = quiet_service().await;
    let budget = create_budget(&service, &limited("block", 20.0)).await;
    let order = accepted(&service, &asks(3.0)).await;
    assert_eq!(standing(&service, &budget).await, (0.0, 3.0, 17.0));
    let all = json!({ "statuses": ["queued"] });
    let purged = service.client.post("/api/v1/work-orders/purge", &all).await;
    assert_eq!(purged.status, 200, "{}", purged.text);
    assert_eq!(purged.body["data"]["deletedIds"], json!([order["id"]]));
    assert_eq!(standing(&service, &budget).await, (0.0, 0.0, 20.0));
    holds(&service).await;
}
