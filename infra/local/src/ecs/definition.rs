//! Task definitions. Invariant: a response of `DescribeTaskDefinition` can be passed to
//! `RegisterTaskDefinition`, and tasks of both run the same. They live as long as the process: each
//! start of a cluster registers its own again.
//!
//! Processes have no mounts of their own. A task that mounts an access point finds the folder
//! behind it at the path in an environment variable, which replaces the container's path.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arn;
use crate::aws_json::Refusal;
use crate::ecs::protocol::invalid;
use crate::ecs::{Ecs, State};
use crate::efs::Efs;

/// Letters of a family.
const FAMILY_LETTERS: usize = 255;
/// Revisions of all families that are remembered.
const REVISIONS: usize = 100_000;

/// What a task of a family runs.
#[derive(Clone, Debug)]
pub struct TaskDefinition {
    pub family: String,
    pub container_name: String,
    /// A program and its arguments.
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// From SIGTERM to SIGKILL.
    pub stop_timeout: Duration,
    /// Stands before the command; empty without a supervisor. It reads `stop` and `kill` as
    /// lines from its standard input, whose end means that it has to kill everything.
    pub supervisor: Vec<String>,
    /// Volumes as ECS has them.
    pub volumes: Vec<Value>,
    /// Where the container has them.
    pub mount_points: Vec<MountPoint>,
}

/// Where a container has a volume.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MountPoint {
    pub source_volume: String,
    pub container_path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registration {
    family: String,
    container_definitions: Vec<Container>,
    #[serde(default)]
    volumes: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    name: String,
    #[serde(default)]
    entry_point: Vec<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    environment: Vec<Variable>,
    stop_timeout: Option<u64>,
    #[serde(default)]
    mount_points: Vec<MountPoint>,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Description {
    task_definition: String,
}

/// ECS's own, where a container does not say.
const STOP_TIMEOUT_S: u64 = 30;

pub(crate) fn register(ecs: &Ecs, input: Value) -> Result<Value, Refusal> {
    let input: Registration =
        serde_json::from_value(input).map_err(|error| invalid(error.to_string()))?;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let letters = input.family.chars().count();
    if !(1..=FAMILY_LETTERS).contains(&letters) || !input.family.chars().all(is_letter) {
        return Err(invalid("Family contains invalid characters or length."));
    }
    let [container] = <[Container; 1]>::try_from(input.container_definitions)
        .map_err(|_| invalid("A task runs one container here."))?;
    let named = |mount: &MountPoint| {
        input
            .volumes
            .iter()
            .any(|v| v["name"] == mount.source_volume)
    };
    if !container.mount_points.iter().all(named) {
        return Err(invalid("Unknown volume in mountPoints."));
    }
    if ecs.lock().definitions.values().map(Vec::len).sum::<usize>() >= REVISIONS {
        return Err(invalid(format!(
            "{REVISIONS} revisions are remembered already."
        )));
    }
    let timeout = container.stop_timeout.unwrap_or(STOP_TIMEOUT_S);
    let variables = container.environment.into_iter();
    let definition = TaskDefinition {
        family: input.family,
        container_name: container.name,
        command: container.command,
        environment: variables.map(|v| (v.name, v.value)).collect(),
        stop_timeout: Duration::from_secs(timeout),
        supervisor: container.entry_point,
        volumes: input.volumes,
        mount_points: container.mount_points,
    };
    let arn = ecs.register(definition);
    let (revision, definition) = find(&ecs.lock(), &arn)?;
    Ok(json!({ "taskDefinition": definition.rendered(revision) }))
}

pub(crate) fn describe(ecs: &Ecs, input: &Description) -> Result<Value, Refusal> {
    let (revision, definition) = find(&ecs.lock(), &input.task_definition)?;
    Ok(json!({ "taskDefinition": definition.rendered(revision), "tags": [] }))
}

/// `family`, `family:revision` or the ARN; without a revision, the latest.
pub(crate) fn find(state: &State, name: &str) -> Result<(u32, TaskDefinition), Refusal> {
    let missing = || Refusal::new(400, "ClientException", "TaskDefinition not found.");
    let name = name.rsplit('/').next().unwrap_or(name);
    let (family, revision) = match name.split_once(':') {
        Some((family, revision)) => (
            family,
            Some(revision.parse::<usize>().map_err(|_| missing())?),
        ),
        None => (name, None),
    };
    let revisions = state.definitions.get(family).ok_or_else(missing)?;
    let revision = revision.unwrap_or(revisions.len());
    let index = revision.checked_sub(1).ok_or_else(missing)?;
    let definition = revisions.get(index).ok_or_else(missing)?;
    Ok((
        u32::try_from(revision).unwrap_or(u32::MAX),
        definition.clone(),
    ))
}

impl TaskDefinition {
    fn rendered(&self, revision: u32) -> Value {
        let variables = self.environment.iter();
        let variables: Vec<Value> = variables
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        let container = json!({
            "name": self.container_name,
            "image": "local",
            "essential": true,
            "entryPoint": self.supervisor,
            "command": self.command,
            "environment": variables,
            "stopTimeout": self.stop_timeout.as_secs(),
            "mountPoints": self.mount_points,
        });
        json!({
            "taskDefinitionArn": arn::task_definition(&self.family, revision),
            "family": self.family,
            "revision": revision,
            "status": "ACTIVE",
            "networkMode": "awsvpc",
            "requiresCompatibilities": ["FARGATE"],
            "containerDefinitions": [container],
            "volumes": self.volumes,
        })
    }

    /// Puts the folder behind each access point where a variable names its path in the container.
    pub(crate) fn mount(
        &self,
        files: Option<&Efs>,
        environment: &mut BTreeMap<String, String>,
    ) -> Result<(), Refusal> {
        for mount in &self.mount_points {
            let is_source = |volume: &&Value| volume["name"] == mount.source_volume;
            let volume = self.volumes.iter().find(is_source);
            let remote = volume.map(|volume| &volume["efsVolumeConfiguration"]);
            let point = remote.and_then(|r| r["authorizationConfig"]["accessPointId"].as_str());
            let Some(point) = point else {
                continue;
            };
            let folder = files
                .ok_or_else(|| invalid("This cluster mounts no file system."))?
                .folder(point)
                .map_err(|why| invalid(format!("{point} cannot be mounted: {why}")))?;
            for value in environment.values_mut() {
                if *value == mount.container_path {
                    *value = folder.display().to_string();
                }
            }
        }
        Ok(())
    }
}
