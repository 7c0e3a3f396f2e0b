//! The cluster's memory beyond the end of its process; ECS knows its tasks regardless of its
//! callers. Invariants: a task is recorded before its process can start, and again when it has
//! stopped; no value of an environment variable is ever written, because it may be a secret; a
//! truncated line is skipped, and the others count.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use awo_cloud::compute::ENDED_WITH_SERVICE;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::clock;
use crate::ecs::task::{StopCause, Task};
use crate::ecs::{self, Ecs, EcsSettings, State, TOKEN_RETENTION, TaskEvents, TaskStatus, Token};
use crate::shutdown::Shutdown;

/// Lines after which the journal is written anew, unless most of them still count.
const LINES: usize = 20_000;

/// More than a task changes between its first line and its last: an event after a restart
/// has a later version than all events before it.
const UNWRITTEN_CHANGES: u64 = 10;

/// Of several lines on one task or token, the last counts.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Task(Box<Task>),
    Token { name: String, token: Token },
}

/// The file that is written to.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    lines: usize,
}

impl Ecs {
    /// A cluster that keeps a journal. What an earlier process wrote there is known again; the
    /// tasks that lived then are stopped, because their host is gone and their processes with it.
    ///
    /// # Errors
    /// When the journal cannot be read or written.
    pub fn restored(
        settings: EcsSettings,
        events: TaskEvents,
        shutdown: Shutdown,
        journal: &Path,
    ) -> io::Result<Self> {
        let ecs = Self::new(settings, events, shutdown);
        ecs.lock().take_up(journal, ecs.cluster())?;
        Ok(ecs)
    }

    /// Sends the rules an event for every task that is known to have stopped: whether they received one
    /// before a restart is not known, and events come at least once.
    pub fn report_stopped(&self) {
        for task in self.lock().tasks.values() {
            if task.status == TaskStatus::Stopped {
                self.inner.events.emit(task, &self.conduct());
            }
        }
    }
}

impl State {
    /// Writes down how a task is now.
    pub fn note_task(&mut self, id: &str) {
        if let Some(task) = self.tasks.get(id) {
            self.note(&Line::Task(Box::new(task.clone())));
        }
    }

    /// Writes down what a client token has started.
    pub fn note_token(&mut self, name: &str) {
        if let Some(token) = self.tokens.get(name) {
            let (name, token) = (name.to_owned(), token.clone());
            self.note(&Line::Token { name, token });
        }
    }

    fn note(&mut self, line: &Line) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        let mut noted = journal.append(line);
        if journal.lines >= LINES.max(2 * (self.tasks.len() + self.tokens.len())) {
            journal.lines = 0;
            let path = journal.path.clone();
            noted = noted.and_then(|()| self.write_anew(&path));
        }
        if let Err(error) = noted {
            // The work goes on: after a restart it is the deadlines that notice what was lost.
            tracing::error!(%error, "the journal of tasks could not be written");
        }
    }

    fn take_up(&mut self, path: &Path, cluster: &Arc<str>) -> io::Result<()> {
        match File::open(path) {
            Ok(file) => self.read(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let now = clock::now();
        for task in self.tasks.values_mut() {
            task.cluster = Arc::clone(cluster);
            if task.status != TaskStatus::Stopped {
                task.status = TaskStatus::Stopped;
                task.version += UNWRITTEN_CHANGES;
                task.stop_cause = Some(StopCause {
                    code: "TerminationNotice".into(),
                    reason: ENDED_WITH_SERVICE.to_owned(),
                });
                task.stopping = Some(now);
                task.stopped = Some(now);
            }
        }
        self.write_anew(path)
    }

    fn read(&mut self, file: File) -> io::Result<()> {
        for line in BufReader::new(file).split(b'\n') {
            match serde_json::from_slice(&line?) {
                Ok(Line::Task(task)) => {
                    self.tasks.insert(task.id.clone(), *task);
                }
                Ok(Line::Token { name, token }) => {
                    self.tokens.insert(name, token);
                }
                Err(error) => {
                    tracing::warn!(%error, "a line of the journal of tasks does not read");
                }
            }
        }
        Ok(())
    }

    /// Puts a journal of what is still remembered in the place of the old one, whole or not at
    /// all.
    fn write_anew(&mut self, path: &Path) -> io::Result<()> {
        ecs::forget(self);
        let now = clock::now();
        self.tokens
            .retain(|_, token| now - token.sent < TOKEN_RETENTION);
        let draft = path.with_extension("draft");
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&draft)?;
        let mut out = BufWriter::new(file);
        let tasks = self.tasks.values().cloned();
        let tasks = tasks.map(|task| Line::Task(Box::new(task)));
        let tokens = self.tokens.iter();
        let tokens = tokens.map(|(name, token)| Line::Token {
            name: name.clone(),
            token: token.clone(),
        });
        let mut lines = 0;
        for line in tasks.chain(tokens) {
            write_line(&mut out, &line)?;
            lines += 1;
        }
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        std::fs::rename(&draft, path)?;
        let path = path.to_owned();
        self.journal = Some(Journal { path, file, lines });
        Ok(())
    }
}

impl Journal {
    fn append(&mut self, line: &Line) -> io::Result<()> {
        self.lines += 1;
        write_line(&mut self.file, line)
    }
}

/// One write for a line, so that a kill tears at most the last.
fn write_line(out: &mut impl Write, line: &Line) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    out.write_all(&bytes)
}

/// The part of overrides that may be stored: only values that are known to be no secrets.
pub(crate) fn without_values<S: Serializer>(overrides: &Value, out: S) -> Result<S::Ok, S::Error> {
    let list = |of: &Value, name: &str| of.get(name).and_then(Value::as_array).cloned();
    let variable = |variable: &Value| json!({"name": variable.get("name"), "value": ""});
    let containers = list(overrides, "containerOverrides").unwrap_or_default();
    let containers = containers.iter().map(|container| {
        let variables = list(container, "environment").unwrap_or_default();
        let variables: Vec<Value> = variables.iter().map(variable).collect();
        json!({"name": container.get("name"), "environment": variables})
    });
    json!({"containerOverrides": containers.collect::<Vec<Value>>()}).serialize(out)
}
