//! A command's access to the network: loopback alone. A caller that wants a command to reach more serves a
//! proxy on loopback.
//!
//! How: a seccomp filter hands each request of the tree for a TCP socket to the supervisor, which
//! creates the socket itself, binds it to the device `lo`, and places it in the process that asked.
//! Only a process with CAP_NET_RAW can bind a bound socket anew, and a supervised command has no
//! capabilities. The kernel decides about every packet; nothing of the command's memory is read, so
//! nothing can be changed between the decision and its use.
//!
//! All other sockets that could leave the machine are refused, since each has a way around its
//! device: a datagram may name another one, a disconnected UDP socket loses its own, and binding an
//! IPv6 socket to a link-local address changes it. So are io_uring, which creates sockets without a
//! system call for each, system calls of other architectures, taking descriptors out of other
//! processes, and asking the kernel for keys, for which it may have a name resolved. Sockets of the Unix domain remain: a program outside of the tree that serves one with
//! a path can do for the tree what it likes.
//!
//! Linux 5.9 or later; no capability.

use std::ffi::CStr;
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::mpsc;
use std::thread;

use nix::libc::{self, c_int, c_ulong, sock_filter, sock_fprog};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The device that every socket of the tree is bound to.
const LOOPBACK: &CStr = c"lo";
/// How often the first packet of a connection is repeated. On loopback none is lost; an address
/// elsewhere never answers, and a program should learn that within seconds instead of minutes.
const SYN_RETRIES: c_int = 2;
/// `SOCK_TYPE_MASK` of the kernel: the rest of a socket's type are flags.
const TYPE_MASK: u32 = 0xf;
/// `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`, Linux 5.19: a signal does not interrupt a request that
/// is being answered.
const WAIT_KILLABLE: c_ulong = 1 << 5;
/// How long the trial of [`check`] may take, in milliseconds.
const TRIAL_MS: u16 = 5_000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
/// `__X32_SYSCALL_BIT`: x86-64 has a second table of system calls, whose numbers begin here. No
/// number of another architecture is as large.
const SECOND_TABLE: u32 = 0x4000_0000;

/// Receives the tree's requests for sockets.
pub(crate) struct SocketRequests(OwnedFd);

/// Confines the calling thread, and all that it will start, to loopback.
///
/// # Errors
/// What the kernel says, which may not have what it takes.
fn confine_thread() -> io::Result<SocketRequests> {
    nix::sys::prctl::set_no_new_privs()?;
    let program = filter();
    let program = sock_fprog {
        len: u16::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_ptr().cast_mut(),
    };
    let install = |flags: c_ulong| {
        // SAFETY: the program and its instructions live until the call returns, and the kernel
        // only reads them.
        unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        }
    };
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let mut installed = install(listener | WAIT_KILLABLE);
    if installed < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        installed = install(listener);
    }
    match c_int::try_from(installed) {
        // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
        Ok(fd) if fd >= 0 => Ok(SocketRequests(unsafe { OwnedFd::from_raw_fd(fd) })),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Calls `start` in a thread that is confined to loopback, as is everything that `start` starts. The
/// thread stays: the command's life is bound to that of the thread that started it.
///
/// # Errors
/// Those of `start`; and if the kernel cannot confine it.
pub(crate) fn start_confined<T: Send + 'static>(
    start: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<(T, SocketRequests)> {
    let (sender, started) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let result = confine_thread()
            .map_err(|why| cannot_be_confined(&why))
            .and_then(|requests| Ok((start()?, requests)));
        let _ = sender.send(result);
        loop {
            thread::park();
        }
    })?;
    started.recv().map_err(io::Error::other)?
}

/// Tries whether commands can be confined to loopback here.
///
/// # Errors
/// Why they cannot.
pub fn check() -> io::Result<()> {
    let (sender, started) = mpsc::channel();
    let trial = thread::Builder::new().spawn(move || {
        let confined = confine_thread();
        let is_confined = confined.is_ok();
        let _ = sender.send(confined);
        if is_confined {
            device_of_new_socket()
        } else {
            Ok(Vec::new())
        }
    })?;
    let requests = started.recv().map_err(io::Error::other)?;
    let requests = requests.map_err(|why| cannot_be_confined(&why))?;
    let mut waiting = [PollFd::new(requests.as_fd(), PollFlags::POLLIN)];
    poll(&mut waiting, PollTimeout::from(TRIAL_MS))?;
    requests.answer();
    // Without its other end the request fails, so the thread ends in any case.
    drop(requests);
    let device = trial
        .join()
        .map_err(|_| io::Error::other("the trial failed"))?;
    match device {
        Ok(device) if device == LOOPBACK.to_bytes() => Ok(()),
        Ok(_) => Err(cannot_be_confined(&io::Error::other("no socket was bound"))),
        Err(why) => Err(cannot_be_confined(&why)),
    }
}

fn cannot_be_confined(why: &io::Error) -> io::Error {
    io::Error::new(
        why.kind(),
        format!("commands cannot be confined to loopback: {why}"),
    )
}

/// The device that a new TCP socket of this thread is bound to.
fn device_of_new_socket() -> io::Result<Vec<u8>> {
    let socket = new_socket(libc::SOCK_STREAM | libc::SOCK_CLOEXEC)?;
    let mut name = [0_u8; libc::IFNAMSIZ];
    let mut length = libc::IFNAMSIZ as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `name`, and how many into `length`; both
    // live until the call returns.
    let read = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            name.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if read != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(name.into_iter().take_while(|byte| *byte != 0).collect())
}

fn new_socket(kind: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the call takes three integers.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A TCP socket of loopback alone, with the flags of a request.
fn loopback_socket(flags: c_int) -> io::Result<OwnedFd> {
    let socket =
        new_socket(libc::SOCK_STREAM | libc::SOCK_CLOEXEC | (flags & libc::SOCK_NONBLOCK))?;
    let device = LOOPBACK.to_bytes_with_nul();
    set_option(&socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, device)?;
    let retries = SYN_RETRIES.to_ne_bytes();
    set_option(&socket, libc::IPPROTO_TCP, libc::TCP_SYNCNT, &retries)?;
    Ok(socket)
}

fn set_option(socket: &OwnedFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes of `value`, which lives until the call returns.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            length,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl AsFd for SocketRequests {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl SocketRequests {
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
        // The filter lets nothing through but TCP, so only the flags are left to judge.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the kernel takes it as an int, too"
        )]
        let flags = request.data.args[1] as c_int & !(TYPE_MASK as c_int);
        let known = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let placed = if flags & !known == 0 {
            loopback_socket(flags).and_then(|socket| self.place(request.id, &socket, flags))
        } else {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        };
        if let Err(why) = placed {
            let error = why.raw_os_error().unwrap_or(libc::EACCES);
            self.respond(request.id, 0, -error);
        }
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
        self.respond(id, i64::from(fd), 0);
        Ok(())
    }

    fn respond(&self, id: u64, val: i64, error: c_int) {
        let mut response = libc::seccomp_notif_resp {
            id,
            val,
            error,
            flags: 0,
        };
        // It fails if the process is gone.
        let _ = self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response);
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

/// Where the parts of the filter begin.
const NETLINK: u8 = 15;
const TCP: u8 = 17;
const NO_CALL: u8 = 20;
const NOT_PERMITTED: u8 = 21;
const NO_FAMILY: u8 = 22;
const NO_ACCESS: u8 = 23;
const NO_PROTOCOL: u8 = 24;
const REQUESTED: u8 = 25;
const ALLOWED: u8 = 26;

/// The filter: see the module. A jump has its own position and the two where it leads.
#[expect(
    clippy::cast_possible_truncation,
    reason = "numbers of system calls and of socket families, which are small"
)]
fn filter() -> [sock_filter; 27] {
    [
        load(offset_of!(libc::seccomp_data, arch)),
        equal(1, ARCHITECTURE, 2, NO_CALL),
        load(offset_of!(libc::seccomp_data, nr)),
        jump(3, libc::BPF_JGE, SECOND_TABLE, NO_CALL, 4),
        equal(4, libc::SYS_io_uring_setup as u32, NO_CALL, 5),
        equal(5, libc::SYS_request_key as u32, NO_CALL, 6),
        equal(6, libc::SYS_pidfd_getfd as u32, NOT_PERMITTED, 7),
        equal(7, libc::SYS_socket as u32, 8, ALLOWED),
        load(argument(0)),
        equal(9, libc::AF_UNIX as u32, ALLOWED, 10),
        equal(10, libc::AF_NETLINK as u32, NETLINK, 11),
        equal(11, libc::AF_INET as u32, 12, NO_FAMILY),
        load(argument(1)),
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, TYPE_MASK),
        equal(14, libc::SOCK_STREAM as u32, TCP, NO_ACCESS),
        // The kernel's lists of addresses and routes, which only root can change.
        load(argument(2)),
        equal(16, libc::NETLINK_ROUTE as u32, ALLOWED, NO_PROTOCOL),
        load(argument(2)),
        equal(18, libc::IPPROTO_IP as u32, REQUESTED, 19),
        equal(19, libc::IPPROTO_TCP as u32, REQUESTED, NO_PROTOCOL),
        verdict(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        verdict(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        verdict(libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32),
        verdict(libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
        verdict(libc::SECCOMP_RET_ERRNO | libc::EPROTONOSUPPORT as u32),
        verdict(libc::SECCOMP_RET_USER_NOTIF),
        verdict(libc::SECCOMP_RET_ALLOW),
    ]
}

/// Where the lower half of an argument is; of an int the kernel ignores the other half, too.
const fn argument(number: usize) -> usize {
    offset_of!(libc::seccomp_data, args) + number * size_of::<u64>()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the structure has 64 bytes"
)]
fn load(offset: usize) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset as u32)
}

fn equal(at: u8, value: u32, yes: u8, no: u8) -> sock_filter {
    jump(at, libc::BPF_JEQ, value, yes, no)
}

fn jump(at: u8, test: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter {
        jt: yes - at - 1,
        jf: no - at - 1,
        ..instruction(libc::BPF_JMP | test | libc::BPF_K, value)
    }
}

fn verdict(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action)
}

#[expect(clippy::cast_possible_truncation, reason = "all codes have eight bits")]
fn instruction(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}
