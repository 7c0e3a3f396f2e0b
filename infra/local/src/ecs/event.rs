//! EventBridge for task events. Invariant: every change of a task goes to every rule whose pattern
//! it matches, without waiting for any function. As in the cloud, events arrive at least once and
//! in no order; `detail.version` orders them.

use serde_json::{Value, json};

use crate::ecs::conduct::Conduct;
use crate::ecs::task::Task;
use crate::invoke_later::LaterInvocations;
use crate::{arn, clock};

/// `{"source": ["aws.ecs"], "detail-type": ["ECS Task State Change"], "detail": {"lastStatus":
/// [..]}}` with a function as its target.
#[derive(Clone, Debug)]
pub struct TaskRule {
    /// Empty matches every status.
    pub last_status: Vec<String>,
    pub function: String,
}

/// Where task events go.
#[derive(Clone)]
pub struct TaskEvents {
    rules: Vec<TaskRule>,
    later: LaterInvocations,
}

impl TaskEvents {
    #[must_use]
    pub fn new(rules: Vec<TaskRule>, later: LaterInvocations) -> Self {
        Self { rules, later }
    }

    pub(crate) fn emit(&self, task: &Task, conduct: &Conduct) {
        let status = task.status.name();
        let matching = self.rules.iter().filter(|rule| {
            rule.last_status.is_empty() || rule.last_status.iter().any(|known| known == status)
        });
        for rule in matching {
            let event = event(task);
            for late in conduct.copies(task.version) {
                self.later.accept(&rule.function, event.clone(), late);
            }
        }
    }
}

fn event(task: &Task) -> Value {
    json!({
        "version": "0",
        "id": uuid::Uuid::new_v4().to_string(),
        "detail-type": "ECS Task State Change",
        "source": "aws.ecs",
        "account": arn::ACCOUNT,
        "time": clock::event_time(clock::now()),
        "region": arn::REGION,
        "resources": [task.arn()],
        "detail": task.event_detail(),
    })
}
