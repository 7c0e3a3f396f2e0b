//! Inspections: a separate process reads hostile data (plans, patterns, schemas, reports),
//! contained like a command, as the agents' user, within time and memory. A schema that never ends,
//! or a report that takes all memory, affects only its own check.
//!
//! The process is this program. It reads a request from a file and writes one line per task, so the
//! results before a forced end count.

mod child;
mod protocol;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_domain::verification::{Check, Status};
use awo_supervisor::Limits;
use tokio::time::Instant;

use crate::contained_process::{AtTimeout, ContainedProcesses, End, FinishedCommand, Job};
use crate::layout::write_anew;
use crate::plan::{FrozenPlan, PLAN_FILE};
use crate::stop::StopOutcome;

pub use child::main;
pub(crate) use protocol::{Answer, Bytes, Files, GatePart, Paths, Request, Task};

/// Memory of an inspection, in MiB.
pub(crate) const MEMORY_MB: u64 = 512;
/// How long it takes at most to read a plan.
const PLAN_LIMIT: Duration = Duration::from_secs(30);
/// Most bytes of all answers of one process.
const MAX_ANSWERS_BYTES: usize = 16 * 1_024 * 1_024;
/// The message of Rust programs that are refused memory.
const OUT_OF_MEMORY: &str = "memory allocation of";
/// Where mimalloc is the allocator (in `awo`, which calls the service's crates), it reserves a gibibyte before `main`. Reserved
/// as writable it would count, and nothing could be allocated under the limit.
const RESERVED_ONLY: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");
/// This program, whatever the permissions of its folder.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// The word by which it knows what it is for.
pub(crate) const COMMAND: &str = "inspect";

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It was not through when its time was over.
    TimedOut,
    /// It was not begun, since its time was over.
    NotBegun,
    /// It took too much memory, with the sentence for people.
    OverLimit(String),
    /// It broke, with the sentence for people.
    Broken(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::TimedOut => f.write_str("timed out: it did not finish within its time limit"),
            Fault::NotBegun => f.write_str("not run: the verification's time is used up"),
            Fault::OverLimit(why) => write!(f, "ended: {why}"),
            Fault::Broken(why) => write!(f, "could not be judged: {why}"),
        }
    }
}

impl Fault {
    /// The check of that name, which has no other answer.
    pub(crate) fn check(&self, name: &str) -> Check {
        let status = match self {
            Fault::OverLimit(_) => Status::Failed,
            Fault::TimedOut | Fault::NotBegun | Fault::Broken(_) => Status::Error,
        };
        Check {
            name: name.to_owned(),
            status,
            message: self.to_string(),
            tests: None,
            location: None,
        }
    }
}

/// Where inspections happen.
pub(crate) struct Inspector<'a> {
    pub(crate) processes: &'a ContainedProcesses,
    /// The folder that is inspected.
    pub(crate) dir: &'a Path,
    pub(crate) home: &'a Path,
    pub(crate) tmp: &'a Path,
    /// A file for requests, in a folder that hostile processes cannot write.
    pub(crate) request: PathBuf,
    /// What one may take, in MiB.
    pub(crate) memory_mb: u64,
}

impl Inspector<'_> {
    /// Has `tasks` done until `deadline`; the answers come in their order.
    ///
    /// # Errors
    /// When everything is to stop.
    pub(crate) async fn inspect(
        &self,
        files: Files,
        tasks: Vec<Task>,
        deadline: Instant,
    ) -> Result<Vec<Result<Answer, Fault>>, StopOutcome> {
        let count = tasks.len();
        let mut request = Request { files, tasks };
        let mut answers = Vec::with_capacity(count);
        // Each turn answers one task at least.
        while !request.tasks.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                answers.resize(count, Err(Fault::NotBegun));
                break;
            }
            let (got, fault) = self.run(&request, left).await?;
            let done = got.len() + usize::from(fault.is_some());
            answers.extend(got.into_iter().map(Ok));
            answers.extend(fault.map(Err));
            request.tasks.drain(..done.min(request.tasks.len()));
        }
        Ok(answers)
    }

    /// Has one task done.
    ///
    /// # Errors
    /// When everything is to stop.
    pub(crate) async fn one(
        &self,
        files: Files,
        task: Task,
        deadline: Instant,
    ) -> Result<Result<Answer, Fault>, StopOutcome> {
        let answers = self.inspect(files, vec![task], deadline).await?;
        let answer = answers.into_iter().next();
        Ok(answer.unwrap_or(Err(Fault::NotBegun)))
    }

    /// Reads the plan; a sentence where there is none that could be followed.
    ///
    /// # Errors
    /// When everything is to stop.
    pub(crate) async fn plan(
        &self,
        limit: Duration,
    ) -> Result<Result<FrozenPlan, String>, StopOutcome> {
        let deadline = Instant::now() + limit.min(PLAN_LIMIT);
        let answer = self.one(Files::default(), Task::Plan, deadline).await?;
        Ok(match answer {
            Ok(Answer::Plan(plan)) => *plan,
            Ok(_) => Err(format!("{PLAN_FILE} was not read")),
            Err(fault) => Err(format!("{PLAN_FILE} was not read: {fault}")),
        })
    }

    /// The answers of one process, in order, and why the next task has none, if one is left.
    async fn run(
        &self,
        request: &Request,
        limit: Duration,
    ) -> Result<(Vec<Answer>, Option<Fault>), StopOutcome> {
        let broken = |why: String| Ok((Vec::new(), Some(Fault::Broken(why))));
        let written = serde_json::to_vec(request).map_err(io::Error::other);
        if let Err(why) = written.and_then(|bytes| write_anew(&self.request, &bytes)) {
            return broken(format!("the request could not be written: {why}"));
        }
        let argv = [
            THIS_PROGRAM.into(),
            COMMAND.into(),
            self.memory_mb.to_string().into(),
            OsString::from(&self.request),
        ];
        let job = Job {
            argv: &argv,
            dir: self.dir,
            home: self.home,
            tmp: self.tmp,
            reads: &[&self.request],
            env: &[(RESERVED_ONLY.0, RESERVED_ONLY.1.into())],
            limit,
            at_timeout: AtTimeout::Kill,
            limits: Limits {
                memory_mb: Some(self.memory_mb),
                ..Limits::default()
            },
            called_off: None,
            keep_bytes: MAX_ANSWERS_BYTES,
            heard: None,
        };
        let ran = self.processes.run_own(job).await;
        let finished = ran.map_err(|interrupted| interrupted.stopped)?;
        if finished.stdout.was_cut() {
            return broken("the result is too large".to_owned());
        }
        let answers = answers(finished.stdout.bytes());
        let is_whole = answers.len() >= request.tasks.len();
        let fault = (!is_whole).then(|| self.fault(&finished));
        Ok((answers, fault))
    }

    fn fault(&self, finished: &FinishedCommand) -> Fault {
        let output = finished.output.text();
        match &finished.end {
            End::TimedOut => Fault::TimedOut,
            End::OverLimit(_) => Fault::OverLimit(self.too_much()),
            _ if output.contains(OUT_OF_MEMORY) => Fault::OverLimit(self.too_much()),
            End::Signaled(signal) => Fault::Broken(format!("killed by signal {signal}")),
            End::Exited(code) => Fault::Broken(format!("exit code {code}")),
            End::NotStarted(why) | End::CalledOff(why) => Fault::Broken(why.clone()),
            End::SupervisorLost => Fault::Broken("its supervisor was lost".to_owned()),
        }
    }

    fn too_much(&self) -> String {
        format!("it took more than {} MiB of memory", self.memory_mb)
    }
}

/// Whole lines that are answers, up to one that is none.
fn answers(stdout: &[u8]) -> Vec<Answer> {
    let lines = stdout.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter_map(|line| line.strip_suffix(b"\n"));
    whole
        .map_while(|line| serde_json::from_slice(line).ok())
        .collect()
}
