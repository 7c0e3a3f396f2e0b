//! The cluster with the behaviour of the real ECS.

use std::time::{Duration, Instant};

use awo_local::ecs::Conduct;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use aws_sdk_ecs::types::DesiredStatus;

use crate::cloud::eventually;
use crate::cluster::{Cluster, arn_of, definition};

const STAGE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn list_tasks_takes_no_filter_beside_started_by() {
    let cluster = Cluster::start(definition("sleep 60")).await;
    let list = || cluster.client.list_tasks().cluster("local");
    assert!(list().started_by("a").send().await.is_ok());
    let both = list()
        .started_by("a")
        .desired_status(DesiredStatus::Stopped);
    let refused = both.send().await.unwrap_err();
    assert_eq!(refused.code(), Some("InvalidParameterException"));
    let family = list().family("runner");
    let stopped = family.desired_status(DesiredStatus::Stopped).send().await;
    assert!(stopped.is_ok());
}

#[tokio::test]
async fn no_capacity_is_a_failure_of_an_answer_and_the_same_token_starts_a_task_later() {
    let cluster = Cluster::start(definition("sleep 60")).await;
    let reason = "You've reached the limit on the number of vCPUs you can run concurrently";
    cluster.ecs.set_conduct(Conduct {
        starts_nothing: Some(reason.to_owned()),
        ..Conduct::default()
    });
    let run = || cluster.run().client_token("t").send();
    let answer = run().await.unwrap();
    assert!(answer.tasks().is_empty());
    assert_eq!(answer.failures()[0].reason(), Some(reason));
    cluster.ecs.set_conduct(Conduct::default());
    assert_eq!(run().await.unwrap().tasks().len(), 1);
}

#[tokio::test]
async fn the_end_of_a_container_is_known_before_that_of_its_task() {
    let cluster = Cluster::start(definition("exit 7")).await;
    cluster.ecs.set_conduct(Conduct {
        notices_end_after: STAGE,
        deprovisions_for: STAGE,
        ..Conduct::default()
    });
    let began = Instant::now();
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    let task = cluster.wait_for(&arn, "DEPROVISIONING").await;
    assert!(began.elapsed() >= STAGE);
    let container = &task.containers()[0];
    assert_eq!(container.last_status(), Some("STOPPED"));
    assert_eq!(container.exit_code(), Some(7));
    assert_eq!(cluster.ecs.living(), 1);
    cluster.wait_for(&arn, "STOPPED").await;
    assert!(began.elapsed() >= 2 * STAGE);
}

#[tokio::test]
async fn events_come_late_twice_and_out_of_order_and_descriptions_are_older() {
    let cluster = Cluster::start(definition("exit 0")).await;
    cluster.ecs.set_conduct(Conduct {
        event_delay: Duration::from_millis(50),
        events_twice: true,
        describes_after: Duration::from_secs(2),
        ..Conduct::default()
    });
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    let known = cluster.client.describe_tasks().cluster("local").tasks(&arn);
    let known = known.send().await.unwrap();
    assert_eq!(known.failures()[0].reason(), Some("MISSING"));
    let versions = eventually("all events came", async || {
        let events = cluster.events.lock().unwrap();
        let version = |event: &serde_json::Value| event["detail"]["version"].as_u64();
        let versions: Vec<u64> = events.iter().filter_map(version).collect();
        let last = versions.iter().max().copied().unwrap_or(0);
        let stopped = |event: &&serde_json::Value| event["detail"]["lastStatus"] == "STOPPED";
        let whole = versions.len() as u64 == 2 * last;
        (whole && events.iter().filter(stopped).count() == 2).then_some(versions)
    })
    .await;
    assert!(!versions.is_sorted(), "{versions:?}");
    // The events have reported it before.
    eventually("the description says that it stopped", async || {
        let asked = cluster.client.describe_tasks().cluster("local").tasks(&arn);
        let tasks = asked.send().await.unwrap().tasks.unwrap_or_default();
        let stopped = tasks.first()?.last_status() == Some("STOPPED");
        stopped.then_some(())
    })
    .await;
}
