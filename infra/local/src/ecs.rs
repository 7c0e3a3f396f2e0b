//! ECS: tasks that are real processes. Invariants: one client token starts one set of tasks,
//! however often it is sent; the number of tasks never exceeds the limit; every task ends in
//! STOPPED, with an event, and no process of it is left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use crate::access::AccessKey;
use crate::aws_json::{self, Dialect};
pub use crate::ecs::conduct::{Conduct, StartFailure};
use crate::ecs::conduct::{Past, Registrations};
pub use crate::ecs::definition::{MountPoint, TaskDefinition};
pub use crate::ecs::event::{TaskEvents, TaskRule};
use crate::ecs::journal::Journal;
use crate::ecs::process::{Launch, Process};
pub use crate::ecs::task::TaskStatus;
use crate::ecs::task::{StopCause, Task};
use crate::efs::Efs;
use crate::serve::Server;
use crate::shutdown::Shutdown;
use crate::{arn, clock};

mod conduct;
mod definition;
mod definition_rules;
mod event;
mod finding;
mod journal;
mod logs;
mod process;
mod protocol;
mod run_task;
mod task;

/// ECS keeps a stopped task describable for about an hour.
const STOPPED_RETENTION: TimeDelta = TimeDelta::hours(1);

/// Most stopped tasks that are stored; the oldest are removed first.
pub const STOPPED_TASKS: usize = 5_000;

/// How long a client token is remembered.
pub const TOKEN_RETENTION: TimeDelta = TimeDelta::hours(24);

/// Client tokens that are remembered at most.
pub const TOKENS: usize = 100_000;

/// Started tasks from one count of log files to the next.
const PRUNE_EVERY: usize = 100;

/// ECS limits a request to far less.
const BODY_BYTES: usize = 1024 * 1024;

const DIALECT: Dialect = Dialect {
    target_prefix: "AmazonEC2ContainerServiceV20141113.",
    content_type: "application/x-amz-json-1.1",
    body_bytes: BODY_BYTES,
};

/// How the cluster is set up.
#[derive(Clone, Debug)]
pub struct EcsSettings {
    pub cluster: String,
    /// Must exist. Each task leaves `<task id>.stdout.log` and `<task id>.stderr.log`.
    pub log_directory: PathBuf,
    /// Tasks at once.
    pub task_limit: usize,
    /// Where access points lead, if tasks can mount any.
    pub files: Option<Efs>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Token {
    /// Distinguishes the token's first request from every other.
    pub request: String,
    pub tasks: Vec<String>,
    pub sent: DateTime<Utc>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Revisions by family, the first at the front.
    pub definitions: BTreeMap<String, Vec<TaskDefinition>>,
    /// Revisions that are out of use.
    pub inactive: BTreeSet<(String, u32)>,
    /// By id.
    pub tasks: BTreeMap<String, Task>,
    pub tokens: HashMap<String, Token>,
    pub past: Past,
    pub registrations: Registrations,
    /// Without one, all is forgotten with the process.
    pub journal: Option<Journal>,
}

/// The cluster. Clones share it.
#[derive(Clone)]
pub struct Ecs {
    inner: Arc<Inner>,
}

struct Inner {
    cluster: Arc<str>,
    log_directory: PathBuf,
    task_limit: AtomicUsize,
    files: Option<Efs>,
    events: TaskEvents,
    shutdown: Shutdown,
    state: Mutex<State>,
    conduct: Mutex<Conduct>,
    /// Notified when a task has stopped.
    stopped: Notify,
    /// Tasks since the start.
    started: AtomicUsize,
}

/// Serves the cluster until the shutdown, which stops its tasks.
///
/// # Errors
/// When the listener is not on loopback.
pub fn start(
    listener: TcpListener,
    ecs: Ecs,
    key: AccessKey,
    shutdown: Shutdown,
) -> io::Result<Server> {
    aws_json::serve(listener, DIALECT, key, shutdown, move |operation, body| {
        let outcome = protocol::run(&ecs, &operation, &body);
        async move { outcome }
    })
}

impl Ecs {
    #[must_use]
    pub fn new(settings: EcsSettings, events: TaskEvents, shutdown: Shutdown) -> Self {
        let inner = Inner {
            cluster: settings.cluster.into(),
            log_directory: settings.log_directory,
            task_limit: AtomicUsize::new(settings.task_limit),
            files: settings.files,
            events,
            shutdown,
            state: Mutex::default(),
            conduct: Mutex::default(),
            stopped: Notify::new(),
            started: AtomicUsize::new(0),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Adds a revision to a family and gives its ARN.
    pub fn register(&self, definition: TaskDefinition) -> String {
        let family = definition.family.clone();
        let mut state = self.lock();
        let revisions = state.definitions.entry(family.clone()).or_default();
        revisions.push(definition);
        arn::task_definition(&family, u32::try_from(revisions.len()).unwrap_or(u32::MAX))
    }

    pub(crate) fn files(&self) -> Option<&Efs> {
        self.inner.files.as_ref()
    }

    /// Changes how many tasks may run at once; running ones are left alone.
    pub fn set_task_limit(&self, tasks: usize) {
        self.inner.task_limit.store(tasks, Ordering::Relaxed);
    }

    /// Behaves so from now on.
    pub fn set_conduct(&self, conduct: Conduct) {
        *self.lock_conduct() = conduct;
    }

    pub(crate) fn conduct(&self) -> Conduct {
        self.lock_conduct().clone()
    }

    fn lock_conduct(&self) -> MutexGuard<'_, Conduct> {
        let conduct = &self.inner.conduct;
        conduct.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn task_limit(&self) -> usize {
        self.inner.task_limit.load(Ordering::Relaxed)
    }

    /// Tasks that have not stopped.
    #[must_use]
    pub fn living(&self) -> usize {
        living(&self.lock())
    }

    /// Resolves when no task lives, or after `limit`; true in the first case.
    pub async fn idle(&self, limit: Duration) -> bool {
        let all_stopped = async {
            loop {
                let stopped = self.inner.stopped.notified();
                tokio::pin!(stopped);
                stopped.as_mut().enable();
                if self.living() == 0 {
                    return;
                }
                stopped.await;
            }
        };
        tokio::time::timeout(limit, all_stopped).await.is_ok()
    }

    pub(crate) fn cluster(&self) -> &Arc<str> {
        &self.inner.cluster
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the life of a task that is already in the state.
    pub(crate) fn live(
        &self,
        task: &Task,
        definition: TaskDefinition,
        command: Vec<String>,
        environment: BTreeMap<String, String>,
    ) {
        self.inner.events.emit(task, &self.conduct());
        let launch = Launch {
            supervisor: definition.supervisor,
            command,
            environment,
            stop_timeout: definition.stop_timeout,
            log_directory: self.inner.log_directory.clone(),
            task_id: task.id.clone(),
        };
        let started = self.inner.started.fetch_add(1, Ordering::Relaxed);
        if started.is_multiple_of(PRUNE_EVERY) {
            let directory = self.inner.log_directory.clone();
            tokio::task::spawn_blocking(move || {
                if let Err(error) = logs::prune(&directory) {
                    tracing::warn!(%error, "old outputs of tasks could not be removed");
                }
            });
        }
        let (ecs, stop) = (self.clone(), task.stop.subscribe());
        tokio::spawn(async move {
            ecs.run(launch, stop).await;
            ecs.inner.stopped.notify_waiters();
        });
    }

    async fn run(&self, launch: Launch, stop: watch::Receiver<bool>) {
        let id = launch.task_id.as_str();
        self.change(id, |task| task.status = TaskStatus::Pending);
        if *stop.borrow() {
            let cause = StopCause {
                code: "UserInitiated".into(),
                reason: String::new(),
            };
            return self.end(id, None, cause).await;
        }
        if let Some(failure) = self.conduct().start_failure {
            let cause = StopCause {
                code: "TaskFailedToStart".into(),
                reason: failure.stopped_reason.clone(),
            };
            self.change(id, |task| task.failure = Some(failure));
            return self.end(id, None, cause).await;
        }
        let process = match Process::start(&launch) {
            Ok(process) => process,
            Err(error) => {
                let cause = StopCause {
                    code: "TaskFailedToStart".into(),
                    reason: format!("CannotStartContainerError: {error}"),
                };
                return self.end(id, None, cause).await;
            }
        };
        self.change(id, |task| {
            task.status = TaskStatus::Running;
            task.started = Some(clock::now());
        });
        let exit = process.finish(stop, &self.inner.shutdown).await;
        let reason = "Essential container in task exited".to_owned();
        let cause = StopCause {
            code: "EssentialContainerExited".into(),
            reason,
        };
        match exit {
            Ok(code) => self.end(id, Some(code), cause).await,
            Err(error) => {
                tracing::error!(task = id, %error, "the end of a task could not be watched");
                self.end(id, None, cause).await;
            }
        }
    }

    /// A cause that was already there, the stop request of a caller, stands.
    async fn end(&self, id: &str, exit_code: Option<i32>, cause: StopCause) {
        let conduct = self.conduct();
        wait(conduct.notices_end_after).await;
        self.change(id, |task| {
            task.status = TaskStatus::Deprovisioning;
            task.exit_code = exit_code;
            task.stop_cause.get_or_insert(cause);
            task.stopping.get_or_insert(clock::now());
        });
        wait(conduct.deprovisions_for).await;
        self.change(id, |task| {
            task.status = TaskStatus::Stopped;
            task.stopped = Some(clock::now());
        });
    }

    /// The only way to change a task: counts the version up and sends the event to the rules.
    pub(crate) fn change(&self, id: &str, change: impl FnOnce(&mut Task)) -> Option<Task> {
        let conduct = self.conduct();
        let mut state = self.lock();
        let task = state.tasks.get_mut(id)?;
        if task.status != TaskStatus::Stopped {
            change(task);
            task.version += 1;
            self.inner.events.emit(task, &conduct);
        }
        let task = task.clone();
        state.past.note(&task, conduct.describes_after);
        if task.status == TaskStatus::Stopped {
            state.note_task(id);
        }
        Some(task)
    }
}

/// Without a wait nothing else gets its turn, so that a test that waits for nothing sees no stage.
async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

pub(crate) fn living(state: &State) -> usize {
    state
        .tasks
        .values()
        .filter(|task| task.status != TaskStatus::Stopped)
        .count()
}

/// Forgets what ECS would have forgotten.
pub(crate) fn forget(state: &mut State) {
    let now = clock::now();
    if state.tokens.len() >= TOKENS {
        state
            .tokens
            .retain(|_, token| now - token.sent < TOKEN_RETENTION);
    }
    state.tasks.retain(|_, task| {
        task.stopped
            .is_none_or(|stopped| now - stopped < STOPPED_RETENTION)
    });
    let mut stopped: Vec<_> = state
        .tasks
        .values()
        .filter_map(|task| Some((task.stopped?, task.id.clone())))
        .collect();
    if stopped.len() > STOPPED_TASKS {
        stopped.sort();
        let surplus = stopped.len() - STOPPED_TASKS;
        for (_, id) in stopped.into_iter().take(surplus) {
            state.tasks.remove(&id);
        }
    }
}
