use aws_sdk_ecs::error::ProvideErrorMetadata;
use aws_sdk_ecs::types::{ContainerOverride, KeyValuePair, TaskOverride};

use crate::cloud::{ecs_client, eventually};
use crate::cluster::{Cluster, arn_of, definition};

fn with_environment(pairs: &[(&str, &str)]) -> TaskOverride {
    let mut container = ContainerOverride::builder().name("main");
    for (name, value) in pairs {
        container =
            container.environment(KeyValuePair::builder().name(*name).value(*value).build());
    }
    TaskOverride::builder()
        .container_overrides(container.build())
        .build()
}

#[tokio::test]
async fn a_task_runs_to_its_end_with_a_clean_environment() {
    let cluster = Cluster::start(definition("env; echo oops >&2; exit 3")).await;
    let overrides = with_environment(&[("OVERRIDDEN", "2"), ("DEFINED", "3")]);
    let run = cluster
        .run()
        .overrides(overrides)
        .started_by("run-1")
        .send()
        .await
        .unwrap();
    assert_eq!(run.tasks()[0].last_status(), Some("PROVISIONING"));
    let arn = arn_of(run.tasks());
    let task = cluster.wait_for(&arn, "STOPPED").await;
    assert_eq!(task.containers()[0].exit_code(), Some(3));
    assert_eq!(
        task.stop_code().unwrap().as_str(),
        "EssentialContainerExited"
    );
    assert_eq!(
        task.stopped_reason(),
        Some("Essential container in task exited")
    );
    assert_eq!(task.started_by(), Some("run-1"));
    assert!(task.created_at() <= task.started_at() && task.started_at() <= task.stopped_at());
    let output = cluster.printed(&arn).await;
    let names: Vec<_> = output
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    // PWD, SHLVL and _ are the shell's own.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let mut names: Vec<_> = names
        .into_iter()
        .filter(|name| !own.contains(name))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["DEFINED", "OVERRIDDEN", "PATH"]);
    assert!(output.contains("DEFINED=3"));
    let errors = cluster.log(&arn, "stderr");
    eventually("the error output", async || {
        std::fs::read_to_string(&errors)
            .ok()
            .filter(|text| text == "oops\n")
    })
    .await;
}

#[tokio::test]
async fn a_client_token_starts_its_task_once() {
    let cluster = Cluster::start(definition("exec sleep 60")).await;
    let run = |started_by: &str| {
        cluster
            .run()
            .client_token("token")
            .started_by(started_by)
            .send()
    };
    let (first, second) = tokio::join!(run("a"), run("a"));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(arn_of(first.tasks()), arn_of(second.tasks()));
    assert_eq!(cluster.ecs.living(), 1);
    let conflict = run("b").await.unwrap_err().into_service_error();
    assert!(conflict.is_conflict_exception(), "{conflict:?}");
    assert_eq!(cluster.ecs.living(), 1);
    let long = cluster
        .run()
        .client_token("x".repeat(65))
        .send()
        .await
        .unwrap_err();
    assert_eq!(long.code(), Some("InvalidParameterException"));
}

#[tokio::test]
async fn tasks_beyond_the_limit_are_failures_and_may_be_tried_again() {
    let cluster = Cluster::start(definition("exec sleep 60")).await;
    cluster.ecs.set_task_limit(1);
    let run = cluster.run().count(2).send().await.unwrap();
    assert_eq!((run.tasks().len(), run.failures().len()), (1, 1));
    assert_eq!(run.failures()[0].reason(), Some("RESOURCE:MEMORY"));
    let refused = cluster.run().client_token("later").send().await.unwrap();
    assert_eq!((refused.tasks().len(), refused.failures().len()), (0, 1));
    cluster.ecs.set_task_limit(2);
    let again = cluster.run().client_token("later").send().await.unwrap();
    assert_eq!((again.tasks().len(), again.failures().len()), (1, 0));
}

#[tokio::test]
async fn every_change_of_a_task_is_an_event_with_a_growing_version() {
    let cluster = Cluster::start(definition("exit 7")).await;
    let run = cluster.run().started_by("run-1").send().await.unwrap();
    let arn = arn_of(run.tasks());
    let mut events = eventually("five events", async || {
        let events = cluster.events.lock().unwrap().clone();
        (events.len() == 5).then_some(events)
    })
    .await;
    events.sort_by_key(|event| event["detail"]["version"].as_u64());
    let states: Vec<_> = events
        .iter()
        .map(|event| event["detail"]["lastStatus"].as_str().unwrap())
        .collect();
    assert_eq!(
        states,
        [
            "PROVISIONING",
            "PENDING",
            "RUNNING",
            "DEPROVISIONING",
            "STOPPED"
        ]
    );
    let last = &events[4];
    assert_eq!(last["version"], "0");
    assert_eq!(last["detail-type"], "ECS Task State Change");
    assert_eq!(last["source"], "aws.ecs");
    assert_eq!(last["resources"][0], arn.as_str());
    let detail = &last["detail"];
    assert_eq!(detail["taskArn"], arn.as_str());
    assert_eq!(
        detail["clusterArn"],
        "arn:aws:ecs:us-east-1:000000000000:cluster/local"
    );
    assert_eq!(detail["version"], 5);
    assert_eq!(detail["desiredStatus"], "STOPPED");
    assert_eq!(detail["startedBy"], "run-1");
    assert_eq!(detail["stopCode"], "EssentialContainerExited");
    assert_eq!(detail["containers"][0]["exitCode"], 7);
    assert_eq!(detail["containers"][0]["name"], "main");
    assert_eq!(detail["overrides"]["containerOverrides"][0]["name"], "main");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_stops_the_task() {
    let mut broken = definition("");
    broken.command = vec!["/no/such/program".to_owned()];
    let cluster = Cluster::start(broken).await;
    let run = cluster.run().send().await.unwrap();
    let task = cluster.wait_for(&arn_of(run.tasks()), "STOPPED").await;
    assert_eq!(task.stop_code().unwrap().as_str(), "TaskFailedToStart");
    assert!(
        task.stopped_reason()
            .unwrap()
            .starts_with("CannotStartContainerError")
    );
    assert_eq!(task.containers()[0].exit_code(), None);
}

#[tokio::test]
async fn tasks_are_listed_by_what_they_are_wanted_to_be() {
    let cluster = Cluster::start(definition("exec sleep 60")).await;
    let first = arn_of(cluster.run().started_by("a").send().await.unwrap().tasks());
    let second = arn_of(cluster.run().started_by("b").send().await.unwrap().tasks());
    let list = || cluster.client.list_tasks().cluster("local");
    assert_eq!(
        list().started_by("a").send().await.unwrap().task_arns(),
        std::slice::from_ref(&first)
    );
    let page = list().max_results(1).send().await.unwrap();
    let rest = list()
        .max_results(1)
        .next_token(page.next_token().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(rest.next_token(), None);
    let mut all = [page.task_arns(), rest.task_arns()].concat();
    all.sort();
    let mut expected = [first.clone(), second.clone()];
    expected.sort();
    assert_eq!(all, expected);
    cluster
        .client
        .stop_task()
        .cluster("local")
        .task(&first)
        .send()
        .await
        .unwrap();
    assert_eq!(list().send().await.unwrap().task_arns(), [second]);
    let stopped = list()
        .desired_status("STOPPED".into())
        .send()
        .await
        .unwrap();
    assert_eq!(stopped.task_arns(), [first]);
}

#[tokio::test]
async fn what_is_missing_is_a_failure_or_an_error_of_ecs() {
    let cluster = Cluster::start(definition("exit 0")).await;
    let described = cluster
        .client
        .describe_tasks()
        .cluster("local")
        .tasks("gone")
        .send()
        .await;
    assert_eq!(described.unwrap().failures()[0].reason(), Some("MISSING"));
    let many = (0..101).map(|number| number.to_string()).collect();
    let many = cluster
        .client
        .describe_tasks()
        .cluster("local")
        .set_tasks(Some(many))
        .send()
        .await;
    assert_eq!(many.unwrap_err().code(), Some("InvalidParameterException"));
    let stop = cluster
        .client
        .stop_task()
        .cluster("local")
        .task("gone")
        .send()
        .await;
    assert!(
        stop.unwrap_err()
            .into_service_error()
            .is_invalid_parameter_exception()
    );
    let elsewhere = cluster.run().cluster("elsewhere").send().await.unwrap_err();
    assert!(
        elsewhere
            .into_service_error()
            .is_cluster_not_found_exception()
    );
    let unknown = cluster
        .run()
        .task_definition("unknown")
        .send()
        .await
        .unwrap_err();
    assert!(unknown.into_service_error().is_client_exception());
    let stranger = ecs_client(&cluster.endpoint, "AKIASTRANGER")
        .list_tasks()
        .send()
        .await;
    assert_eq!(
        stranger.unwrap_err().code(),
        Some("UnrecognizedClientException")
    );
}
