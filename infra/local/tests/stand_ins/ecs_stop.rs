use std::path::Path;
use std::time::{Duration, Instant};

use awo_local::ecs::TaskDefinition;
use aws_sdk_ecs::types::Task;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cloud::eventually;
use crate::cluster::{Cluster, arn_of, definition};

async fn stop(cluster: &Cluster, arn: &str) -> Task {
    let stop = cluster
        .client
        .stop_task()
        .cluster("local")
        .task(arn)
        .reason("not wanted");
    stop.send().await.unwrap().task.unwrap()
}

async fn gone(process: &str) {
    let path = format!("/proc/{}", process.trim());
    eventually("the process is gone", async || {
        (!Path::new(&path).exists()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_stopped_task_may_end_by_itself() {
    let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let cluster = Cluster::start(definition(script)).await;
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    cluster.printed(&arn).await;
    let stopping = stop(&cluster, &arn).await;
    assert_eq!(stopping.desired_status(), Some("STOPPED"));
    assert_eq!(stopping.last_status(), Some("RUNNING"));
    let task = cluster.wait_for(&arn, "STOPPED").await;
    assert_eq!(task.containers()[0].exit_code(), Some(5));
    assert_eq!(task.stop_code().unwrap().as_str(), "UserInitiated");
    assert_eq!(task.stopped_reason(), Some("not wanted"));
    // Once more is no error and no change.
    assert_eq!(stop(&cluster, &arn).await.version(), task.version());
}

#[tokio::test]
async fn a_task_that_ignores_sigterm_is_killed_after_its_stop_timeout() {
    let script = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    let stop_timeout = Duration::from_millis(200);
    let cluster = Cluster::start(TaskDefinition {
        stop_timeout,
        ..definition(script)
    })
    .await;
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    cluster.printed(&arn).await;
    let start = Instant::now();
    stop(&cluster, &arn).await;
    let task = cluster.wait_for(&arn, "STOPPED").await;
    assert!(start.elapsed() >= stop_timeout, "{:?}", start.elapsed());
    assert_eq!(task.containers()[0].exit_code(), Some(137));
}

#[tokio::test]
async fn a_task_leads_a_session_of_its_own() {
    let cluster = Cluster::start(definition("cut -d ' ' -f 1,6 /proc/$$/stat")).await;
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    let printed = cluster.printed(&arn).await;
    let (process, session) = printed.trim().split_once(' ').unwrap();
    assert_eq!(process, session);
}

#[tokio::test]
async fn what_a_task_left_running_dies_with_it() {
    let cluster = Cluster::start(definition("sleep 60 & echo $!; exit 0")).await;
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    let child = cluster.printed(&arn).await;
    cluster.wait_for(&arn, "STOPPED").await;
    gone(&child).await;
}

/// A supervisor that writes down its orders and obeys only the last one.
fn supervised(orders: &Path) -> TaskDefinition {
    let script = format!(
        "echo ready; while read order; do echo $order >> {0}; \
         [ $order = kill ] && exit 9; done; echo end >> {0}",
        orders.display()
    );
    TaskDefinition {
        supervisor: ["/bin/sh", "-c", &script, "--"].map(str::to_owned).to_vec(),
        volumes: Vec::new(),
        mount_points: Vec::new(),
        stop_timeout: Duration::from_millis(100),
        ..definition("never started by this supervisor")
    }
}

#[tokio::test]
async fn a_supervisor_gets_its_orders_as_lines() {
    let directory = tempfile::tempdir().unwrap();
    let orders = directory.path().join("orders");
    let cluster = Cluster::start(supervised(&orders)).await;
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    cluster.printed(&arn).await;
    stop(&cluster, &arn).await;
    let task = cluster.wait_for(&arn, "STOPPED").await;
    assert_eq!(std::fs::read_to_string(&orders).unwrap(), "stop\nkill\n");
    assert_eq!(task.containers()[0].exit_code(), Some(9));
}

#[tokio::test]
async fn the_shutdown_stops_the_tasks() {
    let cluster = Cluster::start(definition("echo $$; exec sleep 60")).await;
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    let process = cluster.printed(&arn).await;
    cluster.shutdown.begin();
    assert!(cluster.ecs.idle(Duration::from_secs(8)).await);
    gone(&process).await;
}

#[tokio::test]
async fn output_beyond_the_limit_is_read_but_not_stored() {
    let script = "head -c 12000000 /dev/zero; echo done >&2";
    let cluster = Cluster::start(definition(script)).await;
    let arn = arn_of(cluster.run().send().await.unwrap().tasks());
    let task = cluster.wait_for(&arn, "STOPPED").await;
    assert_eq!(task.containers()[0].exit_code(), Some(0));
    let path = cluster.log(&arn, "stdout");
    let size = eventually("the end of the log", async || {
        std::fs::read(&path)
            .ok()
            .filter(|bytes| bytes.ends_with(b"stored]\n"))
    })
    .await
    .len();
    assert!(
        (10 * 1024 * 1024..10 * 1024 * 1024 + 100).contains(&size),
        "{size}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_event_of_the_end_follows_the_end_within_milliseconds() {
    let cluster = Cluster::start(definition("echo $$; exec sleep 60")).await;
    let mut latencies = Vec::new();
    for _ in 0..9 {
        let arn = arn_of(cluster.run().send().await.unwrap().tasks());
        let process = cluster.printed(&arn).await;
        let process = Pid::from_raw(process.trim().parse().unwrap());
        let killed = Instant::now();
        kill(process, Signal::SIGKILL).unwrap();
        let ended = eventually("the event", async || {
            cluster.ends.lock().unwrap().get(&arn).copied()
        })
        .await;
        latencies.push(ended - killed);
    }
    latencies.sort();
    println!(
        "from the end to its event: median {:?}, worst {:?}",
        latencies[4], latencies[8]
    );
    assert!(latencies[4] < Duration::from_millis(20), "{latencies:?}");
}
