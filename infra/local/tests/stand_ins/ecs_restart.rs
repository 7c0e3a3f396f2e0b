//! A cluster's knowledge of the tasks of its predecessor. The predecessor is never asked to end
//! here, as a killed cloud is not.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use aws_sdk_ecs::types::{ContainerOverride, KeyValuePair, TaskOverride};

use crate::cloud::eventually;
use crate::cluster::{Cluster, arn_of, definition};

const SECRET: &str = "a-value-that-must-not-be-written";

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        Scene {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn journal(&self) -> PathBuf {
        self.directory.path().join("ecs-tasks.jsonl")
    }

    fn written(&self) -> String {
        std::fs::read_to_string(self.journal()).unwrap()
    }

    async fn cluster(&self, script: &str) -> Cluster {
        Cluster::restored(definition(script), &self.journal()).await
    }
}

/// Asks for a task as the product does: with a token, and a secret in its environment.
async fn run(cluster: &Cluster, started_by: &str) -> aws_sdk_ecs::types::Task {
    let variable = KeyValuePair::builder().name("NONCE").value(SECRET).build();
    let container = ContainerOverride::builder()
        .name("main")
        .environment(variable)
        .build();
    let overrides = TaskOverride::builder()
        .container_overrides(container)
        .build();
    let run = cluster
        .run()
        .client_token(format!("token of {started_by}"))
        .started_by(started_by)
        .overrides(overrides);
    run.send().await.unwrap().tasks.unwrap().remove(0)
}

fn arn(task: &aws_sdk_ecs::types::Task) -> String {
    arn_of(std::slice::from_ref(task))
}

#[tokio::test]
async fn a_task_that_lived_when_the_cloud_was_killed_is_stopped_after_the_restart() {
    let scene = Scene::new();
    let before = scene.cluster("echo up; exec sleep 60").await;
    let lived = run(&before, "run-1").await;
    before.printed(&arn(&lived)).await;
    let last_version = before.describe(&arn(&lived)).await.version();

    let after = scene.cluster("exit 0").await;
    let task = after.describe(&arn(&lived)).await;
    assert_eq!(task.last_status(), Some("STOPPED"));
    assert_eq!(task.stop_code().unwrap().as_str(), "TerminationNotice");
    assert_eq!(
        task.stopped_reason(),
        Some("Host was lost: the local cloud was restarted")
    );
    assert_eq!(task.containers()[0].exit_code(), None);
    assert_eq!(task.containers()[0].name(), Some("main"));
    assert_eq!(task.started_by(), Some("run-1"));
    assert_eq!(task.created_at(), lived.created_at());
    assert!(task.version() > last_version, "{task:?}");
    assert_eq!(after.ecs.living(), 0);
    let list = after.client.list_tasks().cluster("local");
    let found = list.started_by("run-1").send().await.unwrap();
    assert_eq!(found.task_arns(), [] as [&str; 0]);
}

#[tokio::test]
async fn the_end_of_a_lost_task_is_reported_when_the_functions_are_there() {
    let scene = Scene::new();
    let before = scene.cluster("echo up; exec sleep 60").await;
    let lived = arn(&run(&before, "run-1").await);
    before.printed(&lived).await;
    let after = scene.cluster("exit 0").await;
    assert!(after.events.lock().unwrap().is_empty());
    after.ecs.report_stopped();
    eventually("the rule for stopped tasks", async || {
        after.ends.lock().unwrap().get(&lived).copied()
    })
    .await;
    let event = after.events.lock().unwrap()[0].clone();
    assert_eq!(event["detail"]["startedBy"], "run-1");
    assert_eq!(event["detail"]["stopCode"], "TerminationNotice");
    // A second restart reports it once more: it is unknown whether the first was received.
    let once_more = scene.cluster("exit 0").await;
    once_more.ecs.report_stopped();
    eventually("the same end", async || {
        once_more.ends.lock().unwrap().get(&lived).copied()
    })
    .await;
}

#[tokio::test]
async fn a_client_token_starts_its_task_once_over_a_restart_too() {
    let scene = Scene::new();
    let before = scene.cluster("echo up; exec sleep 60").await;
    let lived = run(&before, "run-1").await;
    before.printed(&arn(&lived)).await;
    let after = scene.cluster("exec sleep 60").await;
    let again = run(&after, "run-1").await;
    assert_eq!(arn(&again), arn(&lived));
    assert_eq!(again.last_status(), Some("STOPPED"));
    assert_eq!(after.ecs.living(), 0);
    let other = after
        .run()
        .client_token("token of run-1")
        .started_by("run-2");
    let conflict = other.send().await.unwrap_err().into_service_error();
    assert!(conflict.is_conflict_exception(), "{conflict:?}");
    assert_ne!(arn(&run(&after, "run-2").await), arn(&lived));
}

#[tokio::test]
async fn a_task_that_had_ended_keeps_its_end() {
    let scene = Scene::new();
    let before = scene.cluster("exit 3").await;
    let ended = arn(&run(&before, "run-1").await);
    let reported = before.wait_for(&ended, "STOPPED").await;
    let after = scene.cluster("exit 0").await;
    let task = after.describe(&ended).await;
    assert_eq!(task.containers()[0].exit_code(), Some(3));
    assert_eq!(
        task.stop_code().unwrap().as_str(),
        "EssentialContainerExited"
    );
    assert_eq!(task.version(), reported.version());
    assert_eq!(task.stopped_at(), reported.stopped_at());
}

#[tokio::test]
async fn values_of_the_environment_are_not_written_down() {
    let scene = Scene::new();
    let before = scene.cluster("echo up; exec sleep 60").await;
    let lived = arn(&run(&before, "run-1").await);
    before.printed(&lived).await;
    let after = scene.cluster("exit 0").await;
    for journal in [scene.written(), scene.written().replace("\\", "")] {
        assert!(journal.contains("NONCE"), "{journal}");
        assert!(!journal.contains(SECRET), "{journal}");
        assert!(!journal.contains("DEFINED"), "{journal}");
    }
    let mode = std::fs::metadata(scene.journal())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(after);
}

#[tokio::test]
async fn a_torn_line_costs_only_itself() {
    let scene = Scene::new();
    let before = scene.cluster("echo up; exec sleep 60").await;
    let first = arn(&run(&before, "run-1").await);
    let second = arn(&run(&before, "run-2").await);
    before.printed(&second).await;
    let whole = scene.written();
    let torn = whole.trim_end().len() - 40;
    std::fs::write(
        scene.journal(),
        [b"\xff not JSON\n", &whole.as_bytes()[..torn]].concat(),
    )
    .unwrap();
    let after = scene.cluster("exit 0").await;
    assert_eq!(after.describe(&first).await.last_status(), Some("STOPPED"));
    assert_eq!(after.describe(&second).await.last_status(), Some("STOPPED"));
    assert!(!scene.written().contains("not JSON"));
    // What is written after the torn line is read by the next.
    let third = arn(&run(&after, "run-3").await);
    after.wait_for(&third, "STOPPED").await;
    let last = scene.cluster("exit 0").await;
    assert_eq!(last.describe(&third).await.last_status(), Some("STOPPED"));
}

#[tokio::test]
async fn the_journal_is_written_anew_with_a_line_for_each_task() {
    let scene = Scene::new();
    let before = scene.cluster("exit 0").await;
    for number in 0..3 {
        let task = arn(&run(&before, &format!("run-{number}")).await);
        before.wait_for(&task, "STOPPED").await;
    }
    // A line at its start, one at its end, one for its token.
    assert_eq!(scene.written().lines().count(), 9);
    scene.cluster("exit 0").await;
    assert_eq!(scene.written().lines().count(), 6);
}
