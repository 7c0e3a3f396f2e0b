//! Starts a command under its [`Filter`], and decides about the calls that the filter hands over: sockets, which
//! are placed in the process that asked, and changes of a process, which are for the caller's own thread.
//!
//! The supervisor reads none of the command's memory, so that nothing can change between a decision and its use. The
//! caller's own thread lives while its call waits: its id cannot become another's meanwhile, as that of a
//! child could.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::mpsc;
use std::thread;

use nix::libc::{self, c_int, c_long, c_ulong, sock_fprog};

use crate::filter::{Filter, TYPE_MASK, target_argument};
use crate::network::loopback_socket;

/// `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`, Linux 5.19: a signal does not interrupt a request that
/// is being answered.
const WAIT_KILLABLE: c_ulong = 1 << 5;
/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`, Linux 5.5: the call is made as it is.
const CONTINUE: u32 = 1;

/// Receives the tree's calls that are to be judged.
pub(crate) struct CallRequests(OwnedFd);

/// Puts the filter on the calling thread, and on all that it will start. Without a supervisor's place in the
/// kernel (a tree has one) calls are refused instead of judged, where no socket depends on it.
///
/// # Errors
/// The kernel's error, if it lacks what a filter takes.
pub(crate) fn filter_thread(filter: Filter) -> io::Result<Option<CallRequests>> {
    nix::sys::prctl::set_no_new_privs()?;
    let judged = Filter {
        judged: true,
        ..filter
    };
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let mut installed = install(judged, listener | WAIT_KILLABLE);
    if let Err(why) = &installed
        && why.raw_os_error() == Some(libc::EINVAL)
    {
        installed = install(judged, listener);
    }
    match installed {
        // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
        Ok(fd) => Ok(Some(CallRequests(unsafe { OwnedFd::from_raw_fd(fd) }))),
        Err(why) if filter.loopback_only => Err(why),
        Err(_) => {
            let refusing = Filter {
                judged: false,
                ..filter
            };
            install(refusing, 0).map(|_| None)
        }
    }
}

fn install(filter: Filter, flags: c_ulong) -> io::Result<c_int> {
    let program = filter.program();
    let program = sock_fprog {
        len: u16::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the program and its instructions live until the call returns, and the kernel only
    // reads them.
    let installed = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    match c_int::try_from(installed) {
        Ok(fd) if fd >= 0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Calls `start` in a thread with the filter, if there is one, as is everything that `start` starts. The
/// thread stays: the command's life is bound to that of the thread that started it.
///
/// # Errors
/// Those of `start`; and if the kernel cannot confine it.
pub(crate) fn start_filtered<T: Send + 'static>(
    filter: Option<Filter>,
    start: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<(T, Option<CallRequests>)> {
    let (sender, started) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let requests = match filter.map(filter_thread) {
            None => Ok(None),
            Some(filtered) => filtered.map_err(|why| cannot_be_filtered(&why)),
        };
        let result = requests.and_then(|requests| Ok((start()?, requests)));
        let _ = sender.send(result);
        loop {
            thread::park();
        }
    })?;
    started.recv().map_err(io::Error::other)?
}

fn cannot_be_filtered(why: &io::Error) -> io::Error {
    io::Error::new(
        why.kind(),
        format!("the kernel takes no seccomp filter, and no command runs without one: {why}"),
    )
}

impl AsFd for CallRequests {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl CallRequests {
    /// Answers one request, which must be waiting. A process that has died meanwhile needs no answer.
    pub(crate) fn answer(&self) {
        // SAFETY: all bits zero are a value of this structure of integers, and what the kernel
        // expects of it.
        let mut request: libc::seccomp_notif = unsafe { zeroed() };
        if self
            .control(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut request)
            .is_err()
        {
            return;
        }
        let call = c_long::from(request.data.nr);
        let answered = if call == libc::SYS_socket {
            self.socket(&request)
        } else {
            self.judge(&request, call)
        };
        if let Err(why) = answered {
            let error = why.raw_os_error().unwrap_or(libc::EACCES);
            let _ = self.respond(request.id, 0, -error, 0);
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the kernel takes an id as an int, too"
    )]
    fn judge(&self, request: &libc::seccomp_notif, call: c_long) -> io::Result<()> {
        let target = request.data.args[target_argument(call)] as u32;
        if target == request.pid {
            self.respond(request.id, 0, 0, CONTINUE)
        } else {
            Err(io::Error::from_raw_os_error(libc::EPERM))
        }
    }

    /// The filter lets nothing through but TCP, so only the flags are left to judge.
    fn socket(&self, request: &libc::seccomp_notif) -> io::Result<()> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the kernel takes it as an int, too"
        )]
        let flags = request.data.args[1] as c_int & !(TYPE_MASK as c_int);
        if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        self.place(request.id, &loopback_socket(flags)?, flags)
    }

    /// Places a socket in the process that asked, as the result of its call.
    fn place(&self, id: u64, socket: &OwnedFd, flags: c_int) -> io::Result<()> {
        let close_on_exec = flags & libc::SOCK_CLOEXEC;
        let mut placing = libc::seccomp_notif_addfd {
            id,
            flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
            srcfd: socket.as_raw_fd().cast_unsigned(),
            newfd: 0,
            newfd_flags: close_on_exec.cast_unsigned(),
        };
        let whole = self.control(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut placing);
        if !whole
            .as_ref()
            .is_err_and(|why| why.raw_os_error() == Some(libc::EINVAL))
        {
            return whole.map(drop);
        }
        // Before Linux 5.14 the result is a second call.
        placing.flags = 0;
        let fd = self.control(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut placing)?;
        let _ = self.respond(id, i64::from(fd), 0, 0);
        Ok(())
    }

    /// It fails if the process is gone.
    fn respond(&self, id: u64, val: i64, error: c_int, flags: u32) -> io::Result<()> {
        let mut response = libc::seccomp_notif_resp {
            id,
            val,
            error,
            flags,
        };
        self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response)
            .map(drop)
    }

    fn control<T>(&self, operation: libc::Ioctl, argument: &mut T) -> io::Result<c_int> {
        // SAFETY: each operation is called with the structure that it is defined for, which lives
        // until the call returns.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), operation, &raw mut *argument) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(result)
    }
}
