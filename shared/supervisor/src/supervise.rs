//! The supervisor's life: start the command, listen, and leave no process behind.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::calls::CallRequests;
use crate::measure::Measuring;
use crate::order::MAX_GRACE_MS;
use crate::start::{SupervisedTree, command_uid, command_user, other_user, start};
use crate::tree::{POLL, Termination};
use crate::{Breach, KILL_LIMIT, Order, ProcessEnd, ReapedChild, Report, Sandbox};
use crate::{hardening, namespaces, objects, tree};

/// Bytes of standard input that are read at once; all requests that can wait there are shorter.
const REQUEST_BYTES: usize = 256;

/// What somebody wants of the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopRequest {
    /// SIGTERM for the command alone, which sees to its own tree.
    Stop,
    /// SIGINT for the command's group; its time.
    Interrupt(Duration),
    /// SIGTERM for the whole tree; its time.
    Terminate(Duration),
    Kill,
}

/// How far the tree was sent to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EndStage {
    Nothing,
    Interrupted,
    Terminated,
}

/// Runs the command of `order` until it and everything below it is gone.
pub(crate) fn supervise(order: &Order) -> Report {
    let mut measuring = None;
    let started = prepare(order).and_then(|signals| {
        measuring = Measuring::start(&order.limits, other_user(order), order.is_private);
        let tree = start(order)?;
        if let (Some(measuring), Some(init)) = (&mut measuring, &tree.init) {
            measuring.leave_out(init.pid);
        }
        Ok((signals, tree))
    });
    let (signals, tree) = match started {
        Ok(started) => started,
        Err(why) => {
            return Report {
                end: ProcessEnd::NotStarted {
                    reason: why.to_string(),
                },
                forced: false,
                survivors: 0,
                breach: None,
            };
        }
    };
    let mut end = None;
    let mut note = |(pid, status): ReapedChild| {
        if pid == tree.main_child {
            end = how(status);
        }
    };
    let events = Events {
        order,
        signals: &signals,
        requests: tree.requests.as_ref(),
    };
    let breach = watch(&events, &tree, measuring.as_mut(), &mut note);
    let breach = breach.or_else(|| measuring.as_ref()?.processes_left());
    let killed = tree::kill_all(KILL_LIMIT, tree.init.as_ref(), &mut note);
    if order.is_alone && killed.survivors == 0 {
        objects::remove_of(command_uid(order));
    }
    Report {
        // Without a status the main child itself is among the survivors of SIGKILL.
        end: end.unwrap_or(ProcessEnd::Signaled {
            signal: Signal::SIGKILL as i32,
        }),
        forced: killed.forced,
        survivors: killed.survivors,
        breach: breach.or_else(|| measuring.as_ref()?.last_measurement()),
    }
}

/// Signals become readable instead of deadly, orphans become ours, and namespaces the command's own.
fn prepare(order: &Order) -> io::Result<SignalFd> {
    hardening::default_signals();
    let mut mask = SigSet::empty();
    for signal in [
        Signal::SIGCHLD,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        mask.add(signal);
    }
    mask.thread_block()?;
    if order.is_private {
        let everything = Sandbox::default();
        let sandbox = order.sandbox.as_ref().unwrap_or(&everything);
        namespaces::enter(sandbox, command_user(order))?;
    }
    hardening::become_subreaper()?;
    hardening::hide_memory()?;
    hardening::inherit_nothing();
    Ok(SignalFd::with_flags(
        &mask,
        SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC,
    )?)
}

/// Returns when it is over, or everything that is left is to be killed: when the command has
/// ended, or, where the whole tree was asked to end, when all of it has or its time is up; or when
/// it has broken a limit.
fn watch(
    events: &Events<'_>,
    supervised: &SupervisedTree,
    mut measuring: Option<&mut Measuring<'_>>,
    note: &mut impl FnMut(ReapedChild),
) -> Option<Breach> {
    let mut deadline: Option<Instant> = None;
    let mut sent = EndStage::Nothing;
    let mut terminated = Termination::default();
    let mut main_ended = false;
    let main_child = supervised.main_child;
    let init = supervised.init.as_ref().map(|init| init.pid);
    loop {
        let children = tree::reap(&mut |reaped| {
            main_ended |= reaped.0 == main_child;
            note(reaped);
        });
        let over = main_ended && sent < EndStage::Terminated;
        let is_empty = !children
            || main_ended && init.is_some_and(|init| tree::descendants_but(init).is_empty());
        if over || is_empty || deadline.is_some_and(|end| end <= Instant::now()) {
            return None;
        }
        if let Some(breach) = measuring.as_mut().and_then(|measuring| measuring.measure()) {
            return Some(breach);
        }
        if sent == EndStage::Terminated {
            terminated.orphans(init);
        }
        let wake_at = deadline.map(|end| match sent {
            EndStage::Terminated => end.min(Instant::now() + POLL),
            _ => end,
        });
        let measure = measuring.as_ref().map(|measuring| measuring.next());
        let wake_at = wake_at.into_iter().chain(measure).min();
        for stop_request in events.next(wake_at) {
            let grace = match stop_request {
                StopRequest::Kill => return None,
                StopRequest::Stop => {
                    if !main_ended {
                        tree::ask(main_child);
                    }
                    continue;
                }
                StopRequest::Interrupt(grace) => {
                    if sent < EndStage::Interrupted {
                        interrupt(main_child);
                        sent = EndStage::Interrupted;
                    }
                    grace
                }
                StopRequest::Terminate(grace) => {
                    if sent < EndStage::Terminated {
                        terminated.all();
                        sent = EndStage::Terminated;
                    }
                    grace
                }
            };
            // A second stop request never gives more time.
            let end = Instant::now() + grace;
            deadline = Some(deadline.map_or(end, |deadline| deadline.min(end)));
        }
    }
}

/// The command leads its own group; a tool that it started in another session is for the command
/// to stop.
fn interrupt(main_child: Pid) {
    let _ = killpg(main_child, Signal::SIGINT);
    // A stopped process takes a signal only when it goes on.
    let _ = killpg(main_child, Signal::SIGCONT);
}

/// What the supervisor waits for.
struct Events<'a> {
    order: &'a Order,
    signals: &'a SignalFd,
    /// Absent where the kernel has no place for another supervisor.
    requests: Option<&'a CallRequests>,
}

impl Events<'_> {
    /// Waits for stop requests, calls of the tree that are to be judged, or the death of a child, at most until
    /// `until`.
    fn next(&self, until: Option<Instant>) -> Vec<StopRequest> {
        let timeout = until.map_or(PollTimeout::NONE, |at| {
            let left = at.saturating_duration_since(Instant::now());
            // Rounded up: woken a little early, it would spin until the deadline.
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        let stdin = io::stdin();
        let mut fds = vec![
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
        ];
        let sockets = self.requests.map(AsFd::as_fd);
        fds.extend(sockets.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return vec![StopRequest::Kill],
        }
        let is_ready = |at: usize| fds.get(at).is_some_and(|fd| fd.any().unwrap_or(true));
        if let Some(requests) = self.requests
            && is_ready(2)
        {
            requests.answer();
        }
        let grace = self.order.term_grace;
        let mut requests = Vec::new();
        if is_ready(1) {
            requests.extend(line_requests(&stdin, grace));
        }
        if is_ready(0) {
            requests.extend(signal_requests(self.signals, grace));
        }
        requests
    }
}

fn signal_requests(signals: &SignalFd, grace: Duration) -> Vec<StopRequest> {
    let mut requests = Vec::new();
    while let Ok(Some(info)) = signals.read_signal() {
        match Signal::try_from(info.ssi_signo.cast_signed()) {
            Ok(Signal::SIGCHLD) | Err(_) => {}
            Ok(Signal::SIGINT) => requests.push(StopRequest::Interrupt(grace)),
            Ok(_) => requests.push(StopRequest::Terminate(grace)),
        }
    }
    requests
}

/// The stop requests that stand on standard input. The end of input, or a line that is no stop request, means
/// that our parent is gone or broken.
fn line_requests(stdin: &io::Stdin, grace: Duration) -> Vec<StopRequest> {
    let mut bytes = [0_u8; REQUEST_BYTES];
    // Past the buffer of `Stdin`: a line in there would not wake `poll`.
    let count = match nix::unistd::read(stdin.as_fd(), &mut bytes) {
        Ok(count) if count > 0 => count,
        Err(Errno::EINTR) => return Vec::new(),
        Ok(_) | Err(_) => return vec![StopRequest::Kill],
    };
    String::from_utf8_lossy(&bytes[..count])
        .lines()
        .map(|line| read_stop_request(line, grace).unwrap_or(StopRequest::Kill))
        .collect()
}

fn read_stop_request(line: &str, grace: Duration) -> Option<StopRequest> {
    let (word, grace) = match line.split_once(' ') {
        None => (line, grace),
        Some((word, ms)) => {
            let ms = ms.parse().ok().filter(|ms| *ms <= MAX_GRACE_MS)?;
            (word, Duration::from_millis(ms))
        }
    };
    match word {
        "stop" => Some(StopRequest::Stop),
        "int" => Some(StopRequest::Interrupt(grace)),
        "term" => Some(StopRequest::Terminate(grace)),
        _ => None,
    }
}

fn how(status: WaitStatus) -> Option<ProcessEnd> {
    match status {
        WaitStatus::Exited(_, code) => Some(ProcessEnd::Exited { code }),
        WaitStatus::Signaled(_, signal, _) => Some(ProcessEnd::Signaled {
            signal: signal as i32,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_stop_request_with_its_own_time_or_the_usual_one() {
        let usual = Duration::from_secs(5);
        let own = Duration::from_millis(20);
        for (line, stop_request) in [
            ("stop", Some(StopRequest::Stop)),
            ("int", Some(StopRequest::Interrupt(usual))),
            ("int 20", Some(StopRequest::Interrupt(own))),
            ("term", Some(StopRequest::Terminate(usual))),
            ("term 20", Some(StopRequest::Terminate(own))),
            ("kill", None),
            ("term -1", None),
            ("term 99999999", None),
            ("", None),
        ] {
            assert_eq!(read_stop_request(line, usual), stop_request, "{line}");
        }
    }
}
