//! Tasks by their `startedBy`, for tests.

use super::{Ecs, Task};

impl Ecs {
    /// The task that was started with this `startedBy`, whether it lives or not.
    #[must_use]
    pub fn started_by(&self, started_by: &str) -> Option<String> {
        let state = self.lock();
        let mut tasks = state.tasks.values();
        let found = tasks.find(|task| task.started_by.as_deref() == Some(started_by));
        found.map(Task::arn)
    }

    /// A task whose `startedBy` begins so, as `DescribeTasks` shows it.
    #[must_use]
    pub fn described(&self, beginning: &str) -> Option<serde_json::Value> {
        let state = self.lock();
        let mut tasks = state.tasks.values();
        let found = tasks.find(|task| {
            let started_by = task.started_by.as_deref();
            started_by.is_some_and(|by| by.starts_with(beginning))
        });
        found.map(|task| task.describe(false))
    }
}
