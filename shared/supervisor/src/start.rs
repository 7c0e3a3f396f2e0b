//! The start of a command: what it gives up between fork and exec, and the filter and namespaces that it is
//! started in.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

use crate::calls::{CallRequests, start_filtered};
use crate::filter::Filter;
use crate::limits::{self, Kernel};
use crate::namespaces::Init;
use crate::sandbox::{Rules, drop_capabilities};
use crate::{Order, hardening};

/// A command that was started, and what belongs to it.
pub(crate) struct SupervisedTree {
    pub(crate) main_child: Pid,
    /// Absent where the kernel has no place for another supervisor.
    pub(crate) requests: Option<CallRequests>,
    /// Absent where the command has no namespace of its own for processes.
    pub(crate) init: Option<Init>,
}

/// Starts the command of `order`.
///
/// # Errors
/// What the kernel refuses; then nothing of it runs.
pub(crate) fn start(order: &Order) -> io::Result<SupervisedTree> {
    let mut command = Command::new(&order.argv[0]);
    command.args(&order.argv[1..]).stdin(Stdio::null());
    let user = other_user(order);
    if let Some((uid, gid)) = user {
        // With a user id given, and being root, the standard library also drops all
        // supplementary groups, before it changes the ids.
        command.gid(gid).uid(uid);
    }
    let kernel = Kernel::of(&order.limits, command_uid(order))?;
    let sandbox = order.sandbox.clone();
    let (is_private, is_alone) = (order.is_private, order.is_alone);
    // Restricted root is a user like any other.
    let is_restricted = sandbox.is_some() || order.loopback_only;
    let gives_up =
        is_private || is_restricted && user.is_none() && nix::unistd::geteuid().is_root();
    let spawn = move || {
        let init = is_private.then(Init::start).transpose()?;
        // In the thread that sees the command's own /proc.
        let mut rules = match &sandbox {
            Some(sandbox) => sandbox.rules(is_private || is_alone)?,
            None => None,
        };
        // SAFETY: the closure runs between fork and exec. It makes a few system calls that are
        // async-signal-safe and takes no lock but the allocator's, which a failing step may want for its
        // message and which `fork` of the C library leaves free in the child.
        unsafe {
            command.pre_exec(move || give_up(kernel, gives_up, &mut rules));
        }
        // The handle is dropped: waiting is done for all children at once.
        let child = command.spawn()?;
        Ok((Pid::from_raw(child.id().cast_signed()), init))
    };
    let filter = (!order.is_trusted).then(|| filter(order));
    limits::first_to_go(|| {
        let ((main_child, init), requests) = start_filtered(filter, spawn)?;
        Ok(SupervisedTree {
            main_child,
            requests,
            init,
        })
    })
}

/// The command's last steps as a process of ours.
fn give_up(kernel: Kernel, gives_up: bool, rules: &mut Option<Rules>) -> io::Result<()> {
    // What this process ignores or reads from a descriptor, the command gets as by default.
    hardening::default_signals();
    SigSet::empty().thread_set_mask()?;
    nix::unistd::setsid()?;
    hardening::lower_priority();
    nix::sys::prctl::set_no_new_privs()?;
    // Set after the ids changed, which would have cleared it.
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    kernel.apply()?;
    if gives_up {
        drop_capabilities()?;
    }
    match rules.take() {
        Some(rules) => rules.restrict_self().map(drop).map_err(io::Error::other),
        None => Ok(()),
    }
}

/// The filter of a command. One without a sandbox is a person's own, on that person's machine.
fn filter(order: &Order) -> Filter {
    let is_own = order.sandbox.is_none() || order.is_alone;
    let has_landlock = order.sandbox.is_some() && crate::Sandbox::is_available();
    Filter {
        loopback_only: order.loopback_only,
        tracing: is_own || has_landlock || order.is_private,
        own_objects: is_own || order.is_private,
        own_processes: order.is_private,
        judged: true,
    }
}

/// The user that the command runs as, where it is another one. Only root can become somebody else.
pub(crate) fn other_user(order: &Order) -> Option<(u32, u32)> {
    order.user.filter(|_| nix::unistd::geteuid().is_root())
}

/// The user and the group that the command runs as.
pub(crate) fn command_user(order: &Order) -> (u32, u32) {
    let own = || {
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        (uid.as_raw(), gid.as_raw())
    };
    other_user(order).unwrap_or_else(own)
}

/// The user that the command runs as.
pub(crate) fn command_uid(order: &Order) -> u32 {
    command_user(order).0
}
