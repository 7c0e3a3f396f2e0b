//! System calls that reach a process outside of the tree, or leave something behind.

use std::fs;
use std::process::{Child, Command};

use awo_supervisor::Sandbox;

use crate::scene::{SupervisedTree, exited};

/// A sandbox that grants everything: what is refused here, the filter refuses.
const OPEN_SANDBOX: [&str; 2] = ["--write", "/"];
/// A user that nothing on a machine is.
const NOBODYS_UID: &str = "64123";

/// The numbers of system calls, and calls by number; each test's program follows.
const CALLS: &str = r#"
import ctypes, errno, os, platform, resource, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
NUMBERS = dict(
    prlimit64=(302, 261), sched_setparam=(142, 118), sched_setscheduler=(144, 119), sched_setaffinity=(203, 122),
    sched_setattr=(314, 274), setpriority=(141, 140), ioprio_set=(251, 30), add_key=(248, 217), request_key=(249, 218),
    keyctl=(250, 219), bpf=(321, 280), userfaultfd=(323, 282), perf_event_open=(298, 241), io_uring_setup=(425, 425),
    io_uring_enter=(426, 426), io_uring_register=(427, 427), pidfd_getfd=(438, 438), ptrace=(101, 117),
    process_vm_readv=(310, 270), process_vm_writev=(311, 271), kcmp=(312, 272), shmget=(29, 194), shmat=(30, 196),
    shmctl=(31, 195), msgget=(68, 186), msgctl=(71, 187), semget=(64, 190), semctl=(66, 191), semop=(65, 193), mq_open=(240, 180),
    migrate_pages=(256, 238), move_pages=(279, 239), ioctl=(16, 29))
def call(name, *arguments):
    number = NUMBERS[name][0 if x86 else 1]
    whole = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(number), *whole) < 0 else 0
def refused(name, *arguments):
    got = call(name, *arguments)
    assert got == errno.EPERM, (name, arguments, got)
def allowed(name, *arguments):
    got = call(name, *arguments)
    assert got == 0, (name, arguments, got)
"#;

/// True if a program in Python ends without an error.
fn does(program: &str, extra: &[&str]) -> bool {
    let script = format!("exec python3 - <<'END'\n{CALLS}\n{program}\nEND");
    let (report, left) = SupervisedTree::start(&script, extra).finish();
    assert_eq!(left, Vec::<String>::new());
    report.end == exited(0).end
}

/// A process of the tests' own user, outside of any tree.
struct Outsider(Child);

impl Outsider {
    fn start() -> Outsider {
        Outsider(Command::new("sleep").arg("60").spawn().unwrap())
    }
}

impl Drop for Outsider {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_command_changes_no_process_but_its_own() {
    let outsider = Outsider::start();
    let program = r#"
outside = OUTSIDE
limit = struct.pack("QQ", 1 << 20, 1 << 20)
parameter = struct.pack("i", 0)
attributes = struct.pack("IIQiIQQQ", 48, 5, 0, 0, 0, 0, 0, 0)
cpus = struct.pack("Q", 1) + bytes(120)
FSIZE, IDLE = 1, 5
child = os.fork()
if child == 0:
    libc.pause()
above = ctypes.c_long(1 << 40)
for target in (outside, child, 1):
    refused("prlimit64", target, FSIZE, limit, None)
    # A pointer whose lower half is zero is one as well.
    refused("prlimit64", target, FSIZE, above, None)
    refused("sched_setscheduler", target, IDLE, parameter)
    refused("sched_setparam", target, parameter)
    refused("sched_setattr", target, attributes, 0)
    refused("sched_setaffinity", target, 128, cpus)
    # The kernel takes the lower half of the number.
    refused("sched_setaffinity", target | 1 << 32, 128, cpus)
    refused("setpriority", 0, target, 19)
    refused("setpriority", 1, target, 19)
    refused("ioprio_set", 1, target, 3 << 13)
    refused("ioprio_set", 2, target, 3 << 13)
    refused("migrate_pages", target, 0, None, None)
    refused("move_pages", target, 0, None, None, None, 0)
for which in (0, os.getuid()):
    refused("setpriority", 2, which, 19)
    refused("ioprio_set", 3, which, 3 << 13)
os.kill(child, 9); os.waitpid(child, 0)
def own(me):
    allowed("prlimit64", me, FSIZE, limit, None)
    allowed("sched_setscheduler", me, 0, parameter)
    allowed("sched_setparam", me, parameter)
    allowed("sched_setaffinity", me, 128, cpus)
    allowed("setpriority", 0, me, 19)
    allowed("ioprio_set", 1, me, 3 << 13)
resource.prlimit(outside, resource.RLIMIT_FSIZE)
allowed("setpriority", 1, 0, 15)
allowed("ioprio_set", 2, 0, 3 << 13)
own(0)
own(os.getpid())
done = []
thread = threading.Thread(target=lambda: (own(0), own(threading.get_native_id()), done.append(1)))
thread.start(); thread.join()
assert done == [1]
"#;
    let program = program.replace("OUTSIDE", &outsider.0.id().to_string());
    for extra in [&[][..], &OPEN_SANDBOX, &["--write", "/", "--loopback-only"]] {
        assert!(does(&program, extra), "{extra:?}");
    }
}

#[test]
fn a_command_leaves_no_key_no_program_and_no_descriptor_in_the_kernel() {
    let program = r#"
for name in ("add_key", "request_key", "keyctl", "bpf", "userfaultfd", "perf_event_open", "io_uring_setup", "io_uring_enter",
             "io_uring_register", "pidfd_getfd"):
    refused(name, 0, 0, 0, 0, 0)
master, slave = os.openpty()
for request in (0x5412, 0x541C):
    refused("ioctl", slave, request, b"x")
    refused("ioctl", slave, request | 1 << 32, b"x")
if x86:
    assert libc.syscall(ctypes.c_long(0x40000000 | 39)) == -1 and ctypes.get_errno() == errno.ENOSYS
"#;
    for extra in [&[][..], &OPEN_SANDBOX] {
        assert!(does(program, extra), "{extra:?}");
    }
}

#[test]
fn tracing_is_for_the_tree_or_for_none() {
    let program = r#"
child = os.fork()
if child == 0:
    libc.pause()
PTRACE_ATTACH = 16
assert CONFINED == (call("ptrace", PTRACE_ATTACH, child, 0, 0) == 0)
os.kill(child, 9); os.waitpid(child, 0)
refused("ptrace", PTRACE_ATTACH, OUTSIDE, 0, 0)
"#;
    let outsider = Outsider::start();
    let program = program.replace("OUTSIDE", &outsider.0.id().to_string());
    let is_confined = if Sandbox::is_available() {
        "True"
    } else {
        "False"
    };
    let program = program.replace("CONFINED", is_confined);
    assert!(does(&program, &OPEN_SANDBOX));
}

/// Lines of the kernel's list of System V memory with this size.
fn segments_of(bytes: u32) -> usize {
    let list = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let size = bytes.to_string();
    let lines = list.lines();
    lines
        .filter(|line| line.split_whitespace().any(|column| column == size))
        .count()
}

#[test]
fn shared_objects_are_the_commands_own_or_refused() {
    let size = 4_096 + std::process::id();
    let program = r#"
first = call("shmget", 0x5EC, SIZE, 0o1600)
assert first in (0, errno.EPERM), first
if first == 0:
    allowed("semget", 7, 1, 0o1600)
    allowed("msgget", 7, 0o1600)
else:
    for name in ("shmget", "shmat", "shmctl", "msgget", "msgctl", "semget", "semctl", "semop", "mq_open"):
        refused(name, 0, 0, 0, 0)
"#;
    let program = program.replace("SIZE", &size.to_string());
    assert!(does(&program, &OPEN_SANDBOX));
    assert_eq!(segments_of(size), 0, "it was left behind");
}

#[test]
fn what_a_command_shares_on_a_host_of_its_own_is_removed_at_its_end() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: this test needs root");
        return;
    }
    let size = 8_192 + std::process::id();
    let program = format!(
        r#"allowed("shmget", 0, {size}, 0o1600); allowed("semget", 0, 1, 0o1600); allowed("msgget", 0, 0o1600)"#
    );
    let user = ["--uid", NOBODYS_UID, "--gid", NOBODYS_UID, "--alone"];
    assert!(does(&program, &[&OPEN_SANDBOX[..], &user].concat()));
    assert_eq!(segments_of(size), 0, "it was left behind");
    for list in ["msg", "sem"] {
        let list = fs::read_to_string(format!("/proc/sysvipc/{list}")).unwrap();
        assert!(!list.contains(NOBODYS_UID), "{list}");
    }
}
