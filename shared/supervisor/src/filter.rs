//! The seccomp filter of every supervised command. It refuses system calls that reach a process outside
//! of the command's tree, or that leave something behind which outlives it, and no layer confines
//! otherwise: the kernel asks some of them for the same user id and nothing else.
//!
//! Rules are a table, and [`Filter::program`] writes the kernel's instructions from it. Not by `seccompiler`: it
//! cannot hand a call to a supervisor, and the kernel takes one such filter for a process.
//!
//! Signals have no rule: Landlock confines them since Linux 6.12, and another user id does on older kernels.

use std::mem::offset_of;

use nix::libc::{self, c_int, c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
/// `__X32_SYSCALL_BIT`: x86-64 has a second table of system calls, whose numbers begin here. No
/// number of another architecture is as large.
const SECOND_TABLE: u32 = 0x4000_0000;
/// `SOCK_TYPE_MASK` of the kernel: the rest of a socket's type are flags.
pub(crate) const TYPE_MASK: u32 = 0xf;
/// Scopes of `setpriority`: a process, a group, a user.
const PRIORITY_SCOPES: [c_int; 3] = [0, 1, 2];
/// The same of `ioprio_set`.
const IO_PRIORITY_SCOPES: [c_int; 3] = [1, 2, 3];

/// Keys and programs in the kernel, which outlive the command; descriptors of other processes; and what has
/// had holes more often than uses. `io_uring` makes calls that no filter sees.
const NEVER: [c_long; 10] = [
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_pidfd_getfd,
];
/// Calls that need the permission to trace another process, which Landlock confines to the tree.
const TRACING: [c_long; 5] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
];
/// Objects with a number or a name that outlive every process. An object is used by its number alone, so the
/// calls after `…get` are here as well.
const SHARED_OBJECTS: [c_long; 13] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
/// Calls that change the process whose id is their first argument.
const BY_PID: [c_long; 6] = [
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setaffinity,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];
/// Requests that put input into a terminal.
const TERMINAL_INPUT: [c_int; 2] = [libc::TIOCSTI as c_int, libc::TIOCLINUX as c_int];

/// Position of the target's id among the arguments of a call that a supervisor judges.
pub(crate) fn target_argument(call: c_long) -> usize {
    usize::from(matches!(call, libc::SYS_setpriority | libc::SYS_ioprio_set))
}

/// Decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allow,
    Refuse(c_int),
    /// The supervisor decides.
    Judge,
}

/// A test of one half of an argument.
#[derive(Debug, Clone, Copy)]
struct Test {
    /// Offset of the half in the kernel's description of the call.
    offset: usize,
    mask: u32,
    value: u32,
    /// True for the value itself, false for any other.
    is: bool,
}

/// Only the lower half of an int counts: the kernel ignores the other one.
fn low(argument: usize) -> usize {
    offset_of!(libc::seccomp_data, args) + argument * size_of::<u64>()
}

fn high(argument: usize) -> usize {
    low(argument) + size_of::<u32>()
}

fn is(argument: usize, value: c_int) -> Test {
    Test {
        offset: low(argument),
        mask: u32::MAX,
        value: value.cast_unsigned(),
        is: true,
    }
}

fn is_not(argument: usize, value: c_int) -> Test {
    Test {
        is: false,
        ..is(argument, value)
    }
}

/// Decision about a call for which all tests hold, and no earlier rule did.
#[derive(Debug, Clone)]
struct Rule {
    call: c_long,
    tests: Vec<Test>,
    verdict: Verdict,
}

fn rule(call: c_long, tests: &[Test], verdict: Verdict) -> Rule {
    Rule {
        call,
        tests: tests.to_vec(),
        verdict,
    }
}

const REFUSED: Verdict = Verdict::Refuse(libc::EPERM);

/// Permissions of a command beyond those of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filter {
    /// True if it reaches no network but loopback.
    pub(crate) loopback_only: bool,
    /// True if tracing reaches no process that is not the run's.
    pub(crate) tracing: bool,
    /// True if System V objects and message queues are the run's own.
    pub(crate) own_objects: bool,
    /// True if it reaches no process but its own, in a namespace.
    pub(crate) own_processes: bool,
    /// True if a supervisor judges calls; they are refused otherwise.
    pub(crate) judged: bool,
}

impl Filter {
    fn rules(self) -> Vec<Rule> {
        let mut rules: Vec<Rule> = NEVER.map(|call| rule(call, &[], REFUSED)).into();
        if !self.tracing {
            rules.extend(TRACING.map(|call| rule(call, &[], REFUSED)));
        }
        if !self.own_objects {
            rules.extend(SHARED_OBJECTS.map(|call| rule(call, &[], REFUSED)));
        }
        if !self.own_processes {
            rules.extend(of_other_processes());
        }
        rules.extend(
            TERMINAL_INPUT.map(|request| rule(libc::SYS_ioctl, &[is(1, request)], REFUSED)),
        );
        if self.loopback_only {
            rules.extend(of_sockets());
        }
        rules
    }

    /// The instructions for the kernel.
    pub(crate) fn program(self) -> Vec<sock_filter> {
        let no_call = || verdict(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned());
        let mut program = vec![
            load(offset_of!(libc::seccomp_data, arch)),
            jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
            no_call(),
            load(offset_of!(libc::seccomp_data, nr)),
            jump(libc::BPF_JGE, SECOND_TABLE, 0, 1),
            no_call(),
        ];
        for rule in self.rules() {
            program.extend(self.instructions(&rule));
        }
        program.push(verdict(libc::SECCOMP_RET_ALLOW));
        program
    }

    /// A rule's own instructions; where a test fails they lead behind the last of them.
    fn instructions(self, rule: &Rule) -> Vec<sock_filter> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "numbers of system calls are small"
        )]
        let number = Test {
            offset: offset_of!(libc::seccomp_data, nr),
            mask: u32::MAX,
            value: rule.call as u32,
            is: true,
        };
        let mut reversed = vec![verdict(match rule.verdict {
            Verdict::Allow => libc::SECCOMP_RET_ALLOW,
            Verdict::Refuse(error) => libc::SECCOMP_RET_ERRNO | error.cast_unsigned(),
            Verdict::Judge if self.judged => libc::SECCOMP_RET_USER_NOTIF,
            Verdict::Judge => libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned(),
        })];
        for test in rule.tests.iter().rev().chain([&number]) {
            // A rule has a few tests of three instructions.
            let past = u8::try_from(reversed.len()).unwrap_or(u8::MAX);
            let (yes, no) = if test.is { (0, past) } else { (past, 0) };
            reversed.push(jump(libc::BPF_JEQ, test.value, yes, no));
            if test.mask != u32::MAX {
                reversed.push(instruction(
                    libc::BPF_ALU | libc::BPF_AND | libc::BPF_K,
                    test.mask,
                ));
            }
            reversed.push(load(test.offset));
        }
        reversed.reverse();
        reversed
    }
}

/// Calls that change a process, a group, or all processes of a user. Of the caller's own process (0) they
/// are free; whether another id is the caller's own thread, the supervisor knows.
fn of_other_processes() -> Vec<Rule> {
    use Verdict::Judge;
    let mut rules: Vec<Rule> = BY_PID.map(|call| rule(call, &[is_not(0, 0)], Judge)).into();
    // A limit is only read where no new one is given; a pointer has two halves.
    let given = is_not(2, 0);
    let given_above = Test {
        offset: high(2),
        ..given
    };
    for new_limit in [given, given_above] {
        let tests = [is_not(0, 0), new_limit];
        rules.push(rule(libc::SYS_prlimit64, &tests, Judge));
    }
    for (call, [process, group, user]) in [
        (libc::SYS_setpriority, PRIORITY_SCOPES),
        (libc::SYS_ioprio_set, IO_PRIORITY_SCOPES),
    ] {
        rules.push(rule(call, &[is(0, process), is_not(1, 0)], Judge));
        rules.push(rule(call, &[is(0, group), is_not(1, 0)], REFUSED));
        // Of one's own user are the processes of other runs, and maybe the service.
        rules.push(rule(call, &[is(0, user)], REFUSED));
    }
    rules
}

/// Sockets of a command that reaches loopback alone: see the module `network`.
fn of_sockets() -> Vec<Rule> {
    let refuse = Verdict::Refuse;
    let socket = |tests: &[Test], verdict| rule(libc::SYS_socket, tests, verdict);
    let not_a_stream = Test {
        mask: TYPE_MASK,
        ..is_not(1, libc::SOCK_STREAM)
    };
    vec![
        socket(&[is(0, libc::AF_UNIX)], Verdict::Allow),
        // The kernel's lists of addresses and routes, which only root can change.
        socket(
            &[is(0, libc::AF_NETLINK), is(2, libc::NETLINK_ROUTE)],
            Verdict::Allow,
        ),
        socket(&[is(0, libc::AF_NETLINK)], refuse(libc::EPROTONOSUPPORT)),
        socket(&[is_not(0, libc::AF_INET)], refuse(libc::EAFNOSUPPORT)),
        socket(&[not_a_stream], refuse(libc::EACCES)),
        socket(&[is(2, libc::IPPROTO_IP)], Verdict::Judge),
        socket(&[is(2, libc::IPPROTO_TCP)], Verdict::Judge),
        socket(&[], refuse(libc::EPROTONOSUPPORT)),
    ]
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the structure has 64 bytes"
)]
fn load(offset: usize) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset as u32)
}

fn jump(test: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter {
        jt: yes,
        jf: no,
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
