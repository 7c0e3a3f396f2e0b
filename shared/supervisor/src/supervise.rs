//! The supervisor's life: start the command, listen, and leave nothing behind.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::{Ended, KILL_LIMIT, Order, Reaped, Report, hardening, tree};

/// Bytes of standard input that are read at once; wishes are shorter than that.
const WISH_BYTES: usize = 64;

/// What somebody wants of the supervisor, or what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Interrupt,
    Terminate,
    Kill,
}

/// Runs the command of `order` until it and everything below it is gone.
pub(crate) fn supervise(order: &Order) -> Report {
    let started = prepare().and_then(|signals| Ok((signals, start(order)?)));
    let (signals, main_child) = match started {
        Ok(started) => started,
        Err(why) => {
            return Report {
                end: Ended::NotStarted {
                    reason: why.to_string(),
                },
                survivors: 0,
            };
        }
    };
    let mut end = None;
    let mut note = |(pid, status): Reaped| {
        if pid == main_child {
            end = how(status);
        }
    };
    watch(order, &signals, main_child, &mut note);
    let survivors = tree::kill_descendants(KILL_LIMIT, &mut note);
    Report {
        // Without a status the main child itself is among the survivors of SIGKILL.
        end: end.unwrap_or(Ended::Signaled {
            signal: Signal::SIGKILL as i32,
        }),
        survivors,
    }
}

/// Signals become readable instead of deadly, orphans become ours.
fn prepare() -> io::Result<SignalFd> {
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
    hardening::become_subreaper()?;
    hardening::hide_memory()?;
    hardening::inherit_nothing();
    Ok(SignalFd::with_flags(
        &mask,
        SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC,
    )?)
}

fn start(order: &Order) -> io::Result<Pid> {
    let mut command = Command::new(&order.argv[0]);
    command.args(&order.argv[1..]).stdin(Stdio::null());
    if let Some((uid, gid)) = order.user
        && nix::unistd::geteuid().is_root()
    {
        // With a user id given, and being root, the standard library also drops all
        // supplementary groups, before it changes the ids.
        command.gid(gid).uid(uid);
    }
    // SAFETY: the closure runs between fork and exec. It makes four system calls that are
    // async-signal-safe, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(|| {
            // The signals that we read from a descriptor would stay blocked in the command.
            SigSet::empty().thread_set_mask()?;
            nix::unistd::setsid()?;
            nix::sys::prctl::set_no_new_privs()?;
            // Set after the ids changed, which would have cleared it.
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            Ok(())
        });
    }
    // The handle is dropped: waiting is done for all children at once.
    let child = command.spawn()?;
    Ok(Pid::from_raw(child.id().cast_signed()))
}

/// Returns when the main child has ended or everything is to be killed.
fn watch(order: &Order, signals: &SignalFd, main_child: Pid, note: &mut impl FnMut(Reaped)) {
    let mut deadline: Option<Instant> = None;
    let stdin = io::stdin();
    loop {
        let mut main_ended = false;
        let children = tree::reap(&mut |reaped| {
            main_ended |= reaped.0 == main_child;
            note(reaped);
        });
        if main_ended || !children || deadline.is_some_and(|at| at <= Instant::now()) {
            return;
        }
        match next_wish(&stdin, signals, deadline) {
            Some(Wish::Kill) => return,
            Some(Wish::Interrupt) => {
                // The command leads its own group; a tool that it started in another session
                // is for the command to stop.
                let _ = killpg(main_child, Signal::SIGINT);
                deadline = Some(Instant::now() + order.term_grace);
            }
            Some(Wish::Terminate) => {
                tree::send_all(Signal::SIGTERM);
                deadline = Some(Instant::now() + order.term_grace);
            }
            None => {}
        }
    }
}

/// Waits for a wish, the death of a child, or the deadline; the last two are no wish.
fn next_wish(stdin: &io::Stdin, signals: &SignalFd, deadline: Option<Instant>) -> Option<Wish> {
    let timeout = deadline.map_or(PollTimeout::NONE, |at| {
        let left = at.saturating_duration_since(Instant::now());
        // Rounded up: woken a little early, it would spin until the deadline.
        PollTimeout::try_from(left + std::time::Duration::from_millis(1))
            .unwrap_or(PollTimeout::MAX)
    });
    let mut fds = [
        PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
    ];
    match poll(&mut fds, timeout) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(_) => return Some(Wish::Kill),
    }
    let [by_signal, by_line] = fds.map(|fd| fd.any().unwrap_or(true));
    if by_signal {
        return signal_wish(signals);
    }
    by_line.then(|| line_wish(stdin)).flatten()
}

fn signal_wish(signals: &SignalFd) -> Option<Wish> {
    let mut wish = None;
    while let Ok(Some(info)) = signals.read_signal() {
        match Signal::try_from(info.ssi_signo.cast_signed()) {
            Ok(Signal::SIGCHLD) | Err(_) => {}
            Ok(Signal::SIGINT) => wish = wish.or(Some(Wish::Interrupt)),
            Ok(_) => wish = Some(Wish::Terminate),
        }
    }
    wish
}

/// The strongest wish of what stands on standard input. The end of input, or a word that is no
/// wish, means that whoever started us is gone or broken.
fn line_wish(stdin: &io::Stdin) -> Option<Wish> {
    let mut bytes = [0_u8; WISH_BYTES];
    // Past the buffer of `Stdin`: a line in there would not wake `poll`.
    let count = match nix::unistd::read(stdin.as_fd(), &mut bytes) {
        Ok(count) if count > 0 => count,
        Err(Errno::EINTR) => return None,
        Ok(_) | Err(_) => return Some(Wish::Kill),
    };
    let mut wish = None;
    for word in bytes[..count].split(|b| *b == b'\n') {
        match word {
            b"" => {}
            b"int" => wish = wish.or(Some(Wish::Interrupt)),
            b"term" => wish = Some(Wish::Terminate),
            _ => return Some(Wish::Kill),
        }
    }
    wish
}

fn how(status: WaitStatus) -> Option<Ended> {
    match status {
        WaitStatus::Exited(_, code) => Some(Ended::Exited { code }),
        WaitStatus::Signaled(_, signal, _) => Some(Ended::Signaled {
            signal: signal as i32,
        }),
        _ => None,
    }
}
