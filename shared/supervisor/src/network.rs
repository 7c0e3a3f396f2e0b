//! A command's access to the network: loopback alone. A caller that wants a command to reach more serves a
//! proxy on loopback.
//!
//! How: the filter (`filter`) hands each request of the tree for a TCP socket to the supervisor (`calls`), which
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
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::mpsc;
use std::thread;

use nix::libc::{self, c_int};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::calls::filter_thread;
use crate::filter::Filter;

/// The device that every socket of the tree is bound to.
const LOOPBACK: &CStr = c"lo";
/// How often the first packet of a connection is repeated. On loopback none is lost; an address
/// elsewhere never answers, and a program should learn that within seconds instead of minutes.
const SYN_RETRIES: c_int = 2;
/// How long the trial of [`check`] may take, in milliseconds.
const TRIAL_MS: u16 = 5_000;

/// Tries whether commands can be confined to loopback here.
///
/// # Errors
/// Why they cannot.
pub fn check() -> io::Result<()> {
    let (sender, started) = mpsc::channel();
    let filter = Filter {
        loopback_only: true,
        tracing: true,
        own_objects: true,
        own_processes: true,
        judged: true,
    };
    let trial = thread::Builder::new().spawn(move || {
        let confined = filter_thread(filter);
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
    let requests = requests.ok_or_else(|| io::Error::other("no call is handed over"))?;
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
pub(crate) fn loopback_socket(flags: c_int) -> io::Result<OwnedFd> {
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
