//! Contained processes: each hostile process runs under the supervisor with a clean environment and
//! bounded output. When [`ContainedProcesses::run`] returns, no process of its tree is alive.

mod client_code;
mod ending;
mod job;
mod pipes;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use awo_supervisor::{KILL_LIMIT, Order, Sandbox};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::agent_user::AgentUser;
use crate::environment::SearchLimit;
use crate::masks::Masks;
use crate::output::Tail;
use crate::sandbox::Machine;
use crate::settings::{self, Settings};
use crate::stop::{Step, StopOutcome, StopSignal, TERM_GRACE, Timetable};

pub(crate) use client_code::ClientCode;
use ending::{EndRequest, called, finish_the_job, how, signal};
pub(crate) use job::{AtTimeout, CalledOff, Job, Listener, Variables};
use pipes::{read_both, read_report};

/// What the supervisor may take beyond grace and kill limit before it counts as lost.
const SUPERVISOR_SLACK: Duration = Duration::from_secs(5);
/// How long output is awaited that is already in a pipe, once all writers are dead.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Exited(i32),
    Signaled(i32),
    TimedOut,
    /// For the reason that was given.
    CalledOff(String),
    /// It took more of the machine than it may; what it took.
    OverLimit(String),
    NotStarted(String),
    /// The command killed its supervisor. It is dead all the same.
    SupervisorLost,
}

/// A command that is over.
#[derive(Debug)]
pub(crate) struct FinishedCommand {
    pub(crate) end: End,
    /// Standard output and standard error as they came.
    pub(crate) output: Tail,
    /// Standard output alone.
    pub(crate) stdout: Tail,
    /// How standard output began.
    pub(crate) stdout_head: Vec<u8>,
    pub(crate) took: Duration,
}

/// A command that a stop ended, or prevented. It is dead all the same.
#[derive(Debug)]
pub(crate) struct Interruption {
    pub(crate) stopped: StopOutcome,
    /// Standard output and standard error as they came; absent if it never began.
    pub(crate) output: Option<Tail>,
    pub(crate) took: Duration,
}

/// How a command and its supervisor were seen to their end.
struct CommandEnd {
    end: End,
    /// Whether a stop ended it.
    stopped: bool,
    /// Whether something of it had to be killed.
    forced: bool,
}

/// Runs hostile commands.
#[derive(Debug, Clone)]
pub(crate) struct ContainedProcesses {
    program: PathBuf,
    path: OsString,
    tool_homes: Vec<(&'static str, OsString)>,
    user: Option<AgentUser>,
    /// Absent: commands see what this process sees.
    sandbox: Option<Machine>,
    /// True while commands reach no network but loopback.
    loopback_only: Arc<AtomicBool>,
    // As in an `Order`.
    is_private: bool,
    is_alone: bool,
    stop: StopSignal,
    /// What is masked in what commands print.
    masks: Masks,
    /// Learns of the first command; absent where nobody pays for it.
    client_code: Option<ClientCode>,
}

/// The pipes of a command that was started.
struct Pipes {
    stdout: Receiver,
    stderr: Receiver,
    report: Receiver,
}

impl ContainedProcesses {
    pub(crate) fn new(settings: &Settings, stop: StopSignal) -> ContainedProcesses {
        ContainedProcesses {
            program: settings.program.clone(),
            path: settings.path.clone(),
            tool_homes: settings.tool_homes.clone(),
            user: settings.effective_agent_user(),
            sandbox: Some(Machine::of(settings)),
            loopback_only: Arc::default(),
            is_private: settings.is_private,
            is_alone: settings.is_task,
            stop,
            masks: Masks::default(),
            client_code: None,
        }
    }

    /// Notes the first command there.
    pub(crate) fn noting(self, client_code: ClientCode) -> ContainedProcesses {
        ContainedProcesses {
            client_code: Some(client_code),
            ..self
        }
    }

    /// Masks these values in the output of commands, for its readers.
    pub(crate) fn masking(self, masks: Masks) -> ContainedProcesses {
        ContainedProcesses { masks, ..self }
    }

    /// For commands that reach no network but loopback while that is so.
    pub(crate) fn loopback_only(mut self, is_limited: Arc<AtomicBool>) -> ContainedProcesses {
        self.loopback_only = is_limited;
        self
    }

    /// For commands that may also read `path`.
    pub(crate) fn reading(mut self, path: PathBuf) -> ContainedProcesses {
        if let Some(machine) = &mut self.sandbox {
            machine.grant(path);
        }
        self
    }

    /// For commands of a person's own: as that person, with that person's tools.
    ///
    /// # Errors
    /// If this program's own file is not known.
    pub(crate) fn local(stop: StopSignal) -> Result<ContainedProcesses, String> {
        let (path, tool_homes) = settings::tools();
        Ok(ContainedProcesses {
            program: settings::own_program()?,
            path,
            tool_homes,
            user: None,
            sandbox: None,
            loopback_only: Arc::default(),
            is_private: false,
            is_alone: false,
            stop,
            masks: Masks::default(),
            client_code: None,
        })
    }

    /// The limit of a search for secrets in a run with so much time left.
    pub(crate) fn search_limit(&self, left: Duration) -> SearchLimit {
        SearchLimit::after(left, self.stop.clone())
    }

    /// Returns once everything is to stop.
    pub(crate) async fn stopped(&self) {
        self.stop.stopped().await;
    }

    /// Where programs are found.
    pub(crate) fn path(&self) -> &OsStr {
        &self.path
    }

    /// The user that commands run as, where it is not our own.
    pub(crate) fn user(&self) -> Option<AgentUser> {
        self.user
    }

    /// Runs a command to its end and beyond: nothing of it is alive afterwards.
    ///
    /// # Errors
    /// When everything is to stop; the command is dead then, too.
    pub(crate) async fn run(&self, job: Job<'_>) -> Result<FinishedCommand, Interruption> {
        self.run_noting(job, self.client_code.as_ref()).await
    }

    /// As [`ContainedProcesses::run`], for a command of the runner's own: no code of the client's.
    pub(crate) async fn run_own(&self, job: Job<'_>) -> Result<FinishedCommand, Interruption> {
        self.run_noting(job, None).await
    }

    async fn run_noting(
        &self,
        job: Job<'_>,
        client_code: Option<&ClientCode>,
    ) -> Result<FinishedCommand, Interruption> {
        if let Some(client_code) = client_code.filter(|_| self.stop.reason().is_none()) {
            tokio::select! {
                () = client_code.announce() => {}
                () = self.stop.stopped() => {}
            }
        }
        if self.stop.reason().is_some() {
            return Err(Interruption {
                stopped: StopOutcome::default(),
                output: None,
                took: Duration::ZERO,
            });
        }
        let began = Instant::now();
        let mut finished = FinishedCommand {
            end: End::SupervisorLost,
            output: Tail::new(job.keep_bytes),
            stdout: Tail::new(job.keep_bytes),
            stdout_head: Vec::new(),
            took: Duration::ZERO,
        };
        let attended = match self.spawn(&job) {
            Ok((child, pipes)) => self.attend(&job, began, child, pipes, &mut finished).await,
            Err(why) => CommandEnd {
                end: End::NotStarted(why.to_string()),
                stopped: false,
                forced: false,
            },
        };
        finished.took = began.elapsed();
        if attended.stopped {
            return Err(Interruption {
                stopped: StopOutcome {
                    forced: attended.forced,
                },
                output: Some(finished.output),
                took: finished.took,
            });
        }
        finished.end = attended.end;
        Ok(finished)
    }

    fn spawn(&self, job: &Job<'_>) -> io::Result<(Child, Pipes)> {
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        let (report, report_writer) = io::pipe()?;
        // Nothing else is started between here and the end of this function, where the write end
        // is closed: there is one thread that starts processes.
        fcntl(&report_writer, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let order = Order {
            user: self.user.map(|user| (user.uid, user.gid)),
            term_grace: TERM_GRACE,
            report_fd: Some(report_writer.as_raw_fd()),
            limits: job.limits.clone(),
            sandbox: self.sandbox.as_ref().map(|machine| sandbox(machine, job)),
            loopback_only: self.loopback_only.load(Ordering::SeqCst),
            is_private: self.is_private,
            is_alone: self.is_alone,
            is_trusted: false,
            argv: job.argv.to_vec(),
        };
        let child = Command::new(&self.program)
            .arg("supervise")
            .args(order.to_args())
            .current_dir(job.dir)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", job.home)
            .env("TMPDIR", job.tmp)
            .env("LANG", "C.UTF-8")
            .envs(self.tool_homes.iter().map(|(name, place)| (name, place)))
            .envs(job.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(stdout_writer)
            .stderr(stderr_writer)
            .spawn()?;
        let pipes = Pipes {
            stdout: Receiver::from_owned_fd(OwnedFd::from(stdout))?,
            stderr: Receiver::from_owned_fd(OwnedFd::from(stderr))?,
            report: Receiver::from_owned_fd(OwnedFd::from(report))?,
        };
        Ok((child, pipes))
    }

    /// Reads until the supervisor is gone, passing on the stop requests that arise meanwhile.
    async fn attend(
        &self,
        job: &Job<'_>,
        began: Instant,
        mut child: Child,
        mut pipes: Pipes,
        finished: &mut FinishedCommand,
    ) -> CommandEnd {
        let (over, is_over) = oneshot::channel::<()>();
        let ending = async {
            let asked = self.see_to_the_end(&mut child, job, began).await;
            let report = timeout(DRAIN_LIMIT, read_report(&mut pipes.report)).await;
            let report = report.ok().flatten();
            if report.as_ref().is_none_or(|report| report.survivors > 0) {
                finish_the_job().await;
            }
            drop(over);
            (asked, report)
        };
        let reading = async {
            let drained = async {
                let _ = is_over.await;
                sleep(DRAIN_LIMIT).await;
            };
            // Once all writers are dead this only takes what is still in the pipes.
            tokio::select! {
                () = read_both(&mut pipes.stdout, &mut pipes.stderr, finished, job.heard, &self.masks) => {}
                () = drained => {}
            }
        };
        let ((asked, report), ()) = tokio::join!(ending, reading);
        CommandEnd {
            stopped: asked.by_stop,
            forced: report.as_ref().is_none_or(|report| report.forced),
            end: how(asked, report),
        }
    }

    /// Waits for the supervisor, at most until it must be gone. A command whose time is up, or
    /// that a stop ends, is signaled step by step.
    async fn see_to_the_end(&self, child: &mut Child, job: &Job<'_>, began: Instant) -> EndRequest {
        let mut stdin = child.stdin.take();
        let mut asked = EndRequest::default();
        let mut timetable: Option<Timetable> = None;
        let mut from_stop = None;
        let mut called_off = job.called_off.clone();
        loop {
            let step = timetable.map(|timetable| timetable.step(Instant::now()));
            if let (Some(timetable), Some(step)) = (timetable, step) {
                signal(child, &mut stdin, step, timetable).await;
            }
            let next = match (timetable, step) {
                (Some(timetable), Some(step)) => timetable
                    .next(step)
                    .unwrap_or(timetable.kill_at() + KILL_LIMIT + SUPERVISOR_SLACK),
                _ => began + job.limit,
            };
            let earlier = tokio::select! {
                biased;
                _ = child.wait() => return asked,
                new = self.stop.timetable(from_stop) => {
                    asked.by_stop = true;
                    from_stop = Some(new);
                    Some(new)
                }
                why = called(&mut called_off), if asked.off.is_none() => {
                    asked.off = Some(why);
                    Some(Timetable::terminate(Instant::now(), job.at_timeout.grace()))
                }
                () = sleep_until(next) => match step {
                    None => {
                        asked.by_time = true;
                        Some(Timetable::terminate(Instant::now(), job.at_timeout.grace()))
                    }
                    Some(Step::Kill) => break,
                    Some(_) => None,
                }
            };
            timetable = match (timetable, earlier) {
                (Some(now), Some(earlier)) => Some(now.or_earlier(earlier)),
                (now, earlier) => now.or(earlier),
            };
        }
        // A supervisor that does not end in time is lost; we are the next subreaper.
        let _ = child.kill().await;
        asked
    }
}

/// What a command sees. The supervisor stands in its folder, whatever path led there.
fn sandbox(machine: &Machine, job: &Job<'_>) -> Sandbox {
    let own = [Path::new("."), job.home, job.tmp].into_iter();
    let writes = own.chain(job.limits.places.iter().map(PathBuf::as_path));
    machine.sandbox(job.reads, writes)
}
