//! ECS's wire protocol: AWS JSON 1.1. Invariant: an operation either changes nothing and returns an
//! error of ECS, or takes effect for every task that it does not report as a failure.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{definition, run_task};
use crate::aws_json::{self, Refusal};
use crate::ecs::task::{StopCause, Task};
use crate::ecs::{self, Ecs};
use crate::{arn, clock};

/// Tasks of one DescribeTasks, and of one page of ListTasks.
const PAGE: usize = 100;

pub(crate) fn run(ecs: &Ecs, operation: &str, body: &[u8]) -> Result<String, Refusal> {
    let answer = match operation {
        "RunTask" => run_task::run_task(ecs, aws_json::input(body)?),
        "StopTask" => stop_task(ecs, aws_json::input(body)?),
        "DescribeTasks" => describe_tasks(ecs, &aws_json::input(body)?),
        "ListTasks" => list_tasks(ecs, &aws_json::input(body)?),
        "RegisterTaskDefinition" => definition::register(ecs, aws_json::input(body)?),
        "DescribeTaskDefinition" => definition::describe(ecs, &aws_json::input(body)?),
        "DeregisterTaskDefinition" => definition::deregister(ecs, &aws_json::input(body)?),
        "ListTaskDefinitions" => definition::list(ecs, &aws_json::input(body)?),
        other => Err(aws_json::unknown_operation(format!(
            "{other} is not served here"
        ))),
    };
    answer.map(|answer| answer.to_string())
}

pub(crate) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(400, "InvalidParameterException", message)
}

pub(crate) fn check_cluster(ecs: &Ecs, cluster: Option<&str>) -> Result<(), Refusal> {
    // ECS takes the name or the ARN, and `default` when there is none.
    let name = cluster
        .unwrap_or("default")
        .rsplit('/')
        .next()
        .unwrap_or_default();
    if name == &**ecs.cluster() {
        return Ok(());
    }
    Err(Refusal::new(
        400,
        "ClusterNotFoundException",
        "Cluster not found.",
    ))
}

/// The id of a task that is named by its id or its ARN.
fn id_of(task: &str) -> &str {
    task.rsplit('/').next().unwrap_or(task)
}

#[derive(Deserialize)]
struct StopTask {
    cluster: Option<String>,
    task: String,
    reason: Option<String>,
}

fn stop_task(ecs: &Ecs, input: StopTask) -> Result<Value, Refusal> {
    check_cluster(ecs, input.cluster.as_deref())?;
    let reason = input
        .reason
        .unwrap_or_else(|| "Task stopped by user".to_owned());
    let known = ecs.lock().tasks.get(id_of(&input.task)).cloned();
    let task = match known {
        None => None,
        // Stopping what stops already changes nothing.
        Some(task) if task.desired_status() == "STOPPED" => Some(task),
        Some(task) => ecs.change(&task.id, |task| {
            task.stop_cause.get_or_insert(StopCause {
                code: "UserInitiated".into(),
                reason,
            });
            task.stopping.get_or_insert(clock::now());
            task.stop.send_replace(true);
        }),
    };
    let task = task.ok_or_else(|| invalid("The referenced task was not found."))?;
    Ok(json!({"task": task.describe(false)}))
}

#[derive(Deserialize)]
struct DescribeTasks {
    cluster: Option<String>,
    tasks: Vec<String>,
    #[serde(default)]
    include: Vec<String>,
}

fn describe_tasks(ecs: &Ecs, input: &DescribeTasks) -> Result<Value, Refusal> {
    check_cluster(ecs, input.cluster.as_deref())?;
    if input.tasks.is_empty() || input.tasks.len() > PAGE {
        return Err(invalid(format!("Tasks should be between 1 and {PAGE}.")));
    }
    let with_tags = input.include.iter().any(|part| part == "TAGS");
    let mut state = ecs.lock();
    ecs::forget(&mut state);
    let (mut tasks, mut failures) = (Vec::new(), Vec::new());
    let late = ecs.conduct().describes_after;
    for task in &input.tasks {
        let id = id_of(task);
        let known = state.tasks.get(id);
        match known.and_then(|task| state.past.seen(task, late)) {
            Some(task) => tasks.push(task.describe(with_tags)),
            None => {
                failures.push(json!({"arn": arn::task(ecs.cluster(), id), "reason": "MISSING"}))
            }
        }
    }
    Ok(json!({"tasks": tasks, "failures": failures}))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListTasks {
    cluster: Option<String>,
    family: Option<String>,
    started_by: Option<String>,
    desired_status: Option<String>,
    launch_type: Option<String>,
    max_results: Option<usize>,
    next_token: Option<String>,
}

fn list_tasks(ecs: &Ecs, input: &ListTasks) -> Result<Value, Refusal> {
    check_cluster(ecs, input.cluster.as_deref())?;
    let page = input.max_results.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&page) {
        return Err(invalid(format!(
            "maxResults should be between 1 and {PAGE}."
        )));
    }
    let others = [&input.family, &input.desired_status, &input.launch_type];
    if input.started_by.is_some() && others.iter().any(|filter| filter.is_some()) {
        return Err(invalid("cannot specify startedBy with other arguments"));
    }
    let desired = input.desired_status.as_deref().unwrap_or("RUNNING");
    let fits = |wanted: &Option<String>, value: Option<&String>| {
        wanted.is_none() || wanted.as_ref() == value
    };
    let mut state = ecs.lock();
    ecs::forget(&mut state);
    let after = input.next_token.as_deref().unwrap_or_default();
    let mut found = state
        .tasks
        .values()
        .filter(|task| task.id.as_str() > after)
        .filter(|task| task.desired_status() == desired)
        .filter(|task| fits(&input.family, Some(&task.family)))
        .filter(|task| fits(&input.started_by, task.started_by.as_ref()))
        .filter(|task| fits(&input.launch_type, Some(&task.launch_type)));
    let tasks: Vec<&Task> = found.by_ref().take(page).collect();
    let more = found.next().is_some();
    let arns: Vec<String> = tasks.iter().map(|task| task.arn()).collect();
    let mut answer = json!({"taskArns": arns});
    if let Some(last) = tasks.last().filter(|_| more) {
        answer["nextToken"] = json!(last.id);
    }
    Ok(answer)
}
