//! Task events: when a task has stopped, its run ends and its slot is returned. Events arrive at
//! least once and in any order, so only ECS's current description of the task counts.

use std::sync::Arc;

use awo_cloud::compute::{Compute, TaskState, run_of, started_by};
use awo_cloud::{Clock, Cloud, SetupError};
use awo_domain::Error;
use awo_execution::endings::Endings;
use awo_store::Store;
use serde::Deserialize;

use crate::{Worker, worker};

/// The state of the function.
#[derive(Debug, Clone)]
pub struct State {
    store: Store,
    compute: Compute,
    clock: Clock,
    endings: Endings,
}

/// The parts of a task event that are read.
#[derive(Debug, Deserialize)]
pub struct TaskEvent {
    detail: Detail,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    task_arn: String,
    #[serde(default)]
    last_status: String,
    #[serde(default)]
    started_by: Option<String>,
}

/// The function `task-stopped`.
///
/// # Errors
/// When a setting is missing or does not read.
pub fn function(cloud: &Cloud) -> Result<Worker, SetupError> {
    Ok(worker(cloud, state(cloud)?, handle))
}

/// The state of `task-stopped`.
///
/// # Errors
/// When a setting is missing.
pub fn state(cloud: &Cloud) -> Result<State, SetupError> {
    Ok(State {
        store: cloud.store()?,
        compute: cloud.compute()?,
        clock: cloud.clock.clone(),
        endings: Endings::new(cloud)?,
    })
}

/// Handles one event.
///
/// # Errors
/// When a call fails: the event comes again, and the sweep checks as well.
pub async fn handle(state: Arc<State>, event: TaskEvent) -> Result<(), lambda_runtime::Error> {
    let detail = event.detail;
    task_stopped(&state, &detail).await.map_err(|error| {
        tracing::error!(
            event = "task_event_failed",
            task = detail.task_arn,
            ?error,
            "a task event could not be handled"
        );
        lambda_runtime::Error::from("the task event was not handled")
    })
}

async fn task_stopped(state: &State, detail: &Detail) -> Result<(), Error> {
    let asked_by = detail.started_by.as_deref().unwrap_or_default();
    let (Some((org, run)), "DEPROVISIONING" | "STOPPED") =
        (run_of(asked_by), detail.last_status.as_str())
    else {
        return Ok(());
    };
    let Some(lease) = state.store.lease(&org, &run).await? else {
        return Ok(());
    };
    let another = |known: &String| *known != detail.task_arn;
    if lease.task_arn.as_ref().is_some_and(another) || started_by(&lease) != asked_by {
        return Ok(());
    }
    let TaskState::Gone(gone) = state.compute.describe_task(&detail.task_arn).await? else {
        // What ECS answers may be older than its events. One event more comes of a task that is
        // being taken down; behind the last one only this one, again.
        return match detail.last_status.as_str() {
            "STOPPED" => Err(Error::internal(
                "ECS does not know yet that a task has stopped",
            )),
            _ => Ok(()),
        };
    };
    state
        .endings
        .compute_gone(&lease, &gone, state.clock.now())
        .await
}
