//! Behaviour of the real ECS that a cluster of local processes lacks: slow stages of a task's end,
//! events that are late, duplicated and out of order, descriptions that are older than the events,
//! and refusals of tasks and definitions. All of it is off unless a test enables it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::aws_json::Refusal;
use crate::ecs::task::Task;

/// How late a cluster's second copy of an event is, where it sends everything twice, and how late the first
/// copy of every other event.
const SECOND_COPY: Duration = Duration::from_millis(250);
const OVERTAKEN: Duration = Duration::from_millis(100);

/// How a cluster behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conduct {
    /// From the end of a container until the cluster knows of it: the task is DEPROVISIONING then, and its
    /// container STOPPED.
    pub notices_end_after: Duration,
    /// From DEPROVISIONING to STOPPED.
    pub deprovisions_for: Duration,
    /// How late events are.
    pub event_delay: Duration,
    /// Every event comes twice, and not in the order of the changes.
    pub events_twice: bool,
    /// How old a description is.
    pub describes_after: Duration,
    /// Why no task is started, if none is: a `reason` of `failures`.
    pub starts_nothing: Option<String>,
    /// Message of the refusal of every RunTask, if all are refused.
    pub refuses_tasks: Option<String>,
    /// Duration of a registration. Meanwhile another one of its family is refused.
    pub registers_for: Duration,
    /// Least time between two registrations of any families. An earlier one is throttled.
    pub registers_every: Duration,
    /// How tasks fail that it has taken and cannot start.
    pub start_failure: Option<StartFailure>,
}

/// How one container of a task prevented its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartFailure {
    /// The container with the reason; none if only the task has it.
    pub container: Option<String>,
    /// Its exit code, if it ran.
    pub exit_code: Option<i32>,
    /// Its `reason`.
    pub reason: String,
    /// True if its health check failed.
    pub is_unhealthy: bool,
    /// The task's `stoppedReason`.
    pub stopped_reason: String,
}

impl Conduct {
    /// How late each copy of the event of this version of a task comes.
    pub(crate) fn copies(&self, version: u64) -> Vec<Duration> {
        if !self.events_twice {
            return vec![self.event_delay];
        }
        let first = if version.is_multiple_of(2) {
            self.event_delay + OVERTAKEN
        } else {
            self.event_delay
        };
        vec![first, self.event_delay + SECOND_COPY]
    }
}

/// Registrations of task definitions, as far as they limit others.
#[derive(Default)]
pub(crate) struct Registrations {
    latest: Option<Instant>,
    by_family: HashMap<String, Instant>,
}

impl Registrations {
    /// Begins one.
    ///
    /// # Errors
    /// ECS's refusal of a rival, or of one that comes too soon.
    pub fn begin(&mut self, family: &str, conduct: &Conduct) -> Result<(), Refusal> {
        let is_within = |since: Option<&Instant>, limit: Duration| {
            since.is_some_and(|since| since.elapsed() < limit)
        };
        if is_within(self.by_family.get(family), conduct.registers_for) {
            let why =
                "Too many concurrent attempts to create a new revision of the specified family.";
            return Err(Refusal::new(400, "ClientException", why));
        }
        if is_within(self.latest.as_ref(), conduct.registers_every) {
            return Err(Refusal::new(400, "ThrottlingException", "Rate exceeded"));
        }
        let now = Instant::now();
        self.latest = Some(now);
        self.by_family
            .retain(|_, since| since.elapsed() < conduct.registers_for);
        if !conduct.registers_for.is_zero() {
            self.by_family.insert(family.to_owned(), now);
        }
        Ok(())
    }
}

/// What tasks were before, as far as it is still described.
#[derive(Default)]
pub(crate) struct Past(HashMap<String, Vec<(Instant, Task)>>);

impl Past {
    /// Notes what a task is from now on.
    pub fn note(&mut self, task: &Task, late: Duration) {
        if late.is_zero() {
            self.0.remove(&task.id);
            return;
        }
        let states = self.0.entry(task.id.clone()).or_default();
        states.push((Instant::now(), task.clone()));
    }

    /// A task as it is described now; none if it is not known yet.
    pub fn seen<'a>(&'a self, task: &'a Task, late: Duration) -> Option<&'a Task> {
        let states = self.0.get(&task.id).filter(|_| !late.is_zero());
        let Some(states) = states else {
            return Some(task);
        };
        let known = states
            .iter()
            .rev()
            .find(|(since, _)| since.elapsed() >= late);
        known.map(|(_, task)| task)
    }
}
