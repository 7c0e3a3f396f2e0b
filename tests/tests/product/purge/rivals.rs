//! Purges of many work orders, of running ones, and in competition with other changes of the same
//! work orders.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use awo_tests::agents::{escaping, submit, until_ready};
use awo_tests::driven::DrivenRun;
use awo_tests::processes::Watch;
use awo_tests::repository::Repository;
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use serde_json::json;

use super::{erased, id, ids, purge, rules_hold, still, submitted, total, traces, would_delete};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_go_in_one_call() {
    const MANY: usize = 2_500;
    let service = still().await;
    let cloud = &service.service.cloud;
    let (seed, now) = (Seed::of(cloud, &service.org), cloud.clock.now());
    let mut made = Vec::new();
    for i in 0..MANY {
        let new = if i % 10 == 0 {
            seed.waiting(now, None).await
        } else {
            seed.canceled(now, None).await
        };
        made.push(new.id.to_string());
    }
    made.sort();
    assert_eq!(would_delete(&service.client, json!({})).await, MANY as u64);
    let began = Instant::now();
    let purged = purge(&service.client, &json!({})).await;
    println!("a purge of {MANY} work orders took {:?}", began.elapsed());
    assert_eq!(ids(&purged), made);
    let dump = rules_hold(&service).await;
    assert!(dump.work_orders().is_empty() && dump.runs().is_empty());
    let began = Instant::now();
    erased(&service).await;
    println!("what they left was erased in {:?}", began.elapsed());
    assert!(rules_hold(&service).await.is_at_rest());
    let left = traces(&service, &service.org, &made[..3]).await;
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lives_is_dead_before_it_goes() {
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "2")]).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@true\n")]);
    let body = awo_tests::agents::order(&repository.url(), &escaping("0.05"));
    let (mut orders, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        orders.push(submit(&service.client, &body).await);
    }
    for order in &orders {
        runs.push(until_ready(&service.client, order).await);
    }
    let purged = purge(&service.client, &json!({ "statuses": ["running"] })).await;
    for run in &runs {
        let left = Watch::of(run).alive();
        assert!(left.is_empty(), "alive after the answer: {left:#?}");
    }
    assert_eq!(ids(&purged), [id(&orders[0]), id(&orders[1])]);
    let dump = rules_hold(&service).await;
    assert!(dump.leases().is_empty() && dump.work_orders().is_empty());
    let usage = service.client.get("/v1/credits/usage").await;
    assert_eq!(
        usage.body["total"], 3,
        "what they used is paid: {}",
        usage.text
    );
    erased(&service).await;
    assert_eq!(
        traces(&service, &service.org, &runs).await,
        Vec::<String>::new()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rival_of_a_purge_wins_or_loses_whole() {
    let service = still().await;
    for round in 0..4 {
        let mut orders = Vec::new();
        for _ in 0..12 {
            orders.push(submitted(&service).await);
        }
        let failed = DrivenRun::of(&service, &orders[0]).await;
        failed.fail().await;
        failed.free_slot().await;
        let client = service.client.clone();
        let purges = [0, 1].map(|_| {
            let client = client.clone();
            tokio::spawn(async move { ids(&purge(&client, &json!({})).await) })
        });
        let callers: Vec<_> = (orders.iter().enumerate())
            .map(|(at, order)| {
                let (client, path) = (client.clone(), format!("/api/v1/work-orders/{}", id(order)));
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(3 * at as u64)).await;
                    let answer = match at % 3 {
                        0 => client.post(&format!("{path}/runs"), &json!({})).await,
                        1 => client.send("DELETE", &path, &[], Vec::new()).await,
                        _ => client.post(&format!("{path}/kill"), &json!({})).await,
                    };
                    assert!(
                        [200, 201, 404, 409].contains(&answer.status),
                        "{}",
                        answer.text
                    );
                })
            })
            .collect();
        let mut deleted = Vec::new();
        for purge in purges {
            deleted.extend(purge.await.unwrap());
        }
        for caller in callers {
            caller.await.unwrap();
        }
        let unique: BTreeSet<&String> = deleted.iter().collect();
        assert_eq!(
            unique.len(),
            deleted.len(),
            "one of two purges reports each"
        );
        let dump = rules_hold(&service).await;
        for order in dump.work_orders() {
            let id = order["id"].as_str().unwrap();
            assert!(
                !deleted.iter().any(|gone| gone == id),
                "{id} came back in {round}"
            );
        }
    }
    let rest = total(&service, "/v1/work-orders?limit=100").await;
    assert_eq!(
        ids(&purge(&service.client, &json!({})).await).len() as u64,
        rest
    );
    erased(&service).await;
    assert!(rules_hold(&service).await.is_at_rest());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_that_come_go_and_end_meanwhile_are_purged_in_the_end() {
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "3")]).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@true\n")]);
    let body = awo_tests::agents::order(&repository.url(), "sleep 0.05");
    let client = service.client.clone();
    let creating = tokio::spawn(async move {
        let mut made = BTreeSet::new();
        for _ in 0..10 {
            made.insert(id(&submit(&client, &body).await));
        }
        made
    });
    let (mut purged, mut rounds) = (Vec::new(), 0);
    let began = Instant::now();
    while purged.len() < 10 {
        let statuses = [json!({ "statuses": ["succeeded"] }), json!({})];
        purged.extend(ids(&purge(&service.client, &statuses[rounds % 2]).await));
        rounds += 1;
        assert!(began.elapsed() < Duration::from_secs(120));
    }
    println!(
        "{} work orders were purged in {rounds} rounds",
        purged.len()
    );
    assert_eq!(
        purged.iter().cloned().collect::<BTreeSet<_>>(),
        creating.await.unwrap()
    );
    assert_eq!(purged.len(), 10, "each is reported once");
    erased(&service).await;
    assert!(rules_hold(&service).await.is_at_rest());
}
