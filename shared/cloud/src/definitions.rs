//! Task definitions: the deployment's own, and those derived from it for organizations and their
//! environments. An organization's differs from the deployment's in its family and in one volume; an
//! environment's also in its containers.

mod containers;

use awo_domain::environment::{Containers, ContainersId};
use awo_domain::{Error, OrgId};
use aws_sdk_ecs::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_ecs::types::{
    EfsAuthorizationConfig, EfsAuthorizationConfigIam, EfsTransitEncryption,
    EfsVolumeConfiguration, TaskDefinition, TaskDefinitionStatus, Volume,
};

use crate::compute::{Compute, EcsError, busy};

/// The volume of the task definition that becomes the organization's shared folder.
pub const SHARED_VOLUME: &str = "shared";

/// The family of an organization's tasks, or of those of one of its environments.
#[must_use]
pub fn own_family(base: &str, org: &OrgId, containers: Option<&ContainersId>) -> String {
    match containers {
        None => format!("{base}-{org}"),
        Some(id) => format!("{base}-{org}-{id}"),
    }
}

/// The folder of an organization on a file system.
#[derive(Debug, Clone, Copy)]
pub struct Mount<'a> {
    /// The file system.
    pub file_system: &'a str,
    /// The access point that leads to the organization's folder and nowhere else.
    pub access_point: &'a str,
}

/// In what a definition differs from the one that it is derived from.
#[derive(Debug, Clone, Copy)]
pub struct Derivation<'a> {
    /// Its family.
    pub family: &'a str,
    /// What the volume that tasks share leads to; without it, to the task's own disk.
    pub mount: Option<Mount<'a>>,
    /// Its image and services.
    pub containers: Option<&'a Containers>,
}

impl Compute {
    /// A task definition: the revision that is named, or the newest of a family.
    ///
    /// # Errors
    /// [`EcsError`]: busy, or failed.
    pub async fn task_definition(&self, name: &str) -> Result<TaskDefinition, EcsError> {
        let answer = self
            .client()
            .describe_task_definition()
            .task_definition(name)
            .send()
            .await
            .map_err(|e| refused("DescribeTaskDefinition", &e))?;
        let missing = || Error::internal("DescribeTaskDefinition: no definition in the answer");
        Ok(answer.task_definition.ok_or_else(missing)?)
    }

    /// Registers `base` once more with what `derivation` changes. The ARN of the revision.
    ///
    /// # Errors
    /// [`EcsError`]: busy, also with another registration of the same family; or failed, also if `base` is not
    /// what can be changed so.
    pub async fn register_like(
        &self,
        base: TaskDefinition,
        derivation: &Derivation<'_>,
    ) -> Result<String, EcsError> {
        let derived = derived(base, derivation)?;
        let answer = self
            .client()
            .register_task_definition()
            .family(derivation.family)
            .set_volumes(derived.volumes)
            .set_container_definitions(derived.container_definitions)
            .set_task_role_arn(derived.task_role_arn)
            .set_execution_role_arn(derived.execution_role_arn)
            .set_network_mode(derived.network_mode)
            .set_placement_constraints(derived.placement_constraints)
            .set_requires_compatibilities(derived.requires_compatibilities)
            .set_cpu(derived.cpu)
            .set_memory(derived.memory)
            .set_pid_mode(derived.pid_mode)
            .set_ipc_mode(derived.ipc_mode)
            .set_proxy_configuration(derived.proxy_configuration)
            .set_ephemeral_storage(derived.ephemeral_storage)
            .set_runtime_platform(derived.runtime_platform)
            .set_enable_fault_injection(derived.enable_fault_injection)
            .send()
            .await
            .map_err(|e| refused("RegisterTaskDefinition", &e))?;
        let registered = answer.task_definition.and_then(|d| d.task_definition_arn);
        let missing = || Error::internal("RegisterTaskDefinition: no ARN in the answer");
        Ok(registered.ok_or_else(missing)?)
    }

    /// The ARNs of the revisions of a family that can be run: a page of them, and whether there are more.
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn active_definitions(&self, family: &str) -> Result<(Vec<String>, bool), Error> {
        let answer = self
            .client()
            .list_task_definitions()
            .family_prefix(family)
            .status(TaskDefinitionStatus::Active)
            .send()
            .await
            .map_err(|e| failed("ListTaskDefinitions", DisplayErrorContext(&e)))?;
        let has_more = answer.next_token.is_some();
        Ok((answer.task_definition_arns.unwrap_or_default(), has_more))
    }

    /// Takes a revision out of use. Tasks that were started from it go on.
    ///
    /// # Errors
    /// Internal, when ECS fails; a revision that is out of use already is no failure.
    pub async fn deregister(&self, arn: &str) -> Result<(), Error> {
        let answer = self
            .client()
            .deregister_task_definition()
            .task_definition(arn)
            .send()
            .await;
        match answer {
            Ok(_) => Ok(()),
            Err(e) if is_gone(&e) => Ok(()),
            Err(e) => Err(failed("DeregisterTaskDefinition", DisplayErrorContext(&e))),
        }
    }
}

/// True for ECS's words for a definition that is out of use, or was never there.
pub(crate) fn is_gone(error: &impl ProvideErrorMetadata) -> bool {
    let message = error.message().unwrap_or_default().to_ascii_lowercase();
    let message = message.replace(' ', "");
    error.code() == Some("ClientException")
        && message.contains("taskdefinition")
        && ["inactive", "notfound"]
            .iter()
            .any(|word| message.contains(word))
}

/// A definition with what a derivation changes.
fn derived(base: TaskDefinition, derivation: &Derivation<'_>) -> Result<TaskDefinition, Error> {
    let mut derived = base;
    if let Some(mount) = derivation.mount {
        derived.volumes = Some(with_access_point(derived.volumes(), mount)?);
    }
    match derivation.containers {
        Some(containers) => containers::put(derived, containers),
        None => Ok(derived),
    }
}

/// The volumes of a definition with the shared one on a file system. Traffic is encrypted, and the mount
/// is authorized by the task's role: no other role can mount anything there.
fn with_access_point(volumes: &[Volume], mount: Mount<'_>) -> Result<Vec<Volume>, Error> {
    let authorization = EfsAuthorizationConfig::builder()
        .access_point_id(mount.access_point)
        .iam(EfsAuthorizationConfigIam::Enabled)
        .build();
    let shared = EfsVolumeConfiguration::builder()
        .file_system_id(mount.file_system)
        .transit_encryption(EfsTransitEncryption::Enabled)
        .authorization_config(authorization)
        .build()
        .map_err(Error::internal)?;
    let shared = Volume::builder()
        .name(SHARED_VOLUME)
        .efs_volume_configuration(shared)
        .build();
    let is_shared = |volume: &Volume| volume.name() == Some(SHARED_VOLUME);
    if !volumes.iter().any(is_shared) {
        let why = format!("the task definition has no volume {SHARED_VOLUME}");
        return Err(Error::internal(why));
    }
    let others = volumes.iter().filter(|volume| !is_shared(volume)).cloned();
    Ok(others.chain([shared]).collect())
}

fn refused(
    call: &str,
    error: &(impl std::error::Error + ProvideErrorMetadata + 'static),
) -> EcsError {
    match busy(error) {
        Some(reason) => EcsError::Busy { reason },
        None => failed(call, DisplayErrorContext(error)).into(),
    }
}

fn failed(call: &str, why: impl std::fmt::Display) -> Error {
    Error::internal(format!("{call}: {why}"))
}
