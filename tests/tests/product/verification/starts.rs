//! An organization's first task creates its task definition, for every requester: the dispatcher
//! (`shared`), a start by a client, the sweep, a manual verification.

use awo_cloud::settings;
use awo_store::runs::lifecycle::dispatch::DispatchOutcome;
use awo_store::runs::lifecycle::lease::Lease;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const FILE_SYSTEM: &str = "fs-0123456789abcdef0";
/// The sweep asks for a task that nobody has asked for.
const UNASKED_MS: i64 = 31_000;

/// A service that gives no slots by itself.
async fn service() -> TestService {
    let settings = [
        ("AWO_SHARED_FILE_SYSTEM", FILE_SYSTEM),
        ("AWO_MAX_CONCURRENT", "0"),
    ];
    TestService::start(1_000, &settings).await
}

fn repository() -> Repository {
    Repository::with(&[(
        "Makefile",
        "test:\n\t@test -e done && echo '1 passed in 0.1s'\n",
    )])
}

/// A work order that waits, and from now on a slot that is free.
async fn waiting(service: &TestService, repository: &Repository) -> Value {
    let order = awo_tests::agents::order(&repository.url(), "echo x > done");
    let made = service.client.post("/v1/work-orders", &order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    // Else the order's own wake-up finds the slot.
    service.wake_ups_are_handled().await;
    let store = service.service.cloud.store().unwrap();
    let limited = store.set_limits(&service.org, Some(1), None);
    limited.await.unwrap();
    made.body
}

async fn file_system_of(service: &TestService) -> Option<String> {
    let store = service.service.cloud.store().unwrap();
    let own = store.own_definition(&service.org, None).await.unwrap();
    own?.origin?.file_system
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_makes_the_task_definition_of_an_organization_that_has_none() {
    let (service, repository) = (service().await, repository());
    let order = waiting(&service, &repository).await;
    assert_eq!(file_system_of(&service).await, None);
    let path = format!("/api/v1/work-orders/{}/runs", order["id"].as_str().unwrap());
    let started = service.client.post(&path, &json!({})).await;
    assert_eq!(started.status, 201, "{}", started.text);
    let made = file_system_of(&service).await;
    assert_eq!(made.as_deref(), Some(FILE_SYSTEM));
    let started = &started.body["data"];
    assert_eq!(started["status"], "building");
    let run = service.client.finished_run(started).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_makes_the_task_definition_of_an_organization_that_has_none() {
    let (service, repository) = (service().await, repository());
    let order = waiting(&service, &repository).await;
    let cloud = &service.service.cloud;
    let (store, org, now) = (cloud.store().unwrap(), &service.org, cloud.clock.now());
    let limits = settings::queue_limits(&cloud.environment).unwrap();
    // As a dispatcher that is gone before it has asked for the task.
    let queue = store.queue(org).await.unwrap();
    let lease = Lease::of_entry(org, &queue.entries[0], cloud.mint.secret(), now);
    let max = settings::max_tasks(&cloud.environment).unwrap();
    let available = store.capacity(org, "here", max, now).await.unwrap();
    let entry = &queue.entries[0];
    let thread = store.free_thread(org, entry.thread_id(), Some(&entry.run_id));
    let thread = thread.await.unwrap().unwrap();
    let slot = (&lease, &available.permit.unwrap(), &thread);
    let dispatched = store.dispatch(&queue, &queue.entries[0], slot, limits, now);
    assert_eq!(dispatched.await.unwrap(), DispatchOutcome::Yes);
    assert_eq!(file_system_of(&service).await, None);
    cloud.clock.advance(UNASKED_MS);
    service.service.sweep().await.unwrap();
    let made = file_system_of(&service).await;
    assert_eq!(made.as_deref(), Some(FILE_SYSTEM));
    let run = service.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manual_verification_makes_the_task_definition_of_an_organization_that_has_none() {
    let service = service().await;
    let run = super::run_of(&service.client).await;
    let folder = service.dir.path().join("workspaces");
    let folder = folder.join(service.org.as_str()).join(run);
    let path = folder.join("missing");
    super::refused(&super::verify(&service, &path, &json!({})).await, "workDir");
    let made = file_system_of(&service).await;
    assert_eq!(made.as_deref(), Some(FILE_SYSTEM));
}
