//! Task definitions: the deployment's own, and those derived from it for organizations. An
//! organization's differs from the deployment's in its family and in one volume.

use awo_domain::{Error, OrgId};
use aws_sdk_ecs::error::DisplayErrorContext;
use aws_sdk_ecs::types::{
    EfsAuthorizationConfig, EfsAuthorizationConfigIam, EfsTransitEncryption,
    EfsVolumeConfiguration, TaskDefinition, Volume,
};

use crate::compute::Compute;

/// The volume of the task definition that becomes the organization's shared folder.
pub const KEPT_VOLUME: &str = "kept";

/// The family of an organization's tasks.
#[must_use]
pub fn own_family(base: &str, org: &OrgId) -> String {
    format!("{base}-{org}")
}

impl Compute {
    /// A task definition: the revision that is named, or the newest of a family.
    ///
    /// # Errors
    /// Internal, when ECS fails.
    pub async fn task_definition(&self, name: &str) -> Result<TaskDefinition, Error> {
        let answer = self
            .client()
            .describe_task_definition()
            .task_definition(name)
            .send()
            .await
            .map_err(|e| failed("DescribeTaskDefinition", DisplayErrorContext(&e)))?;
        let missing = || Error::internal("DescribeTaskDefinition: no definition in the answer");
        answer.task_definition.ok_or_else(missing)
    }

    /// Registers `base` once more as a revision of `family`, with an access point in the place of
    /// the volume that tasks share. Its ARN.
    ///
    /// # Errors
    /// Internal, when ECS fails, or `base` has no such volume.
    pub async fn register_like(
        &self,
        base: TaskDefinition,
        family: &str,
        file_system: &str,
        access_point: &str,
    ) -> Result<String, Error> {
        let volumes = with_access_point(base.volumes(), file_system, access_point)?;
        let answer = self
            .client()
            .register_task_definition()
            .family(family)
            .set_volumes(Some(volumes))
            .set_container_definitions(base.container_definitions)
            .set_task_role_arn(base.task_role_arn)
            .set_execution_role_arn(base.execution_role_arn)
            .set_network_mode(base.network_mode)
            .set_placement_constraints(base.placement_constraints)
            .set_requires_compatibilities(base.requires_compatibilities)
            .set_cpu(base.cpu)
            .set_memory(base.memory)
            .set_pid_mode(base.pid_mode)
            .set_ipc_mode(base.ipc_mode)
            .set_proxy_configuration(base.proxy_configuration)
            .set_ephemeral_storage(base.ephemeral_storage)
            .set_runtime_platform(base.runtime_platform)
            .set_enable_fault_injection(base.enable_fault_injection)
            .send()
            .await
            .map_err(|e| failed("RegisterTaskDefinition", DisplayErrorContext(&e)))?;
        let registered = answer.task_definition.and_then(|d| d.task_definition_arn);
        registered.ok_or_else(|| Error::internal("RegisterTaskDefinition: no ARN in the answer"))
    }
}

/// The volumes of a definition with the shared one on a file system. Traffic is encrypted, and the
/// task's role is who asks: nobody else can mount anything there.
fn with_access_point(
    volumes: &[Volume],
    file_system: &str,
    access_point: &str,
) -> Result<Vec<Volume>, Error> {
    let authorization = EfsAuthorizationConfig::builder()
        .access_point_id(access_point)
        .iam(EfsAuthorizationConfigIam::Enabled)
        .build();
    let shared = EfsVolumeConfiguration::builder()
        .file_system_id(file_system)
        .transit_encryption(EfsTransitEncryption::Enabled)
        .authorization_config(authorization)
        .build()
        .map_err(Error::internal)?;
    let shared = Volume::builder()
        .name(KEPT_VOLUME)
        .efs_volume_configuration(shared)
        .build();
    let is_kept = |volume: &Volume| volume.name() == Some(KEPT_VOLUME);
    if !volumes.iter().any(is_kept) {
        let why = format!("the task definition has no volume {KEPT_VOLUME}");
        return Err(Error::internal(why));
    }
    let others = volumes.iter().filter(|volume| !is_kept(volume)).cloned();
    Ok(others.chain([shared]).collect())
}

fn failed(call: &str, why: impl std::fmt::Display) -> Error {
    Error::internal(format!("{call}: {why}"))
}
