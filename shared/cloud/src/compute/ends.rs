//! How tasks end, in ECS's words.

use awo_domain::environment::Containers;
use aws_sdk_ecs::types::{Container, HealthStatus, Task, TaskStopCode};

use super::{CONTAINER, SERVICE_PREFIX};

/// ECS's words for a container that could not be started.
const CANNOT_START: &str = "CannotStartContainer";
/// The local cloud's reason for tasks that ended with it: on one machine they end with the service.
pub const ENDED_WITH_SERVICE: &str = "Host was lost: the local cloud was restarted";

/// The known state of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// It lives, or may.
    Alive(StartedContainers),
    /// It is gone.
    Gone(TaskEnd),
}

/// The containers of a task that ECS has started, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartedContainers(Vec<String>);

impl StartedContainers {
    /// True if one of them is a client's: a service, or the runner's in an image of the environment.
    #[must_use]
    pub fn run_client_code(&self, own: &Containers) -> bool {
        let mut names = self.0.iter();
        names.any(|name| {
            name.starts_with(SERVICE_PREFIX) || (own.image.is_some() && name == CONTAINER)
        })
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskEnd {
    /// The runner's exit code.
    pub exit_code: Option<i32>,
    /// In ECS's words.
    pub reason: String,
    /// True if ECS reports that the runner's container ended by itself: the task was not stopped, and
    /// no host was lost.
    pub ended_by_itself: bool,
    /// The containers that it had started.
    pub started: StartedContainers,
    /// ECS's report on the containers, if the task ended because of them.
    pub containers: Vec<ContainerEnd>,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerEnd {
    /// The service that it is of; none for the runner's.
    pub service: Option<String>,
    /// Its exit code, if it ran.
    pub exit_code: Option<i32>,
    /// In ECS's words.
    pub reason: String,
    /// True if it reported that it was not ready.
    pub is_unhealthy: bool,
}

impl TaskEnd {
    /// True if the local service ended, and the task with it.
    #[must_use]
    pub fn ended_with_service(&self) -> bool {
        self.reason == ENDED_WITH_SERVICE
    }

    /// True if the task's own content killed it: it was out of memory.
    #[must_use]
    pub fn was_out_of_memory(&self) -> bool {
        self.reason.contains("OutOfMemory")
    }
}

/// True once the runner's container has: taking down what stood around it takes Fargate a while longer.
pub(super) fn has_ended(task: &Task) -> bool {
    let container = runner_of(task).and_then(Container::last_status);
    [task.last_status(), container].contains(&Some("STOPPED"))
}

fn runner_of(task: &Task) -> Option<&Container> {
    let mut containers = task.containers().iter();
    containers.find(|container| container.name() == Some(CONTAINER))
}

/// The containers of a task that have run, or do.
pub(super) fn started(task: &Task) -> StartedContainers {
    let has_started = |container: &&Container| {
        let is_running = container.last_status() == Some("RUNNING");
        let could_not = container
            .reason()
            .is_some_and(|why| why.contains(CANNOT_START));
        is_running || (container.exit_code().is_some() && !could_not) || is_unhealthy(container)
    };
    let containers = task.containers().iter().filter(has_started);
    let names = containers.filter_map(|container| container.name().map(str::to_owned));
    StartedContainers(names.collect())
}

fn is_unhealthy(container: &Container) -> bool {
    container.health_status() == Some(&HealthStatus::Unhealthy)
}

pub(super) fn gone(task: &Task) -> TaskEnd {
    let container = runner_of(task);
    let reasons: Vec<&str> = [container.and_then(|c| c.reason()), task.stopped_reason()]
        .into_iter()
        .flatten()
        .collect();
    let exit_code = container.and_then(|c| c.exit_code());
    let exited = task.stop_code() == Some(&TaskStopCode::EssentialContainerExited);
    let is_of_containers = exited || task.stop_code() == Some(&TaskStopCode::TaskFailedToStart);
    let containers = task.containers().iter().filter(|_| is_of_containers);
    TaskEnd {
        exit_code,
        reason: reasons.join("; "),
        // Without an exit code the container never ran, or is not known to have ended.
        ended_by_itself: exit_code.is_some() && exited,
        started: started(task),
        containers: containers.map(container_end).collect(),
    }
}

fn container_end(container: &Container) -> ContainerEnd {
    let name = container.name().unwrap_or_default();
    ContainerEnd {
        service: name.strip_prefix(SERVICE_PREFIX).map(str::to_owned),
        exit_code: container.exit_code(),
        reason: container.reason().unwrap_or_default().to_owned(),
        is_unhealthy: is_unhealthy(container),
    }
}
