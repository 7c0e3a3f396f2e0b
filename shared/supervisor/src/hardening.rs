//! A process's own preparations before it starts something hostile.

use std::ffi::CStr;
use std::io;

use nix::libc;

/// Makes orphans below this process its own children, instead of init's.
///
/// # Errors
/// What the kernel says.
pub fn become_subreaper() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

/// Closes this process's memory, environment and descriptors to others of the same user id
/// (`PR_SET_DUMPABLE` 0). A process with root's powers still sees them.
///
/// # Errors
/// What the kernel says.
pub fn hide_memory() -> io::Result<()> {
    Ok(nix::sys::prctl::set_dumpable(false)?)
}

/// Wipes a variable from the block that `/proc/<pid>/environ` shows, and from the environment.
/// Removing it from the environment alone leaves it readable there.
///
/// Must be called before there is a second thread: another thread could be reading it.
pub fn forget_variable(name: &CStr) {
    // SAFETY: `getenv` returns null or a NUL-terminated string inside the environment, which is
    // writable memory of this process. Only bytes before its NUL are overwritten, so it remains a
    // string. No other thread exists that could read or change the environment meanwhile.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        if !value.is_null() {
            std::ptr::write_bytes(value.cast::<u8>(), b'x', libc::strlen(value));
            libc::unsetenv(name.as_ptr());
        }
    }
}

/// Gives every signal its default effect again. A shell that starts a program in the background
/// makes it ignore SIGINT and SIGQUIT, `nohup` SIGHUP, and ignored signals stay ignored through
/// `exec`: without this, a cancel's SIGINT would never reach an agent of such a service, and the
/// supervisor itself would read none of them, since ignored signals are discarded.
///
/// Async-signal-safe: it may run between fork and exec.
pub(crate) fn default_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // The standard library ignores this one here, and gives its default to what it starts.
        if signal == libc::SIGPIPE {
            continue;
        }
        // SAFETY: the call takes two integers and installs no code of ours. The kernel refuses it
        // for signals whose effect cannot be changed, which is as it should be.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// How much the command's processes give way to those of the runner, from 0 to 19.
const NICENESS: libc::c_int = 10;
const NICENESS_TEXT: &[u8] = b"10";
const AUTOGROUP: &CStr = c"/proc/self/autogroup";

/// Lowers the CPU priority of this process and of everything that it will start. Without root's
/// powers nobody can raise it again.
///
/// Where the kernel groups processes by session (`sched_autogroup`), priorities count within a
/// session alone, so the session's own is lowered too. Neither is worth a failed start.
///
/// Async-signal-safe: it runs between fork and exec, after `setsid`.
pub(crate) fn lower_priority() {
    // SAFETY: all calls are async-signal-safe system calls. They take integers, a NUL-terminated
    // constant, and a constant with its length; the descriptor is this function's own.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS);
        let autogroup = libc::open(AUTOGROUP.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if autogroup >= 0 {
            libc::write(
                autogroup,
                NICENESS_TEXT.as_ptr().cast(),
                NICENESS_TEXT.len(),
            );
            libc::close(autogroup);
        }
    }
}

/// Marks every descriptor beyond the standard streams close-on-exec, so that the command
/// inherits nothing, whatever our own parent forgot to close.
pub(crate) fn inherit_nothing() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes three integers and touches no memory; it changes flags only.
    unsafe {
        // A kernel older than 5.11 does not know the flag. Then the descriptors that Rust opens
        // are close-on-exec all the same.
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}
