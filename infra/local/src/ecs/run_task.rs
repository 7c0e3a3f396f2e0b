//! `RunTask`. Invariant: a client token starts its tasks once; the state is read and changed under
//! one lock, so two concurrent calls cannot both find the token new.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::aws_json::Refusal;
use crate::ecs::definition::{self, TaskDefinition};
use crate::ecs::protocol::{check_cluster, invalid};
use crate::ecs::task::Task;
use crate::ecs::{self, Ecs, State, TOKEN_RETENTION, TOKENS, TaskStatus, Token};
use crate::{arn, clock};

/// Tasks that one RunTask may ask for.
const COUNT: u64 = 10;

/// Letters of a client token.
const TOKEN_LETTERS: usize = 64;

/// Letters of `startedBy`.
const STARTED_BY_LETTERS: usize = 128;

/// Letters of all overrides in JSON.
const OVERRIDES_LETTERS: usize = 8192;

/// Tags of a task.
const TAGS: usize = 50;

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunTask {
    cluster: Option<String>,
    task_definition: String,
    count: Option<u64>,
    #[serde(default)]
    overrides: Overrides,
    started_by: Option<String>,
    group: Option<String>,
    launch_type: Option<String>,
    client_token: Option<String>,
    #[serde(default)]
    tags: Vec<Value>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Overrides {
    #[serde(default)]
    container_overrides: Vec<ContainerOverride>,
    cpu: Option<String>,
    memory: Option<String>,
}

/// What Fargate takes together: CPU units, and from how many MiB to how many, by how many.
const FARGATE: [(u32, u32, u32, u32); 5] = [
    (256, 512, 2_048, 512),
    (512, 1_024, 4_096, 1_024),
    (1_024, 2_048, 8_192, 1_024),
    (2_048, 4_096, 16_384, 1_024),
    (4_096, 8_192, 30_720, 1_024),
];

/// True for a pair of CPU units and MiB that Fargate has.
pub(super) fn is_fargate_size(cpu: &str, memory: &str) -> bool {
    let pair = cpu.parse::<u32>().ok().zip(memory.parse::<u32>().ok());
    pair.is_some_and(|(cpu, memory)| {
        FARGATE.iter().any(|(units, least, most, step)| {
            *units == cpu && (*least..=*most).contains(&memory) && memory % step == 0
        })
    })
}

impl Overrides {
    /// What its containers reserve must be there.
    fn check_memory(&self, definition: &TaskDefinition) -> Result<(), Refusal> {
        let memory = self.memory.as_ref().and_then(|text| text.parse().ok());
        if memory.is_some_and(|memory: u64| definition.reserved_mib() > memory) {
            Err(invalid(
                "Memory of the containers is greater than that of the task.",
            ))
        } else {
            Ok(())
        }
    }

    /// Fargate takes certain pairs of CPU and memory only.
    fn check_size(&self) -> Result<(), Refusal> {
        let (Some(cpu), Some(memory)) = (&self.cpu, &self.memory) else {
            return Ok(());
        };
        if is_fargate_size(cpu, memory) {
            Ok(())
        } else {
            Err(invalid("No Fargate configuration exists for given values."))
        }
    }
}

#[derive(Clone, Deserialize)]
struct ContainerOverride {
    name: Option<String>,
    command: Option<Vec<String>>,
    #[serde(default)]
    environment: Vec<Variable>,
}

#[derive(Clone, Deserialize)]
struct Variable {
    name: String,
    value: String,
}

pub(crate) fn run_task(ecs: &Ecs, raw: Value) -> Result<Value, Refusal> {
    let input: RunTask = serde_json::from_value(raw.clone())
        .map_err(|error| Refusal::new(400, "SerializationException", error.to_string()))?;
    check_cluster(ecs, input.cluster.as_deref())?;
    check_run_task(&input, &raw)?;
    let conduct = ecs.conduct();
    if let Some(message) = &conduct.refuses_tasks {
        return Err(invalid(message));
    }
    let mut state = ecs.lock();
    ecs::forget(&mut state);
    if let Some(answer) = repeated(&state, &input, &raw)? {
        return Ok(answer);
    }
    let (revision, definition) = definition::find_active(&state, &input.task_definition)?;
    let (command, mut environment) = container(&definition, &input.overrides)?;
    input.overrides.check_memory(&definition)?;
    definition.mount(ecs.files(), &mut environment)?;
    let (mut tasks, mut failures) = (Vec::new(), Vec::new());
    for _ in 0..input.count.unwrap_or(1) {
        if let Some(reason) = &conduct.starts_nothing {
            failures.push(json!({ "arn": arn::cluster(ecs.cluster()), "reason": reason }));
            continue;
        }
        if ecs::living(&state) >= ecs.task_limit() {
            failures.push(json!({
                "arn": arn::cluster(ecs.cluster()),
                "reason": "RESOURCE:MEMORY",
                "detail": "The local cloud runs as many tasks as it may.",
            }));
            continue;
        }
        let task = new_task(ecs, &input, &raw, revision, &definition);
        state.tasks.insert(task.id.clone(), task.clone());
        state.note_task(&task.id);
        state.past.note(&task, conduct.describes_after);
        ecs.live(
            &task,
            definition.clone(),
            command.clone(),
            environment.clone(),
        );
        tasks.push(task);
    }
    // A request that started nothing may be sent again with the same token.
    if let Some(token) = input.client_token.filter(|_| !tasks.is_empty()) {
        let ids = tasks.iter().map(|task| task.id.clone()).collect();
        state.tokens.insert(
            token.clone(),
            Token {
                request: digest(&raw),
                tasks: ids,
                sent: clock::now(),
            },
        );
        state.note_token(&token);
    }
    let tasks: Vec<Value> = tasks.iter().map(|task| task.describe(true)).collect();
    Ok(json!({"tasks": tasks, "failures": failures}))
}

fn check_run_task(input: &RunTask, raw: &Value) -> Result<(), Refusal> {
    if !(1..=COUNT).contains(&input.count.unwrap_or(1)) {
        return Err(invalid(format!("Count should be between 1 and {COUNT}.")));
    }
    let letters = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
    if letters(&input.client_token) > TOKEN_LETTERS {
        return Err(invalid(format!(
            "clientToken length should be at most {TOKEN_LETTERS}."
        )));
    }
    if letters(&input.started_by) > STARTED_BY_LETTERS {
        return Err(invalid(format!(
            "startedBy length should be at most {STARTED_BY_LETTERS}."
        )));
    }
    let overrides = raw
        .get("overrides")
        .map_or(0, |overrides| overrides.to_string().len());
    if overrides > OVERRIDES_LETTERS {
        return Err(invalid(format!(
            "Container Overrides length must be at most {OVERRIDES_LETTERS}"
        )));
    }
    input.overrides.check_size()?;
    if input.tags.len() > TAGS {
        return Err(invalid(format!("A task can have at most {TAGS} tags.")));
    }
    Ok(())
}

/// The answer to a token that was sent before.
fn repeated(state: &State, input: &RunTask, raw: &Value) -> Result<Option<Value>, Refusal> {
    let Some(token) = &input.client_token else {
        return Ok(None);
    };
    let now = clock::now();
    let known = state.tokens.get(token);
    let known = known.filter(|known| now - known.sent < TOKEN_RETENTION);
    let Some(known) = known else {
        if state.tokens.len() >= TOKENS {
            let message = format!("{TOKENS} client tokens are remembered already.");
            return Err(Refusal::new(400, "ThrottlingException", message));
        }
        return Ok(None);
    };
    let tasks: Vec<&Task> = known
        .tasks
        .iter()
        .filter_map(|id| state.tasks.get(id))
        .collect();
    if known.request != digest(raw) {
        let mut refusal = Refusal::new(400, "ConflictException", String::new());
        let arns: Vec<String> = tasks.iter().map(|task| task.arn()).collect();
        refusal.body = json!({
            "__type": "ConflictException",
            "message": "The client token was used with other parameters.",
            "resourceIds": arns,
        })
        .to_string();
        return Err(refusal);
    }
    let tasks: Vec<Value> = tasks.iter().map(|task| task.describe(true)).collect();
    Ok(Some(json!({"tasks": tasks, "failures": []})))
}

/// A request may contain secrets, so its digest is stored in its place.
fn digest(request: &Value) -> String {
    hex::encode(Sha256::digest(request.to_string()))
}

type Container = (Vec<String>, BTreeMap<String, String>);

/// What the container runs: the definition with the overrides on top.
fn container(definition: &TaskDefinition, overrides: &Overrides) -> Result<Container, Refusal> {
    let mut command = definition.command.clone();
    let mut environment = definition.environment.clone();
    for container in &overrides.container_overrides {
        let name = container.name.as_deref().unwrap_or_default();
        if name != definition.container_name {
            return Err(invalid(format!(
                "Override for container named {name} is not a container in the TaskDefinition."
            )));
        }
        if let Some(other) = &container.command {
            command.clone_from(other);
        }
        for Variable { name, value } in &container.environment {
            let broken = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
            if broken {
                return Err(invalid(format!("{name:?} is no environment variable.")));
            }
            environment.insert(name.clone(), value.clone());
        }
    }
    Ok((command, environment))
}

fn new_task(
    ecs: &Ecs,
    input: &RunTask,
    raw: &Value,
    revision: u32,
    definition: &TaskDefinition,
) -> Task {
    let mut overrides = raw.get("overrides").cloned().unwrap_or_else(|| json!({}));
    if overrides.get("containerOverrides").is_none() {
        overrides["containerOverrides"] = json!([{"name": definition.container_name}]);
    }
    Task {
        id: uuid::Uuid::new_v4().simple().to_string(),
        cluster: Arc::clone(ecs.cluster()),
        family: definition.family.clone(),
        revision,
        container_name: definition.container_name.clone(),
        image: definition.image(),
        others: definition.others(),
        failure: None,
        started_by: input.started_by.clone(),
        group: input
            .group
            .clone()
            .unwrap_or_else(|| format!("family:{}", definition.family)),
        launch_type: input
            .launch_type
            .clone()
            .unwrap_or_else(|| "FARGATE".to_owned()),
        overrides,
        tags: json!(input.tags),
        status: TaskStatus::Provisioning,
        version: 1,
        stop_cause: None,
        exit_code: None,
        created: clock::now(),
        started: None,
        stopping: None,
        stopped: None,
        stop: watch::Sender::new(false),
    }
}
