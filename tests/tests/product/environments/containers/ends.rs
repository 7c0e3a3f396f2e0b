//! Containers that keep a task from starting, services that end, and definitions that are out of use.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use awo_local::ecs::{Conduct, StartFailure};
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::super::{delete, make, put};
use super::{cloud, compute, definition_of, family, image, order, project, ran, with_database};

const DAY_MS: i64 = 24 * 3_600_000 + 1_000;
/// The sweep asks for a task that nobody has asked for.
const UNASKED_MS: i64 = 31_000;
/// Far longer than a dispatch takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Another run of a work order that failed.
async fn ran_again(service: &TestService, run: &Value) -> Value {
    let id = run["workOrderId"].as_str().unwrap();
    let path = format!("/api/v1/work-orders/{id}/runs");
    let started = service.client.post(&path, &json!({})).await;
    assert_eq!(started.status, 201, "{}", started.text);
    service.client.finished_run(&started.body["data"]).await
}

async fn active(service: &TestService, family: &str) -> usize {
    let listed = compute(service).active_definitions(family).await.unwrap();
    listed.0.len()
}

/// What keeps a task from starting, and what the run's error says of it.
/// A container of the client's had started in those that are charged.
fn failures() -> Vec<(StartFailure, &'static [&'static str])> {
    let failure = |container: Option<&str>, reason: &str| StartFailure {
        container: container.map(str::to_owned),
        reason: reason.to_owned(),
        stopped_reason: "Task failed to start".to_owned(),
        ..StartFailure::default()
    };
    let on_task = |reason: &str| StartFailure {
        stopped_reason: reason.to_owned(),
        ..StartFailure::default()
    };
    let unhealthy = StartFailure {
        is_unhealthy: true,
        ..failure(Some("service-db"), "")
    };
    let exited = StartFailure {
        exit_code: Some(1),
        ..failure(Some("service-db"), "")
    };
    let waited = StartFailure {
        exit_code: Some(143),
        ..failure(
            Some("runner"),
            "CannotStartContainerError: dependency graph: failed to resolve container ordering \
             dependency [service-db(postgres:none) (STOPPED->RUNNING)]",
        )
    };
    let not_pulled = "CannotPullContainerError: pull image manifest has been retried 5 time(s): failed to \
                      resolve ref docker.io/library/postgres:none: not found";
    vec![
        (
            failure(Some("service-db"), not_pulled),
            &["postgres:none", "could not be pulled"],
        ),
        (
            on_task(not_pulled),
            &["service db", "postgres:none", "could not be pulled"],
        ),
        (
            failure(Some("runner"), "CannotPullContainerError: denied"),
            &["registry.example/awo/node", "could not be pulled", "denied"],
        ),
        (
            unhealthy,
            &["service db", "ready", "is charged for its compute"],
        ),
        (
            exited,
            &["service db", "exit code 1", "is charged for its compute"],
        ),
        (waited, &["service db", "did not get ready"]),
        (
            failure(
                Some("runner"),
                "CannotStartContainerError: no such file: /usr/local/bin/runner",
            ),
            &["registry.example/awo/node", "could not be started"],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_a_task_from_starting_is_named_and_free_until_a_container_started() {
    let service = cloud().await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@test -e done\n")]);
    let environment = |name: &str, db: &str| {
        json!({
            "name": name, "image": image("node"),
            "services": [{ "name": "db", "image": db, "port": 5432, "ready": "true" }],
        })
    };
    make(&service.client, &environment("e", "postgres:none")).await;
    for (failure, wanted) in failures() {
        service.service.ecs.set_conduct(Conduct {
            start_failure: Some(failure),
            ..Conduct::default()
        });
        let run = ran(&service, &repository, "e").await;
        let error = &run["error"];
        assert_eq!(run["status"], "failed", "{run:#}");
        assert_eq!(error["code"], "WORKSPACE_FAILED", "{run:#}");
        assert_eq!(
            (&error["category"], &error["retryable"]),
            (&json!("workspace"), &json!(false))
        );
        let message = error["message"].as_str().unwrap();
        for part in wanted {
            assert!(message.contains(part), "{part}: {message}");
        }
        let is_free = run["cost"]["credits"] == 0;
        assert_eq!(is_free, message.contains("not charged"), "{run:#}");
        assert_eq!(is_free, !message.contains("is charged"), "{run:#}");
    }
    let credits = service.client.get("/v1/credits").await.body;
    assert_eq!(credits["reserved"], 0);
    let failed = ran(&service, &repository, "e").await;
    service.service.ecs.set_conduct(Conduct::default());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut corrected = environment("e", "postgres:17");
    corrected["services"][0]["port"] = json!(listener.local_addr().unwrap().port());
    assert_eq!(
        put(&service.client, "/v1/environments/e", &corrected)
            .await
            .status,
        200
    );
    let run = ran_again(&service, &failed).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let made = definition_of(&service, &run).await;
    assert_eq!(made.container_definitions()[1].image(), Some("postgres:17"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_platform_keeps_from_starting_is_not_the_environments_fault() {
    let service = cloud().await;
    let repository = project();
    make(&service.client, &with_database("pg", 5_432)).await;
    let reasons = [
        (
            "runner",
            "CannotPullContainerError: of the deployment's own image",
        ),
        (
            "",
            "ResourceInitializationError: unable to pull secrets or registry auth",
        ),
    ];
    for (container, reason) in reasons {
        service.service.ecs.set_conduct(Conduct {
            start_failure: Some(StartFailure {
                container: (!container.is_empty()).then(|| container.to_owned()),
                reason: reason.to_owned(),
                stopped_reason: reason.to_owned(),
                ..StartFailure::default()
            }),
            ..Conduct::default()
        });
        let run = ran(&service, &repository, "pg").await;
        assert_eq!(run["error"]["code"], "COMPUTE_LOST", "{run:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_ends_before_the_result_is_verified_is_named_and_no_test_is_blamed() {
    let service = cloud().await;
    // The system gives none of these to another test once this one's is free.
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let mut ports = first..first + 1_000;
    let database = ports.find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok());
    let database = database.unwrap();
    let port = database.local_addr().unwrap().port();
    // It answers once, when the run begins.
    let once = std::thread::spawn(move || drop(database.accept().unwrap()));
    make(&service.client, &with_database("pg", port)).await;
    let run = ran(&service, &project(), "pg").await;
    once.join().unwrap();
    assert_eq!(run["error"]["code"], "WORKSPACE_FAILED", "{run:#}");
    let message = run["error"]["message"].as_str().unwrap();
    for part in ["service db (postgres:17)", &format!("127.0.0.1:{port}")] {
        assert!(message.contains(part), "{message}");
    }
}

async fn sweep_after(service: &TestService, ms: i64) {
    service.service.cloud.clock.advance(ms);
    let swept = service.service.sweep().await.unwrap();
    assert_eq!(swept["failed"], 0, "{swept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_that_no_environment_asks_for_any_more_are_taken_out_of_use() {
    let service = cloud().await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@test -e done\n")]);
    let environment = |image: String| json!({ "name": "e", "image": image });
    let (old, new) = (environment(image("old")), environment(image("new")));
    make(&service.client, &old).await;
    ran(&service, &repository, "e").await;
    assert_eq!(
        put(&service.client, "/v1/environments/e", &new)
            .await
            .status,
        200
    );
    let run = ran(&service, &repository, "e").await;
    let made = definition_of(&service, &run).await;
    assert_eq!(
        made.family(),
        Some(&*family(&service, &new)),
        "another image, another definition"
    );
    sweep_after(&service, 1_000).await;
    let (old, new) = (family(&service, &old), family(&service, &new));
    assert_eq!(
        (active(&service, &old).await, active(&service, &new).await),
        (1, 1)
    );
    sweep_after(&service, DAY_MS).await;
    assert_eq!(
        (active(&service, &old).await, active(&service, &new).await),
        (0, 1)
    );
    assert_eq!(
        delete(&service.client, "/v1/environments/e").await.status,
        204
    );
    sweep_after(&service, DAY_MS).await;
    assert_eq!(active(&service, &new).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organizations_own_definition_goes_with_it_and_names_its_access_point_to_the_end() {
    let service = cloud().await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@test -e done\n")]);
    let own = format!("awo-runner-{}", service.org);
    let plain = awo_tests::agents::order(&repository.url(), "echo x > done");
    let made = service.client.post("/v1/work-orders", &plain).await;
    service.client.finished_run(&made.body).await;
    assert_eq!(active(&service, &own).await, 1);
    let (store, clock) = (
        service.service.cloud.store().unwrap(),
        &service.service.cloud.clock,
    );
    sweep_after(&service, 61_000).await;
    assert!(store.suspend(&service.org, clock.now()).await.unwrap());
    store
        .delete_organization(&service.org, clock.now())
        .await
        .unwrap();
    sweep_after(&service, 1_000).await;
    assert_eq!(active(&service, &own).await, 0);
    // What names its access point goes last.
    let retired = store.own_definition(&service.org, None).await.unwrap();
    let retired = retired.expect("until the access point is deleted");
    assert!(retired.access_point().is_some());
    store.note_access_point_deleted(&retired).await.unwrap();
    sweep_after(&service, DAY_MS).await;
    assert_eq!(
        store.own_definition(&service.org, None).await.unwrap(),
        None
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_that_somebody_took_out_of_use_is_made_again() {
    let service = cloud().await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@test -e done\n")]);
    let environment = json!({ "name": "e", "image": image("node") });
    make(&service.client, &environment).await;
    ran(&service, &repository, "e").await;
    let family = family(&service, &environment);
    let (revisions, _) = compute(&service).active_definitions(&family).await.unwrap();
    compute(&service).deregister(&revisions[0]).await.unwrap();
    compute(&service).deregister(&revisions[0]).await.unwrap();
    let made = service
        .client
        .post("/v1/work-orders", &order(&repository, "e"))
        .await;
    let id = made.body["id"].as_str().unwrap();
    // The dispatcher was refused, and has forgotten it; the sweep asks again.
    let store = service.service.cloud.store().unwrap();
    let run_id = awo_domain::RunId::parse(made.body["runId"].as_str().unwrap()).unwrap();
    let forgotten = async || {
        let lease = store.lease(&service.org, &run_id).await.unwrap();
        let id = lease.and_then(|lease| lease.containers)?;
        let own = store.own_definition(&service.org, Some(&id)).await.unwrap();
        own.filter(|own| own.definition.is_none())
    };
    let is_forgotten = async {
        while forgotten().await.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_forgotten).await.unwrap();
    service.service.cloud.clock.advance(UNASKED_MS);
    service.service.sweep().await.unwrap();
    let run = service.client.finished_run(&made.body).await;
    assert_eq!(run["status"], "succeeded", "{id} {run:#}");
    assert_eq!(definition_of(&service, &run).await.revision(), 2);
}
