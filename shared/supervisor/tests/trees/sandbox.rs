//! A command's access to the file system.

use std::fs;
use std::path::Path;

use awo_supervisor::Sandbox;

use crate::scene::{SupervisedTree, exited};

/// What a shell needs.
const SYSTEM: [&str; 14] = [
    "--read",
    "/bin",
    "--read",
    "/usr",
    "--read",
    "/lib",
    "--read",
    "/lib64",
    "--read",
    "/etc",
    "--read",
    "/proc",
    "--write",
    "/dev/null",
];

/// False where the kernel has no Landlock: there is nothing to see then.
fn can_be_tested() -> bool {
    let available = Sandbox::is_available();
    if !available {
        println!("skipped: this kernel has no Landlock");
    }
    available
}

/// True if the script ends with exit code 0.
fn does(script: &str, extra: &[&str]) -> bool {
    let extra = [&SYSTEM, extra].concat();
    let (report, _) = SupervisedTree::start(script, &extra).finish();
    report.end == exited(0).end
}

fn file(dir: &Path, name: &str) -> String {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "what is in it").unwrap();
    path.display().to_string()
}

#[test]
fn what_is_not_granted_is_neither_read_nor_written() {
    if !can_be_tested() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (own, secret) = (file(dir.path(), "own/file"), file(dir.path(), "secret"));
    let folder = dir.path().join("own").display().to_string();
    let (reads, writes) = (["--read", folder.as_str()], ["--write", folder.as_str()]);
    assert!(does(&format!("cat {own}"), &reads));
    assert!(!does(&format!("cat {secret}"), &reads));
    assert!(!does(&format!("ls {}", dir.path().display()), &reads));
    assert!(!does(&format!("echo x > {own}"), &reads));
    assert!(does(&format!("echo x > {folder}/new && rm {own}"), &writes));
    assert!(!does(&format!("ln {secret} {folder}/link"), &writes));
    assert!(!does(&format!("mv {secret} {folder}/moved"), &writes));
    // What a command starts sees no more than it does, whatever it does to get away.
    assert!(!does(&format!("setsid sh -c 'cat {secret}'"), &writes));
}

#[test]
fn a_hidden_folder_is_not_granted_with_those_above_it_and_what_stands_beside_it_is() {
    if !can_be_tested() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let beside = file(dir.path(), "a/beside");
    let secret = file(dir.path(), "a/data/secret");
    let own = file(dir.path(), "a/data/runs/own/file");
    let text = |path: &Path| path.display().to_string();
    let (top, data) = (text(dir.path()), text(&dir.path().join("a/data")));
    let run = text(&dir.path().join("a/data/runs/own"));
    let extra = [
        "--read",
        top.as_str(),
        "--write",
        run.as_str(),
        "--hide",
        data.as_str(),
    ];
    assert!(does(&format!("cat {beside}"), &extra));
    assert!(does(&format!("echo x >> {own}"), &extra));
    assert!(!does(&format!("cat {secret}"), &extra));
    assert!(!does(&format!("ls {data}"), &extra));
}

#[test]
fn a_sandbox_has_no_capability_and_signals_nobody_outside() {
    if !can_be_tested() {
        return;
    }
    let none = "grep -q '^CapEff:.0000000000000000$' /proc/self/status";
    assert!(does(none, &[]), "also where the tests run as root");
    let mut outside = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    // An older kernel has no such scope, and only another user is safe there.
    let is_new = does("kill -0 $PPID", &[]);
    let hit = does(&format!("kill -9 {}", outside.id()), &[]);
    assert!(!hit || is_new, "a process outside was killed");
    outside.kill().unwrap();
    outside.wait().unwrap();
}
