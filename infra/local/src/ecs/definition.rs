//! Task definitions. Invariant: a response of `DescribeTaskDefinition` can be passed to
//! `RegisterTaskDefinition`, and tasks of both run the same. They live as long as the process: each
//! start of a cluster registers its own again.
//!
//! Of several containers, the first is a process; the others are described and not run, since there
//! is no container engine.
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
use crate::ecs::{Ecs, State, definition_rules as rules};
use crate::efs::Efs;

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
    /// The whole registration, if it came in a call.
    pub registered: Option<Value>,
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

/// The image of the cluster's own definition.
const IMAGE: &str = "local";
/// ARNs of one page of ListTaskDefinitions.
const PAGE: usize = 100;
/// ECS's default for containers without a setting.
const STOP_TIMEOUT_S: u64 = 30;
/// The least that ECS takes; tests stop their tasks sooner.
const LEAST_STOP_TIMEOUT_S: u64 = 2;

pub(crate) fn register(ecs: &Ecs, raw: Value) -> Result<Value, Refusal> {
    let input: Registration =
        serde_json::from_value(raw.clone()).map_err(|error| invalid(error.to_string()))?;
    rules::check(&raw)?;
    let mut containers = input.container_definitions.into_iter();
    let container = containers
        .next()
        .ok_or_else(|| invalid("Container list cannot be empty."))?;
    if ecs.lock().definitions.values().map(Vec::len).sum::<usize>() >= REVISIONS {
        return Err(invalid(format!(
            "{REVISIONS} revisions are remembered already."
        )));
    }
    let conduct = ecs.conduct();
    ecs.lock().registrations.begin(&input.family, &conduct)?;
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
        registered: Some(raw),
    };
    let arn = ecs.register(definition);
    let (revision, definition) = find(&ecs.lock(), &arn)?;
    Ok(json!({ "taskDefinition": definition.rendered(revision, "ACTIVE") }))
}

/// Takes a revision out of use for good.
pub(crate) fn deregister(ecs: &Ecs, input: &Description) -> Result<Value, Refusal> {
    let mut state = ecs.lock();
    let name = &input.task_definition;
    if !name.rsplit('/').next().unwrap_or(name).contains(':') {
        return Err(invalid("A revision must be specified."));
    }
    let (revision, definition) = find(&state, name)?;
    state.inactive.insert((definition.family.clone(), revision));
    Ok(json!({ "taskDefinition": definition.rendered(revision, "INACTIVE") }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listing {
    family_prefix: Option<String>,
    status: Option<String>,
    max_results: Option<usize>,
    next_token: Option<String>,
}

/// ARNs in the order of families and revisions.
pub(crate) fn list(ecs: &Ecs, input: &Listing) -> Result<Value, Refusal> {
    let page = input.max_results.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&page) {
        return Err(invalid(format!(
            "maxResults should be between 1 and {PAGE}."
        )));
    }
    let wants_active = input.status.as_deref().unwrap_or("ACTIVE") == "ACTIVE";
    let state = ecs.lock();
    let families = state.definitions.iter();
    let families = families.filter(|(family, _)| {
        input.family_prefix.is_none() || input.family_prefix.as_ref() == Some(family)
    });
    let all = families.flat_map(|(family, revisions)| {
        let revisions = 1..=u32::try_from(revisions.len()).unwrap_or(u32::MAX);
        revisions.map(move |revision| (family.clone(), revision))
    });
    let arns: Vec<String> = all
        .filter(|revision| state.inactive.contains(revision) != wants_active)
        .map(|(family, revision)| arn::task_definition(&family, revision))
        .collect();
    let seen = input.next_token.as_ref();
    let from = seen.map_or(0, |last| {
        arns.iter().take_while(|arn| *arn != last).count() + 1
    });
    let shown: Vec<&String> = arns.iter().skip(from).take(page).collect();
    let mut answer = json!({ "taskDefinitionArns": shown });
    if let Some(last) = shown.last().filter(|_| arns.len() > from + shown.len()) {
        answer["nextToken"] = json!(last);
    }
    Ok(answer)
}

pub(crate) fn describe(ecs: &Ecs, input: &Description) -> Result<Value, Refusal> {
    let state = ecs.lock();
    let (revision, definition) = find(&state, &input.task_definition)?;
    let is_active = state.is_active(&definition.family, revision);
    let status = if is_active { "ACTIVE" } else { "INACTIVE" };
    Ok(json!({ "taskDefinition": definition.rendered(revision, status), "tags": [] }))
}

/// As [`find`]; a revision that is out of use starts no task.
pub(crate) fn find_active(state: &State, name: &str) -> Result<(u32, TaskDefinition), Refusal> {
    let (revision, definition) = find(state, name)?;
    if state.is_active(&definition.family, revision) {
        Ok((revision, definition))
    } else {
        Err(Refusal::new(
            400,
            "ClientException",
            "TaskDefinition is inactive",
        ))
    }
}

impl State {
    fn is_active(&self, family: &str, revision: u32) -> bool {
        !self.inactive.contains(&(family.to_owned(), revision))
    }
}

/// `family`, `family:revision` or the ARN; without a revision, the latest that is in use.
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
    let is_active = |revision: &usize| {
        let revision = u32::try_from(*revision).unwrap_or(u32::MAX);
        state.is_active(family, revision)
    };
    let newest = || (1..=revisions.len()).rev().find(is_active);
    let revision = revision.or_else(newest).ok_or_else(missing)?;
    let index = revision.checked_sub(1).ok_or_else(missing)?;
    let definition = revisions.get(index).ok_or_else(missing)?;
    Ok((
        u32::try_from(revision).unwrap_or(u32::MAX),
        definition.clone(),
    ))
}

impl TaskDefinition {
    fn rendered(&self, revision: u32, status: &str) -> Value {
        let mut whole = self.registered.clone().unwrap_or_else(|| self.own());
        whole["taskDefinitionArn"] = json!(arn::task_definition(&self.family, revision));
        whole["revision"] = json!(revision);
        whole["status"] = json!(status);
        whole
    }

    /// As the deployment's template would have registered it.
    fn own(&self) -> Value {
        let variables = self.environment.iter();
        let variables: Vec<Value> = variables
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        let container = json!({
            "name": self.container_name,
            "image": IMAGE,
            "essential": true,
            "readonlyRootFilesystem": true,
            "entryPoint": self.supervisor,
            "command": self.command,
            "environment": variables,
            "stopTimeout": self.stop_timeout.as_secs().max(LEAST_STOP_TIMEOUT_S),
            "mountPoints": self.mount_points,
            "logConfiguration": {
                "logDriver": "awslogs",
                "options": {
                    "awslogs-group": "/awo/local/runs",
                    "awslogs-region": arn::REGION,
                    "awslogs-stream-prefix": "run",
                },
            },
        });
        json!({
            "family": self.family,
            "networkMode": "awsvpc",
            "requiresCompatibilities": ["FARGATE"],
            "cpu": "1024",
            "memory": "4096",
            "taskRoleArn": arn::role("runner-task"),
            "executionRoleArn": arn::role("runner-execution"),
            "containerDefinitions": [container],
            "volumes": self.volumes,
        })
    }

    /// The image of the first container.
    pub(crate) fn image(&self) -> String {
        let registered = self.registered.as_ref();
        let image = registered.and_then(|raw| raw["containerDefinitions"][0]["image"].as_str());
        image.unwrap_or(IMAGE).to_owned()
    }

    /// Names and images of the other containers.
    pub(crate) fn others(&self) -> Vec<(String, String)> {
        let registered = self.registered.as_ref();
        let all = registered.and_then(|raw| raw["containerDefinitions"].as_array());
        let others = all.into_iter().flatten().skip(1);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        others
            .map(|other| (text(&other["name"]), text(&other["image"])))
            .collect()
    }

    /// What its containers reserve of memory, in MiB.
    pub(crate) fn reserved_mib(&self) -> u64 {
        let registered = self.registered.as_ref();
        registered.map_or(0, rules::reserved_mib)
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
