//! Tasks that end as slowly as Fargate's: their containers' ends are known late, their surroundings
//! are removed later still, and events are later than that. Neither a kill nor a slot waits for it.

use std::time::{Duration, Instant};

use awo_local::ecs::Conduct;
use awo_tests::agents::{escaping, order, submit, until_ready};
use awo_tests::processes::{runner_and_supervisor, signal};
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const WAITS: &str = "echo > ready; while :; do sleep 0.01; done";
const KILL_LIMIT: Duration = Duration::from_secs(8);
const SLOT_LIMIT: Duration = Duration::from_secs(10);

fn as_fargate_does() -> Conduct {
    Conduct {
        notices_end_after: Duration::from_secs(5),
        deprovisions_for: Duration::from_secs(20),
        event_delay: Duration::from_secs(5),
        events_twice: true,
        ..Conduct::default()
    }
}

/// A service with one slot.
async fn service(conduct: Conduct) -> (TestService, Repository) {
    let service = TestService::start(1_000_000, &[("AWO_MAX_CONCURRENT", "1")]).await;
    service.service.ecs.set_conduct(conduct);
    let repository = Repository::with(&[("Makefile", "test:\n\t@true\n")]);
    (service, repository)
}

async fn run_of(service: &TestService, order: &Value) -> Value {
    let path = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    service.client.get(&path).await.body
}

async fn rules_hold(service: &TestService) {
    let dump = Dump::of(&service.service.cloud, &service.org).await;
    let broken = dump.broken_rules(1);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_answers_and_its_slot_is_free_long_before_the_task_has_stopped() {
    let (service, repository) = service(as_fargate_does()).await;
    let first = submit(
        &service.client,
        &order(&repository.url(), &escaping("0.05")),
    )
    .await;
    until_ready(&service.client, &first).await;
    let second = submit(&service.client, &order(&repository.url(), WAITS)).await;
    let began = Instant::now();
    let path = format!("/api/v1/work-orders/{}/kill", first["id"].as_str().unwrap());
    let killed = service
        .client
        .post(&path, &json!({ "gracePeriodMs": 5_000 }))
        .await;
    assert!(began.elapsed() < KILL_LIMIT, "{:?}", began.elapsed());
    let killed = &killed.body["data"];
    assert_eq!(
        (&killed["success"], &killed["forcedKill"]),
        (&json!(true), &json!(true)),
        "{killed}"
    );
    let freed = Instant::now();
    until_ready(&service.client, &second).await;
    assert!(freed.elapsed() < SLOT_LIMIT, "{:?}", freed.elapsed());
    assert!(
        service.service.ecs.living() >= 2,
        "the first task is still taken down"
    );
    let run = run_of(&service, &first).await;
    assert!(
        run["computeStoppedAt"].is_string() && run["settledAt"].is_string(),
        "{run:#}"
    );
    rules_hold(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slot_of_a_run_that_came_to_its_end_is_free_long_before_its_task_has_stopped() {
    let (service, repository) = service(as_fargate_does()).await;
    let first = submit(&service.client, &order(&repository.url(), "echo x > x")).await;
    let second = submit(&service.client, &order(&repository.url(), WAITS)).await;
    service.client.finished_run(&first).await;
    let ended = Instant::now();
    until_ready(&service.client, &second).await;
    assert!(ended.elapsed() < SLOT_LIMIT, "{:?}", ended.elapsed());
    let run = run_of(&service, &first).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    rules_hold(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_container_is_the_end_of_a_run_whose_runner_says_nothing() {
    let conduct = Conduct {
        notices_end_after: Duration::from_millis(100),
        event_delay: Duration::from_millis(100),
        ..as_fargate_does()
    };
    let (service, repository) = service(conduct).await;
    let lost = submit(&service.client, &order(&repository.url(), WAITS)).await;
    let run = until_ready(&service.client, &lost).await;
    let (runner, _) = runner_and_supervisor(&run);
    let began = Instant::now();
    signal(runner, "-9");
    let run = service.client.finished_run(&lost).await;
    assert_eq!(run["error"]["code"], "RUNNER_FAILED", "{run:#}");
    assert!(began.elapsed() < SLOT_LIMIT, "{:?}", began.elapsed());
    assert_eq!(
        service.service.ecs.living(),
        1,
        "its task is still taken down"
    );
    rules_hold(&service).await;
}
