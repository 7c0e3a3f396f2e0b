//! The cluster of the service: its rule, its journal, and the task definition that the template
//! has in the cloud.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use awo_cloud::compute::CONTAINER;
use awo_cloud::definitions::SHARED_VOLUME;
use serde_json::json;

use super::{CLUSTER, Ending, Options};
use crate::ecs::{Ecs, EcsSettings, MountPoint, TaskDefinition, TaskEvents, TaskRule};
use crate::efs::Efs;
use crate::function::Registry;
use crate::invoke_later::{LaterInvocations, RETRY_WAITS};
use crate::runner_environment;

/// From a task's SIGTERM to its SIGKILL: the longest grace of a kill, the death of what did not
/// heed it, and time for the runner to report the outcome.
const STOP_TIMEOUT: Duration = Duration::from_secs(55);
/// Where a task's container has the folder that the organization's tasks share.
const SHARED_PATH: &str = "/shared";

/// The cluster with the one task definition of the deployment.
///
/// # Errors
/// When the journal of tasks cannot be read.
pub(super) fn start(
    options: &Options,
    base_url: &str,
    registry: &Registry,
    ending: &Ending,
    files: &Efs,
) -> io::Result<Ecs> {
    let rule = TaskRule {
        last_status: ["DEPROVISIONING", "STOPPED"].map(str::to_owned).into(),
        function: "task-stopped".to_owned(),
    };
    let later = LaterInvocations::new(registry.clone(), ending.stores.clone(), RETRY_WAITS);
    let settings = EcsSettings {
        cluster: CLUSTER.to_owned(),
        log_directory: options.log_dir.clone(),
        task_limit: 1_000,
        files: Some(files.clone()),
    };
    let (events, work) = (TaskEvents::new(vec![rule], later), ending.work.clone());
    let ecs = match &options.data_dir {
        Some(dir) => Ecs::restored(settings, events, work, &dir.join("ecs-tasks.jsonl"))?,
        None => Ecs::new(settings, events, work),
    };
    let runner = options.runner.display().to_string();
    let mut environment: BTreeMap<String, String> = runner_environment::of(&options.settings);
    environment.insert("AWO_CONTROL_URL".to_owned(), base_url.to_owned());
    environment.insert(
        "AWO_WORKSPACE_ROOT".to_owned(),
        options.workspace_root.display().to_string(),
    );
    if let Some(dir) = &options.data_dir {
        let own = options.private_files.iter().cloned();
        let private = own.chain([std::path::absolute(dir)?]);
        let private = std::env::join_paths(private).map_err(io::Error::other)?;
        environment.insert(
            "AWO_PRIVATE_DIRS".to_owned(),
            private.to_string_lossy().into_owned(),
        );
    }
    // On one machine tasks share their disk: nothing has to be stored for them beside it, unless the
    // service is to do as it does in the cloud.
    let set = super::environment(&options.settings);
    let shares = set.get("AWO_SHARED_FILE_SYSTEM").is_some();
    if shares {
        environment.insert("AWO_SHARED_ROOT".to_owned(), SHARED_PATH.to_owned());
    }
    let shared = MountPoint {
        source_volume: SHARED_VOLUME.to_owned(),
        container_path: SHARED_PATH.to_owned(),
    };
    ecs.register(TaskDefinition {
        registered: None,
        volumes: vec![json!({ "name": SHARED_VOLUME })],
        mount_points: vec![shared],
        family: "awo-runner".to_owned(),
        container_name: CONTAINER.to_owned(),
        command: vec![runner.clone()],
        environment,
        stop_timeout: STOP_TIMEOUT,
        supervisor: [&runner, "supervise", "--trusted", "--"]
            .map(str::to_owned)
            .to_vec(),
    });
    Ok(ecs)
}
