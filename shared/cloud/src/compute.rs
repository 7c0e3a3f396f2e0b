//! Compute: one ECS task for a run, or for a manual verification. Every principal that may describe
//! a task can read its overrides, so they contain a single-use nonce and nothing else.

mod ends;
mod finding;
mod refusals;

use awo_domain::environment::Size;
use awo_domain::{Error, OrgId, RunId, VerificationId};
use awo_store::runs::lifecycle::lease::{Lease, run_of_client_token};
use awo_store::runs::verifications::Verification;
use aws_sdk_ecs::Client;
use aws_sdk_ecs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_ecs::operation::run_task::RunTaskError;
use aws_sdk_ecs::types::{ContainerOverride, KeyValuePair, LaunchType, Task, TaskOverride};

use crate::definitions::is_gone;
use crate::environment::{Environment, SetupError};
pub use crate::launch::Launch;
pub use ends::{ContainerEnd, ENDED_WITH_SERVICE, StartedContainers, TaskEnd, TaskState};
use ends::{gone, has_ended};
pub use refusals::EcsError;
pub(crate) use refusals::busy;

/// The name of the container in the task definition.
pub const CONTAINER: &str = "runner";
/// What the names of other containers begin with.
const SERVICE_PREFIX: &str = "service-";
/// The variable in which the nonce reaches the runner.
pub const NONCE_VARIABLE: &str = "AWO_NONCE";

/// The container of a service of an environment. No service can have the runner's name so.
#[must_use]
pub fn service_container(service: &str) -> String {
    format!("{SERVICE_PREFIX}{service}")
}

/// The cluster on which runs run.
#[derive(Debug, Clone)]
pub struct Compute {
    client: Client,
    cluster: String,
}

/// The outcome of a request for a task.
#[derive(Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// There is one.
    Started {
        /// Its ARN.
        task_arn: String,
    },
    /// The task definition is out of use, or was never there.
    NoDefinition,
    /// The cluster has no room now.
    NoCapacity {
        /// In ECS's words.
        reason: String,
    },
}

/// The lease of a task, from its `startedBy`: a run may have had a task before.
#[must_use]
pub fn started_by(lease: &Lease) -> String {
    started_as(&lease.org_id, &lease.client_token)
}

fn started_as(org: &OrgId, client_token: &str) -> String {
    format!("{org}/{client_token}")
}

/// The manual verification of a task, from its `startedBy`.
fn started_for(org: &OrgId, id: &VerificationId) -> String {
    format!("{org}/{id}")
}

/// The request of one task.
struct TaskRequest<'a> {
    org: &'a OrgId,
    size: Option<Size>,
    nonce: String,
    client_token: String,
    started_by: String,
}

/// The run of what [`started_by`] wrote; none for the task of a manual verification.
#[must_use]
pub fn run_of(started_by: &str) -> Option<(OrgId, RunId)> {
    let (org, token) = started_by.split_once('/')?;
    Some((OrgId::parse(org).ok()?, run_of_client_token(token)?))
}

/// The task of a client token that was used with another request.
fn conflicting(error: &SdkError<RunTaskError>) -> Option<String> {
    match error.as_service_error()? {
        RunTaskError::ConflictException(e) => e.resource_ids().first().cloned(),
        _ => None,
    }
}

/// The outcome of a request for a task that ECS refused.
fn refused(error: &SdkError<RunTaskError>) -> Result<TaskOutcome, Error> {
    if let Some(reason) = busy(error) {
        return Ok(TaskOutcome::NoCapacity { reason });
    }
    if is_gone(error) {
        return Ok(TaskOutcome::NoDefinition);
    }
    // Asked for before, in the words of another release: there is one task, and it is this run's.
    if let Some(task_arn) = conflicting(error) {
        return Ok(TaskOutcome::Started { task_arn });
    }
    let why = DisplayErrorContext(error);
    Err(Error::internal(format!("RunTask: {why}")))
}

impl Compute {
    /// Compute as the environment names it.
    ///
    /// # Errors
    /// [`SetupError`] if the cluster is not set.
    pub fn new(client: Client, environment: &Environment) -> Result<Compute, SetupError> {
        Ok(Compute {
            client,
            cluster: environment.required("AWO_CLUSTER")?,
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks for the task of a lease. Asking again asks for the same task.
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn run_task(&self, launch: &Launch, lease: &Lease) -> Result<TaskOutcome, Error> {
        let secret = lease.nonce.clone().unwrap_or_default();
        let wanted = TaskRequest {
            org: &lease.org_id,
            size: lease.size,
            nonce: format!("{}.{}.{secret}", lease.org_id, lease.run_id),
            client_token: lease.client_token.clone(),
            started_by: started_by(lease),
        };
        self.ask(launch, wanted).await
    }

    /// Asks for the task of a manual verification. Asking again asks for the same task.
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn run_verification(
        &self,
        launch: &Launch,
        verification: &Verification,
    ) -> Result<TaskOutcome, Error> {
        let (org, id) = (&verification.org_id, &verification.verification_id);
        let secret = verification.nonce.clone().unwrap_or_default();
        let wanted = TaskRequest {
            org,
            size: verification.run.as_ref().and_then(|run| run.size),
            nonce: format!("{org}.{id}.{secret}"),
            client_token: id.to_string(),
            started_by: started_for(org, id),
        };
        self.ask(launch, wanted).await
    }

    async fn ask(&self, launch: &Launch, wanted: TaskRequest<'_>) -> Result<TaskOutcome, Error> {
        let container = ContainerOverride::builder()
            .name(CONTAINER)
            .environment(
                KeyValuePair::builder()
                    .name(NONCE_VARIABLE)
                    .value(wanted.nonce)
                    .build(),
            )
            .build();
        let answer = self
            .client
            .run_task()
            .cluster(&self.cluster)
            .task_definition(launch.task_definition())
            .launch_type(LaunchType::Fargate)
            .count(1)
            .set_tags(Some(launch.tags(wanted.org)))
            .enable_ecs_managed_tags(true)
            .client_token(wanted.client_token)
            .started_by(wanted.started_by)
            .set_network_configuration(launch.network())
            .overrides(
                TaskOverride::builder()
                    .container_overrides(container)
                    .set_cpu(wanted.size.map(|size| size.cpu_units().to_string()))
                    .set_memory(wanted.size.map(|size| size.memory_mib().to_string()))
                    .build(),
            )
            .send()
            .await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(e) => return refused(&e),
        };
        match answer.tasks().first().and_then(Task::task_arn) {
            Some(task_arn) => Ok(TaskOutcome::Started {
                task_arn: task_arn.to_owned(),
            }),
            None => {
                let reasons: Vec<&str> = answer
                    .failures()
                    .iter()
                    .filter_map(|f| f.reason())
                    .collect();
                Ok(TaskOutcome::NoCapacity {
                    reason: reasons.join(", "),
                })
            }
        }
    }

    /// Asks a task to stop.
    ///
    /// # Errors
    /// Internal, when ECS fails; a task that is gone is no failure.
    pub async fn stop_task(&self, task_arn: &str, reason: &str) -> Result<(), Error> {
        match self
            .client
            .stop_task()
            .cluster(&self.cluster)
            .task(task_arn)
            .reason(reason)
            .send()
            .await
        {
            Ok(_) => Ok(()),
            Err(e) if e.message().is_some_and(|m| m.contains("not found")) => Ok(()),
            Err(e) => Err(Error::internal(format!(
                "StopTask: {}",
                DisplayErrorContext(&e)
            ))),
        }
    }

    /// What has become of a task. One that ECS does not know any more is gone.
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn describe_task(&self, task_arn: &str) -> Result<TaskState, Error> {
        let answer = self
            .client
            .describe_tasks()
            .cluster(&self.cluster)
            .tasks(task_arn)
            .send()
            .await;
        let answer = answer.map_err(|e| describe_failed(&e))?;
        match answer.tasks().first() {
            Some(task) if has_ended(task) => Ok(TaskState::Gone(gone(task))),
            Some(task) => Ok(TaskState::Alive(ends::started(task))),
            None => Ok(TaskState::Gone(TaskEnd {
                reason: "the task is not known any more".to_owned(),
                ..TaskEnd::default()
            })),
        }
    }
}

fn describe_failed(e: &(impl std::error::Error + 'static)) -> Error {
    Error::internal(format!("DescribeTasks: {}", DisplayErrorContext(e)))
}
