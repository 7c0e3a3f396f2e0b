//! Namespaces of a command's own, where the kernel grants them: mounts, System V objects and queues, the
//! host's name, and processes. A supervisor that is root's makes them directly; another one first
//! makes a user namespace, in which it has the capabilities for the rest. What is granted is found by
//! trying ([`try_namespaces`]), since no setting of the kernel says it all.
//!
//! The command is not the first process of its namespace, to which no signal has its usual effect: that is
//! [`Init`], a process of ours. It waits for orphans, and everything in the namespace ends with it.
//! The supervisor stays outside, with a view of all processes of the machine.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::libc::{self, c_int};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use nix::sys::signal::Signal;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getegid, geteuid};

use crate::Sandbox;
use crate::mounts::make_view;
use crate::sandbox::drop_capabilities;

const OWN: CloneFlags = CloneFlags::CLONE_NEWNS
    .union(CloneFlags::CLONE_NEWIPC)
    .union(CloneFlags::CLONE_NEWUTS);

/// Gives this process namespaces of its own, and the view of a command that runs as `user`. It must have one
/// thread, and its memory must not be hidden yet.
///
/// # Errors
/// What the kernel refuses.
pub(crate) fn enter(sandbox: &Sandbox, user: (u32, u32)) -> io::Result<()> {
    if geteuid().is_root() {
        unshare(OWN).map_err(refused("namespaces"))?;
    } else {
        let (own_uid, own_gid) = (geteuid(), getegid());
        unshare(OWN | CloneFlags::CLONE_NEWUSER).map_err(refused("a user namespace"))?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{own_uid} {own_uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{own_gid} {own_gid} 1"))?;
    }
    make_view(sandbox, user).map_err(|why| refused("mounts")(why))
}

fn refused<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> io::Error {
    move |why| {
        let why = why.into();
        io::Error::new(
            why.kind(),
            format!("the kernel does not grant {what}: {why}"),
        )
    }
}

/// The first process of a command's namespace.
#[derive(Debug)]
pub(crate) struct Init {
    pub(crate) pid: Pid,
    /// Shared with that process: true once an orphan has died of SIGKILL.
    saw_kill: &'static AtomicBool,
}

impl Init {
    /// Starts it. All that the calling thread starts from then on is in the namespace, and sees its processes
    /// alone in `/proc`.
    ///
    /// # Errors
    /// What the kernel refuses. The thread can start nothing more then.
    pub(crate) fn start() -> io::Result<Init> {
        let saw_kill = shared_flag()?;
        unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
            .map_err(refused("a namespace for processes"))?;
        let (mut ready, writer) = io::pipe()?;
        // SAFETY: the child makes system calls alone, which are async-signal-safe, and never returns.
        let pid = match unsafe { fork() }? {
            ForkResult::Child => live(writer.as_raw_fd(), saw_kill),
            ForkResult::Parent { child } => child,
        };
        drop(writer);
        let mut error = [0; size_of::<c_int>()];
        ready.read_exact(&mut error)?;
        match c_int::from_ne_bytes(error) {
            0 => Ok(Init { pid, saw_kill }),
            error => {
                let _ = waitpid(pid, None);
                let why = io::Error::from_raw_os_error(error);
                Err(refused("a /proc of its own")(why))
            }
        }
    }

    /// From here on, only what dies later counts.
    pub(crate) fn forget_kills(&self) {
        self.saw_kill.store(false, Ordering::Relaxed);
    }

    /// True if an orphan has died of SIGKILL.
    pub(crate) fn saw_kill(&self) -> bool {
        self.saw_kill.load(Ordering::Relaxed)
    }
}

/// A flag that a process has in common with those that it forks.
fn shared_flag() -> io::Result<&'static AtomicBool> {
    let length = std::num::NonZero::<usize>::MIN;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a new mapping is asked for, which overlaps with nothing.
    let place = unsafe { mmap_anonymous(None, length, access, MapFlags::MAP_SHARED) }?;
    let place: NonNull<AtomicBool> = place.cast();
    // SAFETY: the mapping is a page of zeros, which is a flag that is not set; nothing ever unmaps it, and all uses
    // of it are atomic.
    Ok(unsafe { place.as_ref() })
}

/// The life of the first process: `/proc`, and then orphans, until it is killed.
fn live(ready: RawFd, saw_kill: &AtomicBool) -> ! {
    let done = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
        .and_then(|()| nix::sys::prctl::set_name(c"init"))
        .and_then(|()| {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            mount(
                Some(c"proc"),
                c"/proc",
                Some(c"proc"),
                flags,
                None::<&std::ffi::CStr>,
            )
        })
        .and_then(|()| drop_capabilities().map_err(|_| nix::errno::Errno::EPERM));
    let error = done.err().map_or(0, |why| why as c_int).to_ne_bytes();
    // SAFETY: all calls are system calls on values that live until they return. The descriptors are this
    // process's own copies.
    unsafe {
        libc::write(ready, error.as_ptr().cast(), error.len());
        if done.is_err() {
            libc::_exit(1);
        }
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        let mut child_ended: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut child_ended);
        libc::sigaddset(&raw mut child_ended, libc::SIGCHLD);
        libc::sigprocmask(
            libc::SIG_SETMASK,
            &raw const child_ended,
            std::ptr::null_mut(),
        );
        loop {
            let mut status = 0;
            while libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) > 0 {
                if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL {
                    saw_kill.store(true, Ordering::Relaxed);
                }
            }
            libc::sigwaitinfo(&raw const child_ended, std::ptr::null_mut());
        }
    }
}

/// Reason why commands have no namespaces of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoNamespaces {
    /// The kernel refuses a call that makes or fills them.
    Refused(String),
    /// The trial itself failed, so that nothing is known.
    NotTried(String),
}

impl fmt::Display for NoNamespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoNamespaces::Refused(why) => f.write_str(why),
            NoNamespaces::NotTried(why) => write!(f, "namespaces cannot be tried: {why}"),
        }
    }
}

impl std::error::Error for NoNamespaces {}

/// Tries, in a process of its own, whether commands get namespaces of their own. This process must have one
/// thread.
///
/// # Errors
/// [`NoNamespaces`], with the call that the kernel refuses.
pub fn try_namespaces() -> Result<(), NoNamespaces> {
    let failed = |why: &dyn fmt::Display| NoNamespaces::NotTried(why.to_string());
    let (mut answer, mut writer) = io::pipe().map_err(|why| failed(&why))?;
    // SAFETY: this process has one thread, so that the child may do everything that it may.
    match unsafe { fork() }.map_err(|why| failed(&why))? {
        ForkResult::Child => {
            drop(answer);
            let refusal = trial().err().map(|why| why.to_string()).unwrap_or_default();
            let _ = io::Write::write_all(&mut writer, refusal.as_bytes());
            // SAFETY: the call ends this process.
            unsafe { libc::_exit(0) }
        }
        ForkResult::Parent { child } => {
            drop(writer);
            let mut refusal = String::new();
            let read = answer.read_to_string(&mut refusal);
            let _ = waitpid(child, None);
            read.map_err(|why| failed(&why))?;
            if refusal.is_empty() {
                Ok(())
            } else {
                Err(NoNamespaces::Refused(refusal))
            }
        }
    }
}

fn trial() -> io::Result<()> {
    std::env::set_current_dir(Path::new("/"))?;
    nix::sys::prctl::set_dumpable(true)?;
    enter(
        &Sandbox::default(),
        (geteuid().as_raw(), getegid().as_raw()),
    )?;
    let init = thread::spawn(Init::start).join();
    // It ends with the thread that started it, and that has ended.
    init.map_err(|_| io::Error::other("the trial failed"))?
        .map(drop)
}
