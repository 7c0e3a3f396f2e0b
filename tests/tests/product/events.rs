//! Events of runs at receivers of webhooks: real TLS, over the whole way from an event's
//! transaction to the list of deliveries.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use awo_domain::webhook::DeliveryStatus;
use awo_domain::{DeliveryId, WebhookId};
use awo_store::webhooks::delivery_permits::DELIVERY_PERMITS;
use awo_store::webhooks::notifications::{DeliveryRef, Notification};
use awo_tests::client::Client;
use awo_tests::driven::DrivenRun;
use awo_tests::receiver::{Answer, ReceivedRequest, Receiver, ca_file};
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::order;

const ALL: [&str; 8] = [
    "run.created",
    "run.started",
    "run.completed",
    "run.failed",
    "run.cancelled",
    "verification.started",
    "verification.passed",
    "verification.failed",
];
/// Instead of minutes and hours.
const DELAYS_MS: [u64; 4] = [200, 400, 1_200, 600];
/// Longest wait for something that is sure to come.
const PATIENCE: Duration = Duration::from_secs(60);

pub async fn service() -> TestService {
    let delays = DELAYS_MS.map(|ms| ms.to_string()).join(",");
    let settings = [
        ("AWO_MAX_CONCURRENT", "0"),
        ("AWO_WEBHOOK_ALLOW_LOOPBACK", "1"),
        ("AWO_WEBHOOK_CA_FILE", &ca_file()),
        ("AWO_WEBHOOK_RETRY_DELAYS_MS", &delays),
    ];
    TestService::start(1_000_000, &settings).await
}

/// The path of a new webhook.
pub async fn webhook(client: &Client, receiver: &Receiver, events: &[&str]) -> String {
    let body = json!({ "url": receiver.url, "events": events });
    let made = client.post("/v1/webhooks", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    format!(
        "/v1/webhooks/{}",
        made.body["webhook"]["id"].as_str().unwrap()
    )
}

pub async fn created(client: &Client) -> Value {
    let mut order = order();
    order["tenantContext"] = json!({ "tenantId": "acme", "tenantUserId": "u1" });
    let made = client.post("/v1/work-orders", &order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

async fn deliveries(client: &Client, webhook: &str) -> Vec<Value> {
    let page = client
        .get(&format!("{webhook}/deliveries?limit=100"))
        .await
        .body;
    page["deliveries"].as_array().unwrap().clone()
}

/// The deliveries, once none of them is pending any more and there are so many.
pub async fn all_over(client: &Client, webhook: &str, count: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let found = deliveries(client, webhook).await;
        let is_over = |delivery: &Value| delivery["status"] != "pending";
        if found.len() == count && found.iter().all(is_over) {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{found:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn of_type<'a>(heard: &'a [ReceivedRequest], kind: &str) -> Vec<&'a Value> {
    let bodies = heard.iter().map(|heard| &heard.body);
    bodies.filter(|body| body["type"] == kind).collect()
}

async fn verify(run: &mut DrivenRun, iteration: u32, status: &str) {
    let results = json!([{
        "pluginId": "built-in:tests", "level": "L1", "status": status, "summary": "1 check",
        "checks": [{ "name": "unit", "status": status, "message": "exit code" }], "durationMs": 1,
    }]);
    run.report(json!({ "type": "verificationStarted", "iteration": iteration, "levels": ["L1"] }))
        .await;
    run.report(json!({
        "type": "verificationFinished", "iteration": iteration, "levels": ["L1"],
        "overallStatus": status, "summary": "1 check", "results": results,
    }))
    .await;
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, in its order")]
async fn every_event_of_runs_is_delivered_once_with_the_data_of_the_contract() {
    let service = service().await;
    let client = &service.client;
    let (all, some) = (
        Receiver::start(&[Answer::Status(200)]).await,
        Receiver::start(&[Answer::Status(204)]).await,
    );
    let of_all = webhook(client, &all, &ALL).await;
    let of_some = webhook(client, &some, &["run.completed"]).await;

    let order = created(client).await;
    let mut run = DrivenRun::of(&service, &order).await;
    for (iteration, status) in [(1, "failed"), (2, "passed")] {
        run.iterate(iteration).await;
        verify(&mut run, iteration, status).await;
    }
    run.succeed().await;
    let mut failed = DrivenRun::of(&service, &created(client).await).await;
    failed.iterate(1).await;
    failed.fail().await;
    let canceled = created(client).await;
    let path = format!("/api/v1/work-orders/{}", canceled["id"].as_str().unwrap());
    let cancel = client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(cancel.status, 200, "{}", cancel.text);

    // Three created, two started, three ends, and two verifications with a start and an end.
    let reported = all_over(client, &of_all, 12).await;
    all_over(client, &of_some, 1).await;
    let heard = all.heard();
    assert_eq!((heard.len(), some.heard().len()), (12, 1));
    let ids: BTreeSet<&str> = heard.iter().filter_map(|h| h.body["id"].as_str()).collect();
    assert_eq!(ids.len(), 12, "each once");
    for delivery in &reported {
        assert_eq!(delivery["status"], "delivered");
        assert_eq!(delivery["attempts"].as_array().unwrap().len(), 1);
        assert_eq!(delivery["attempts"][0]["statusCode"], 200);
        assert!(ids.contains(delivery["eventId"].as_str().unwrap()));
    }
    for (kind, count) in ALL.into_iter().zip([3, 2, 1, 1, 1, 2, 1, 1]) {
        assert_eq!(of_type(&heard, kind).len(), count, "{kind}");
    }
    for heard in &heard {
        let body = &heard.body;
        assert_eq!(heard.headers["webhook-id"], body["id"].as_str().unwrap());
        assert!(heard.headers["x-service-signature"].starts_with("sha256="));
        assert!(body["timestamp"].is_string() && body["data"]["sequence"].is_u64());
        let tenant = json!({ "tenantId": "acme", "tenantUserId": "u1" });
        assert_eq!(body["data"]["tenantContext"], tenant, "{body}");
        assert!(body["data"]["runId"].is_string() && body["data"]["workOrderId"].is_string());
    }
    let completed = &of_type(&heard, "run.completed")[0]["data"];
    assert_eq!(
        (&completed["status"], &completed["iterations"]),
        (&json!("succeeded"), &json!(1))
    );
    assert!(completed["timing"]["durationMs"].is_u64() && completed["cost"]["credits"].is_number());
    let failed = &of_type(&heard, "run.failed")[0]["data"];
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"]["code"], "AGENT_FAILED");
    crate::run_errors::is_explained(&failed["error"]);
    assert!(failed["timing"].is_object() && failed["cost"].is_object());
    let cancelled = &of_type(&heard, "run.cancelled")[0]["data"];
    assert_eq!(cancelled["status"], "canceled");
    let verified = &of_type(&heard, "verification.failed")[0]["data"];
    let result = json!({
        "pluginId": "built-in:tests", "level": "L1", "status": "failed", "summary": "1 check",
    });
    assert_eq!(verified["results"], json!([result]));
    assert_eq!(
        (
            &verified["iteration"],
            &verified["overallStatus"],
            &verified["levels"]
        ),
        (&json!(1), &json!("failed"), &json!(["L1"]))
    );
}

#[tokio::test]
async fn a_receiver_that_fails_gets_five_attempts_none_of_them_early() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Answer::Status(500)]).await;
    let path = webhook(client, &receiver, &["run.created"]).await;
    created(client).await;
    let over = all_over(client, &path, 1).await;
    let heard = receiver.heard();
    assert_eq!(heard.len(), 5);
    for (pair, delay_ms) in heard.windows(2).zip(DELAYS_MS) {
        let waited = pair[1].at.duration_since(pair[0].at);
        assert!(
            waited >= Duration::from_millis(delay_ms),
            "{waited:?} for {delay_ms}"
        );
        assert_eq!(pair[0].bytes, pair[1].bytes);
        assert_eq!(pair[0].headers["webhook-id"], pair[1].headers["webhook-id"]);
    }
    let over = &over[0];
    assert_eq!(over["status"], "abandoned");
    assert!(over.get("nextAttemptAt").is_none(), "{over}");
    let attempts = over["attempts"].as_array().unwrap();
    for (attempt, number) in attempts.iter().zip(1..) {
        assert_eq!(attempt["number"], number);
        assert_eq!(attempt["statusCode"], 500);
        assert!(attempt["durationMs"].is_u64() && attempt["error"].is_string());
    }
    assert_eq!(attempts.len(), 5);
}

#[tokio::test]
async fn a_receiver_that_is_gone_ends_the_delivery_and_disables_its_webhook() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Answer::Status(503), Answer::Status(410)]).await;
    let path = webhook(client, &receiver, &["run.created"]).await;
    created(client).await;
    let over = all_over(client, &path, 1).await;
    assert_eq!(over[0]["status"], "abandoned");
    assert_eq!(over[0]["attempts"].as_array().unwrap().len(), 2);
    let webhook = client.get(&path).await.body;
    assert_eq!(webhook["enabled"], false);
    let reason = webhook["disabledReason"].as_str().unwrap();
    assert!(
        reason.contains("410") && webhook["disabledAt"].is_string(),
        "{webhook}"
    );
    // No webhook gets a later event.
    created(client).await;
    assert_eq!(deliveries(client, &path).await.len(), 1);
    assert_eq!(receiver.heard().len(), 2);
}

#[tokio::test]
async fn what_is_pending_for_a_webhook_that_was_disabled_is_not_sent() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Answer::Status(500)]).await;
    let path = webhook(client, &receiver, &["run.created"]).await;
    created(client).await;
    receiver.has_heard(1).await;
    let off = json!({ "enabled": false }).to_string().into_bytes();
    let json = ("content-type", "application/json");
    let off = client.send("PATCH", &path, &[json], off).await;
    assert_eq!(off.status, 200, "{}", off.text);
    let heard = receiver.heard().len();
    let over = all_over(client, &path, 1).await;
    assert_eq!(over[0]["status"], "abandoned");
    assert!(
        receiver.heard().len() <= heard + 1,
        "at most what was under way"
    );
    assert!(over[0]["attempts"].as_array().unwrap().len() < 5);
}

#[tokio::test]
async fn a_receiver_that_hangs_keeps_no_other_waiting() {
    const EVENTS: usize = 30;
    let service = service().await;
    let client = &service.client;
    let hangs = Receiver::start(&[Answer::Nothing]).await;
    let healthy = Receiver::start(&[Answer::Status(200)]).await;
    let of_hanging = webhook(client, &hangs, &["run.created"]).await;
    webhook(client, &healthy, &["run.created"]).await;
    for _ in 0..EVENTS {
        created(client).await;
    }
    healthy.has_heard(EVENTS).await;
    let heard = hangs.heard().len();
    let attempts: Vec<Value> = deliveries(client, &of_hanging)
        .await
        .iter()
        .flat_map(|delivery| delivery["attempts"].as_array().unwrap().clone())
        .collect();
    let ended = attempts.iter().filter(|a| a["error"].is_string()).count();
    // Of those to the receiver that hangs no more were waited for than go to it at once, and each
    // takes 30 s: had others waited for them, most would have ended.
    let delivery_permits = usize::try_from(DELIVERY_PERMITS).unwrap();
    assert!(ended <= delivery_permits, "{ended}: {attempts:#?}");
    assert!(
        heard - ended.min(heard) <= delivery_permits,
        "{heard} of {attempts:#?}"
    );
}

#[tokio::test]
async fn a_test_makes_one_attempt_and_changes_nothing() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Answer::Status(200), Answer::Status(410)]).await;
    let path = webhook(client, &receiver, &["run.failed"]).await;
    let before = client.get(&path).await.body;
    let test = format!("{path}/test");
    for (status, delivered) in [(200, true), (410, false)] {
        let tested = client.send("POST", &test, &[], Vec::new()).await;
        assert_eq!(tested.status, 200, "{}", tested.text);
        let body = tested.body;
        assert_eq!(
            (&body["delivered"], &body["statusCode"]),
            (&json!(delivered), &json!(status))
        );
        assert_eq!(body["error"].is_string(), !delivered, "{body}");
        let heard = receiver.heard().pop().unwrap();
        assert_eq!(heard.body["id"], body["eventId"]);
        assert_eq!(heard.body["type"], "webhook.test");
        assert_eq!(heard.body["data"], json!({ "webhookId": before["id"] }));
        assert_eq!(
            heard.headers["webhook-id"],
            body["eventId"].as_str().unwrap()
        );
    }
    assert_eq!(client.get(&path).await.body, before);
    assert!(deliveries(client, &path).await.is_empty());
    assert_eq!(receiver.heard().len(), 2);
}

#[tokio::test]
async fn a_message_that_comes_twice_makes_one_attempt_and_a_deleted_webhook_gets_none() {
    let service = service().await;
    let client = &service.client;
    let receiver = Receiver::start(&[Answer::Status(200)]).await;
    let path = webhook(client, &receiver, &["run.created"]).await;
    let id = WebhookId::parse(path.rsplit('/').next().unwrap()).unwrap();
    created(client).await;
    let over = all_over(client, &path, 1).await;
    let at = DeliveryRef {
        org_id: service.org.clone(),
        webhook_id: id.clone(),
        id: DeliveryId::parse(over[0]["id"].as_str().unwrap()).unwrap(),
    };
    let cloud = &service.service.cloud;
    let (queue, store) = (cloud.notification_queue().unwrap(), cloud.store().unwrap());
    let again = format!("{path}/deliveries/{}/redeliver", at.id);
    let again = client.send("POST", &again, &[], Vec::new()).await;
    assert_eq!(again.status, 200, "{}", again.text);
    let new = DeliveryRef {
        id: DeliveryId::parse(again.body["id"].as_str().unwrap()).unwrap(),
        ..at.clone()
    };
    // Of the one that is over, and of the one that may be under way.
    let doubled = [at, new.clone(), new.clone()].map(Notification::Delivery);
    queue.send(&doubled).await.unwrap();
    all_over(client, &path, 2).await;
    let heard = receiver.has_heard(2).await;
    assert_eq!(
        heard[0].bytes, heard[1].bytes,
        "the same event, byte by byte"
    );

    let gone = client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    let over = store.delivery(&service.org, &id, &new.id).await.unwrap();
    let now = cloud.clock.now();
    let last = over.unwrap().again(DeliveryId::new(now, 1), now);
    store.create_delivery(&last, None).await.unwrap();
    queue
        .send(&[Notification::Delivery(last.at())])
        .await
        .unwrap();
    let began = Instant::now();
    loop {
        let found = store.delivery(&service.org, &id, &last.id).await.unwrap();
        let found = found.unwrap();
        if found.progress.status == DeliveryStatus::Abandoned {
            assert!(found.progress.attempts.is_empty(), "{found:#?}");
            assert!(found.progress.abandoned_reason.unwrap().contains("deleted"));
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{found:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(receiver.heard().len(), 2);
}
