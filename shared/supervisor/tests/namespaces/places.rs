//! Places and objects of a command on its machine, and their end.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use awo_supervisor::Limit;

use crate::can_be_tested;
use crate::scene::{SupervisedTree, exited};

fn does(script: &str, extra: &[&str]) -> bool {
    let (report, left) = SupervisedTree::start(script, extra).finish();
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

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn temporary_files_are_the_commands_own_and_gone_with_it() {
    if !can_be_tested() {
        return;
    }
    let name = format!("awo-left-{}", std::process::id());
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        let foreign = Path::new(place).join(format!("awo-foreign-{}", std::process::id()));
        fs::write(&foreign, "of others").unwrap();
        let script = format!(
            "test -z \"$(ls -A {place})\" && echo secret > {place}/{name} && grep -q secret {place}/{name}"
        );
        let done = does(&script, &[]) && does(&script, &[]);
        fs::remove_file(foreign).unwrap();
        assert!(done, "{place}");
        assert!(!Path::new(place).join(&name).exists(), "{place}");
    }
}

#[test]
fn terminals_of_others_are_not_there_and_new_ones_are() {
    if !can_be_tested() {
        return;
    }
    let outside = nix::pty::openpty(None, None).unwrap();
    let name = nix::unistd::ttyname(&outside.slave).unwrap();
    let script = format!(
        "python3 -c 'import os; a, b = os.openpty(); os.write(a, b\"x\"); print(os.ttyname(b))' && \
         test \"$(ls /dev/pts)\" = ptmx && ! test -e {}/no && ! sh -c 'echo x > {} 2>/dev/null'",
        text(&name),
        text(&name)
    );
    let exists = does(&format!("test -e {}", text(&name)), &[]);
    assert!(!exists, "a terminal of before is there");
    assert!(does(&script, &[]));
}

#[test]
fn processes_outside_have_no_number() {
    if !can_be_tested() {
        return;
    }
    let outsider = Outsider::start();
    let pid = outsider.0.id();
    let priority = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let after = stat.rsplit(')').next().unwrap().to_owned();
        after.split_ascii_whitespace().nth(16).map(str::to_owned)
    };
    let before = priority();
    assert!(does(
        &format!("! kill -0 {pid} 2>/dev/null && ! test -e /proc/{pid}/stat"),
        &[]
    ));
    // All that it can reach is its own, so nothing of it is refused.
    let program = "import os, resource, signal, time\n\
        child = os.fork()\n\
        if child == 0: signal.pause()\n\
        resource.prlimit(child, resource.RLIMIT_NOFILE, (64, 64))\n\
        os.sched_setaffinity(child, os.sched_getaffinity(0))\n\
        os.setpriority(os.PRIO_USER, os.getuid(), 19)\n\
        os.setpriority(os.PRIO_PROCESS, child, 19)\n\
        os.kill(-1, signal.SIGKILL)\n\
        assert os.waitpid(child, 0)[1] == 9";
    let script = format!("exec python3 - <<'END'\n{program}\nEND");
    let tree = SupervisedTree::start(&script, &[]);
    let (report, left) = tree.finish();
    assert_eq!((report.end, left), (exited(0).end, Vec::new()));
    assert_eq!(priority(), before);
}

#[test]
fn memory_and_queues_with_numbers_are_the_commands_own() {
    if !can_be_tested() {
        return;
    }
    let before = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    assert!(does(
        "test $(wc -l < /proc/sysvipc/shm) = 1 && ipcmk -M 4096 -Q -S 1 && ipcs | grep -q 4096",
        &[]
    ));
    assert_eq!(fs::read_to_string("/proc/sysvipc/shm").unwrap(), before);
}

#[test]
fn what_is_not_granted_to_be_written_cannot_change_its_mode() {
    if !can_be_tested() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (data, run) = (dir.path().join("data"), dir.path().join("data/org/run"));
    for name in ["workspace", "home", "repo.git"] {
        fs::create_dir_all(run.join(name)).unwrap();
    }
    fs::create_dir_all(dir.path().join("data/org/other")).unwrap();
    let (top, hidden) = (text(dir.path()), text(&data));
    let (workspace, home) = (text(&run.join("workspace")), text(&run.join("home")));
    let extra = [
        "--read", "/", "--write", &workspace, "--write", &home, "--hide", &hidden,
    ];
    for closed in [&top, &hidden] {
        assert!(!does(&format!("chmod 000 {closed}"), &extra), "{closed}");
        assert!(!does(&format!("touch {closed}"), &extra), "{closed}");
    }
    assert!(does(&format!("! test -e {hidden}/org/other"), &extra));
    // What is granted is written, renamed and linked as on one disk.
    let script = format!(
        "cd {workspace} && echo x > a && ln a {home}/b && mv a {home}/c && chmod 700 {home}/c"
    );
    assert!(does(&script, &extra));
    assert!(run.join("home/c").exists());
}

#[test]
fn what_is_not_granted_is_not_there_sockets_included() {
    if !can_be_tested() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (socket, own) = (dir.path().join("relay"), dir.path().join("own"));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    fs::create_dir(&own).unwrap();
    let (socket, own) = (text(&socket), text(&own));
    let connect = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{socket}\")' 2>/dev/null"
    );
    let mut extra = vec!["--write", own.as_str(), "--write", "/dev/null"];
    extra.extend(
        ["/usr", "/bin", "/lib", "/lib64", "/etc"]
            .iter()
            .flat_map(|path| ["--read", path]),
    );
    let script = format!(
        "PATH=/usr/local/bin:/usr/bin:/bin; cd {own}; touch here; ! test -e {socket} && ! {connect} && ! test -e /run/lock"
    );
    assert!(does(&script, &extra));
    extra.extend(["--read", socket.as_str()]);
    assert!(does(
        &format!("PATH=/usr/local/bin:/usr/bin:/bin; {connect}"),
        &extra
    ));
}

#[test]
fn files_in_memory_count_as_memory_and_on_the_disk() {
    if !can_be_tested() {
        return;
    }
    let script = "head -c 40000000 /dev/zero > PLACE/big; sleep 20; :";
    for (place, limit, flag) in [
        ("/dev/shm", Limit::Memory, "--max-memory-mb"),
        ("/tmp", Limit::Memory, "--max-memory-mb"),
        ("/tmp", Limit::Disk, "--max-disk-mb"),
        ("/var/tmp", Limit::Disk, "--max-disk-mb"),
    ] {
        let script = script.replace("PLACE", place);
        let (report, _) = SupervisedTree::start(&script, &[flag, "16"]).finish();
        let breach = report.breach.map(|breach| breach.limit);
        assert_eq!(breach, Some(limit), "{place} {flag}");
    }
    let small = "head -c 4000000 /dev/zero > /tmp/small; sleep 1";
    let (report, _) =
        SupervisedTree::start(small, &["--max-processes", "2", "--max-disk-mb", "16"]).finish();
    assert_eq!(
        report,
        exited(0),
        "the first process of the namespace is none of its own"
    );
}
