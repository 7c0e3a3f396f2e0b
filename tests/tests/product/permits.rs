//! Calls that hold a function while they wait are limited per organization, so that one caller does
//! not occupy all functions.

use std::time::{Duration, Instant};

use awo_domain::WorkOrderId;
use awo_store::capacity::call_permits::{
    LongCall, MAX_EXPORTS, MAX_KILLS, MAX_KILLS_OF_ONE, MAX_PURGES, MAX_SENDING, MAX_STREAMS,
    TAKEN_OVER_AFTER_MS,
};
use awo_tests::agents::{escaping, order, submit, until_ready};
use awo_tests::client::{Answer, Client};
use awo_tests::processes::Watch;
use awo_tests::receiver::{self, Receiver};
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::events;
use crate::http_api::{order as order_body, quiet_service};

fn kills(
    client: &Client,
    order: &Value,
    body: &Value,
    n: u32,
) -> Vec<tokio::task::JoinHandle<Answer>> {
    let id = order["id"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}/kill");
    let one = |_| {
        let (client, path, body) = (client.clone(), path.clone(), body.clone());
        tokio::spawn(async move { client.post(&path, &body).await })
    };
    (0..n).map(one).collect()
}

#[track_caller]
fn is_limited(answer: &Answer) {
    let code = &answer.body["error"]["code"];
    assert_eq!(
        (answer.status, code),
        (429, &json!("RATE_LIMITED")),
        "{}",
        answer.text
    );
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn further_kills_of_a_work_order_join_the_first_and_few_of_them_wait() {
    let service = TestService::start(1_000_000, &[]).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@true\n")]);
    let made = submit(
        &service.client,
        &order(&repository.url(), &escaping("0.05")),
    )
    .await;
    let run = until_ready(&service.client, &made).await;
    let client = &service.client;

    let began = Instant::now();
    let patient = json!({ "gracePeriodMs": 30_000 });
    let mut waiting = kills(client, &made, &patient, 20);
    let mut refused = 0;
    while refused < 20 - MAX_KILLS_OF_ONE {
        let done = waiting
            .iter()
            .position(tokio::task::JoinHandle::is_finished);
        let Some(done) = done else {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{refused} of 20 were refused"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        is_limited(&waiting.swap_remove(done).await.unwrap());
        refused += 1;
    }
    assert!(!Watch::of(&run).alive().is_empty(), "the grace is not over");

    // A stronger kill counts, though it finds no permit to wait.
    let stronger = kills(client, &made, &json!({ "immediate": true }), 1);
    is_limited(&join_all(stronger).await.remove(0).unwrap());
    let answers: Vec<Answer> = join_all(waiting)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(answers.len(), usize::try_from(MAX_KILLS_OF_ONE).unwrap());
    assert!(
        began.elapsed() < Duration::from_secs(25),
        "{:?}",
        began.elapsed()
    );
    for answer in &answers {
        let killed = &answer.body["data"];
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(
            (&killed["success"], &killed["forcedKill"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(killed["status"], "failed");
    }
    assert!(Watch::of(&run).alive().is_empty());
    let again = join_all(kills(client, &made, &patient, 1))
        .await
        .remove(0)
        .unwrap();
    assert_eq!(again.body["data"]["status"], "failed", "{}", again.text);
}

#[tokio::test]
async fn an_organization_has_a_limited_number_of_kills_that_wait() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let mut held = Vec::new();
    let order = || WorkOrderId::new(now, cloud.mint.random(now));
    let take = async |org, order: &WorkOrderId, at| {
        let call = LongCall::Kill {
            order,
            grace_ms: 5_000,
        };
        store
            .take_call_permit(org, call, &cloud.mint.secret(), at)
            .await
    };
    for _ in 0..MAX_KILLS {
        held.push(take(&service.org, &order(), now).await.unwrap());
    }
    assert!(take(&service.org, &order(), now).await.is_err());
    let (stranger, _) = service.another_org(1).await;
    take(&stranger, &order(), now)
        .await
        .unwrap()
        .give_back()
        .await;
    held.pop().unwrap().give_back().await;
    held.push(take(&service.org, &order(), now).await.unwrap());
    assert!(take(&service.org, &order(), now).await.is_err());
    // What was never given back counts no more when its time is up.
    let later = now.plus_ms(120_000);
    take(&service.org, &order(), later)
        .await
        .unwrap()
        .give_back()
        .await;
    for permit in held {
        permit.give_back().await;
    }
}

#[tokio::test]
async fn an_organization_has_two_purges_at_once() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let purge = async || {
        service
            .client
            .post("/api/v1/work-orders/purge", &json!({ "dryRun": true }))
            .await
    };
    let mut held = Vec::new();
    for number in 0..MAX_PURGES {
        let holder = format!("purge {number}");
        let permit = store.take_call_permit(&service.org, LongCall::Purge, &holder, now);
        held.push(permit.await.unwrap());
    }
    is_limited(&purge().await);
    held.pop().unwrap().give_back().await;
    for _ in 0..=MAX_PURGES {
        assert_eq!(purge().await.status, 200, "its own permit comes back");
    }
    for permit in held {
        permit.give_back().await;
    }
}

#[tokio::test]
async fn an_organization_has_two_exports_at_once() {
    let service = quiet_service().await;
    let (_, stranger) = service.another_org(1_000_000).await;
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let export = "/v1/exports/focus?month=2026-11";
    let mut held = Vec::new();
    for number in 0..MAX_EXPORTS {
        let holder = format!("export {number}");
        let permit = store.take_call_permit(&service.org, LongCall::Export, &holder, now);
        held.push(permit.await.unwrap());
    }
    is_limited(&service.client.get(export).await);
    assert_eq!(stranger.get(export).await.status, 200);
    held.pop().unwrap().give_back().await;
    for _ in 0..=MAX_EXPORTS {
        let exported = service.client.get(export).await;
        assert_eq!(exported.status, 200, "its own permit comes back");
    }
    for permit in held {
        permit.give_back().await;
    }
}

/// Webhooks whose receivers take one delivery and hang from then on, and the paths by which these
/// deliveries are made once more.
async fn hanging(client: &Client, count: usize) -> (Vec<Receiver>, Vec<String>) {
    let answers = [receiver::Answer::Status(200), receiver::Answer::Nothing];
    let (mut receivers, mut webhooks) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let receiver = Receiver::start(&answers).await;
        webhooks.push(events::webhook(client, &receiver, &["run.created"]).await);
        receivers.push(receiver);
    }
    events::created(client).await;
    let mut again = Vec::new();
    for webhook in webhooks {
        let delivered = events::all_over(client, &webhook, 1).await;
        let id = delivered[0]["id"].as_str().unwrap();
        again.push(format!("{webhook}/deliveries/{id}/redeliver"));
    }
    (receivers, again)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organizations_receivers_that_hang_leave_deliverers_to_others() {
    const RECEIVERS: usize = 20;
    let service = events::service().await;
    let (_, stranger) = service.another_org(1_000_000).await;
    let healthy = Receiver::start(&[receiver::Answer::Status(200)]).await;
    events::webhook(&stranger, &healthy, &["run.created"]).await;
    let (receivers, redeliveries) = hanging(&service.client, RECEIVERS).await;
    // One by one, so that each finds a deliverer of its own.
    for path in redeliveries {
        let again = service.client.send("POST", &path, &[], Vec::new()).await;
        assert_eq!(again.status, 200, "{}", again.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let hang = receivers
        .iter()
        .filter(|receiver| receiver.heard().len() > 1);
    let hang = u32::try_from(hang.count()).unwrap();
    assert!((1..=MAX_SENDING).contains(&hang), "{hang} attempts hang");
    let began = Instant::now();
    events::created(&stranger).await;
    healthy.has_heard(1).await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_live_stream_takes_over_the_oldest_permit_and_that_stream_ends() {
    let service = quiet_service().await;
    let client = &service.client;
    let made = client.post("/v1/work-orders", &order_body()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/v1/runs/{}/events", made.body["runId"].as_str().unwrap());
    let mut oldest = client.watch(&path, &[]).await.expect("a permit");
    assert_eq!(oldest.next().await.unwrap().kind, "run.created");
    let clock = &service.service.cloud.clock;
    clock.advance(1_000);
    let mut others = Vec::new();
    for _ in 1..MAX_STREAMS {
        others.push(client.watch(&path, &[]).await.expect("a permit"));
    }
    // Nobody's is old enough to be taken.
    is_limited(&client.watch(&path, &[]).await.map(drop).unwrap_err());
    clock.advance(TAKEN_OVER_AFTER_MS - 1_000);
    let mut newcomer = client.watch(&path, &[]).await.expect("the oldest one's");
    assert_eq!(newcomer.next().await.unwrap().kind, "run.created");
    let began = Instant::now();
    assert!(oldest.rest().await.is_empty(), "the run goes on");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    let reported = oldest.others.join("\n");
    assert!(reported.contains("reconnect to continue"), "{reported}");

    // All others go on to the end of the run, the newcomer with them.
    let id = made.body["id"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}");
    let canceled = client.send("DELETE", &path, &[], Vec::new()).await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    for stream in others.iter_mut().chain([&mut newcomer]) {
        assert_eq!(stream.rest().await.last().unwrap().kind, "run.cancelled");
    }
}
