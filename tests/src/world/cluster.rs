//! The cluster of a world and its tasks, which are programs that wait to be stopped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use awo_domain::OrgId;
use awo_local::ecs::{Conduct, Ecs, EcsSettings, TaskDefinition, TaskEvents};
use awo_local::function::Registry;
use awo_local::invoke_later::{LaterInvocations, RETRY_WAITS};
use awo_local::shutdown::Shutdown;

use super::World;

/// Longest wait for a task to end; on an idle machine it takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

impl World {
    /// Ends a task and waits until it is gone.
    pub async fn stop_task(&self, task_arn: &str) {
        self.compute
            .stop_task(task_arn, "test")
            .await
            .expect("a stop");
        self.task_ends(task_arn).await;
    }

    /// The task of a client token of an organization, dead or alive.
    #[must_use]
    pub fn task_of(&self, org: &OrgId, client_token: &str) -> Option<String> {
        self.ecs.started_by(&format!("{org}/{client_token}"))
    }

    /// How the cluster behaves from now on.
    pub fn set_conduct(&self, conduct: Conduct) {
        self.ecs.set_conduct(conduct);
    }

    /// Waits until a task is gone that was asked to stop.
    pub async fn task_ends(&self, task_arn: &str) {
        let (compute, began) = (&self.compute, Instant::now());
        while began.elapsed() < PATIENCE {
            let state = compute
                .describe_task(task_arn)
                .await
                .expect("a description");
            if !matches!(state, awo_cloud::compute::TaskState::Alive(_)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("{task_arn} does not stop");
    }

    /// Waits until no task lives, as it must be once every run is over: the slot of a runner that
    /// reported that nothing is alive is free before its task has ended.
    ///
    /// # Panics
    /// When one lives on.
    pub async fn nothing_lives(&self) {
        let began = Instant::now();
        while self.living_tasks() > 0 {
            let waits = began.elapsed() < PATIENCE;
            assert!(waits, "a task of a run that is over lives on");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The living tasks.
    #[must_use]
    pub fn living_tasks(&self) -> usize {
        self.ecs.living()
    }
}

pub(super) fn start(log_directory: PathBuf, shutdown: &Shutdown) -> Ecs {
    let later = LaterInvocations::new(Registry::new(), shutdown.clone(), RETRY_WAITS);
    let settings = EcsSettings {
        cluster: "awo".to_owned(),
        log_directory,
        task_limit: 10_000,
        files: None,
    };
    let ecs = Ecs::new(
        settings,
        TaskEvents::new(Vec::new(), later),
        shutdown.clone(),
    );
    ecs.register(TaskDefinition {
        registered: None,
        family: "runner".to_owned(),
        container_name: awo_cloud::compute::CONTAINER.to_owned(),
        command: vec!["/bin/sleep".to_owned(), "3600".to_owned()],
        environment: BTreeMap::new(),
        stop_timeout: Duration::from_millis(100),
        supervisor: Vec::new(),
        volumes: Vec::new(),
        mount_points: Vec::new(),
    });
    ecs
}
