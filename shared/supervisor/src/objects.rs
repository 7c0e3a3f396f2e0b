//! Objects of the kernel that have a number or a name and outlive every process: System V memory, queues and
//! semaphores. In a namespace of the command's own they end with it; else they are refused, or removed where the
//! host runs one run alone.

use std::fs;

use nix::libc;
use nix::unistd::{Uid, geteuid, seteuid};

/// The kernel's lists, and the column with an object's number.
const LISTS: [(&str, &str, Remove); 3] = [
    ("/proc/sysvipc/shm", "shmid", remove_memory),
    ("/proc/sysvipc/msg", "msqid", remove_queue),
    ("/proc/sysvipc/sem", "semid", remove_semaphores),
];

type Remove = fn(libc::c_int);

/// Removes all objects of a user, whose processes are dead.
pub(crate) fn remove_of(uid: u32) {
    // Only its user, or a capability that a task does not have, can remove an object.
    let own = geteuid();
    if own.as_raw() != uid && seteuid(Uid::from_raw(uid)).is_err() {
        return;
    }
    for (list, column, remove) in LISTS {
        let text = fs::read_to_string(list).unwrap_or_default();
        numbers_of(&text, column, uid).into_iter().for_each(remove);
    }
    // Root can always become itself again; without that there is nothing left to do as somebody else.
    if geteuid() != own && seteuid(own).is_err() {
        std::process::abort();
    }
}

/// The numbers of a user's objects in one of the kernel's lists, whose first line names the columns.
fn numbers_of(list: &str, number: &str, uid: u32) -> Vec<libc::c_int> {
    let mut lines = list.lines();
    let head: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let position = |name: &str| head.iter().position(|column| *column == name);
    let (Some(number), Some(user)) = (position(number), position("uid")) else {
        return Vec::new();
    };
    let own = lines.filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let is_own = columns.get(user)?.parse() == Ok(uid);
        columns.get(number)?.parse().ok().filter(|_| is_own)
    });
    own.collect()
}

fn remove_memory(id: libc::c_int) {
    // SAFETY: this command of shmctl takes no structure.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
}

fn remove_queue(id: libc::c_int) {
    // SAFETY: this command of msgctl takes no structure.
    unsafe { libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
}

fn remove_semaphores(id: libc::c_int) {
    // SAFETY: this command of semctl takes no fourth argument.
    unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_one_user_are_found_in_the_kernels_list() {
        let list = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid\n\
                    \t  0x1          7   600   4096  1  1  0 10001 10001\n\
                    \t  0x2          8   600   4096  1  1  0     0     0\n\
                    \t  0x3         11   600   4096  1  1  0 10001 10001\n";
        assert_eq!(numbers_of(list, "shmid", 10_001), [7, 11]);
        assert_eq!(numbers_of(list, "semid", 10_001), Vec::<libc::c_int>::new());
        assert_eq!(numbers_of("", "shmid", 0), Vec::<libc::c_int>::new());
    }
}
