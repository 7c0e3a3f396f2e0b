//! Namespaces of another user, which that user makes, or which root makes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::can_be_tested;
use crate::scene::{SupervisedTree, exited};

/// A user that nothing on a machine is.
const NOBODYS_UID: u32 = 64_124;
const SUPERVISOR: &str = env!("CARGO_BIN_EXE_supervise-command");

fn is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        println!("skipped: this test needs root");
    }
    is_root
}

fn open(dir: &Path) {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_user_without_rights_makes_them_as_well() {
    if !is_root() || !can_be_tested() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    open(dir.path());
    let program = dir.path().join("supervise-command");
    fs::copy(SUPERVISOR, &program).unwrap();
    let own = dir.path().join("own");
    fs::create_dir(&own).unwrap();
    chown(&own, Some(NOBODYS_UID), Some(NOBODYS_UID)).unwrap();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .uid(NOBODYS_UID)
            .gid(NOBODYS_UID)
            .current_dir(&own);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut layers = as_nobody(&["--layers"]);
    let stdin = layers.stdin.take();
    let layers = layers.wait_with_output().unwrap();
    drop(stdin);
    let layers: awo_supervisor::Layers = serde_json::from_slice(&layers.stdout).unwrap();
    if let Some(why) = layers.no_namespaces {
        println!("skipped: {why}");
        return;
    }
    let script = format!(
        "test $(id -u) = {NOBODYS_UID} && test $$ -lt 10 && echo x > here && echo x > /tmp/x && \
         grep -q 'CapEff:.0*$' /proc/self/status && test -z \"$(ls /dev/shm)\" && \
         ! chmod 777 {} 2>/dev/null && ! chmod 700 /proc/1 2>/dev/null",
        dir.path().display()
    );
    let mut child = as_nobody(&[
        "--private",
        "--write",
        ".",
        "--read",
        "/",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(own.join("here").exists());
}

#[test]
fn a_granted_folder_below_one_that_is_closed_to_the_user_is_reached() {
    if !is_root() || !can_be_tested() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = dir.path().join("closed/home");
    let tools = home.join("tools/bin");
    fs::create_dir_all(&tools).unwrap();
    fs::write(home.join("secret"), "of the service").unwrap();
    fs::write(tools.join("tool"), "#!/bin/sh\necho made by a tool\n").unwrap();
    open(&tools.join("tool"));
    let closed = fs::Permissions::from_mode(0o700);
    fs::set_permissions(dir.path().join("closed"), closed).unwrap();
    let uid = NOBODYS_UID.to_string();
    let tools = tools.display();
    let script = format!(
        "test \"$(PATH={tools}:$PATH tool)\" = 'made by a tool' && ! cat {}/secret 2>/dev/null && ! touch {tools}/new 2>/dev/null",
        home.display()
    );
    let folder = tools.to_string();
    let user = [
        "--uid",
        uid.as_str(),
        "--gid",
        uid.as_str(),
        "--read",
        "/usr",
        "--read",
        "/bin",
        "--read",
        "/lib",
        "--read",
        "/lib64",
        "--write",
        "/dev/null",
        "--read",
        folder.as_str(),
    ];
    let (report, _) = SupervisedTree::start(&format!("cd / && {script}"), &user).finish();
    assert_eq!(report.end, exited(0).end);
}
