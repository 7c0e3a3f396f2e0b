//! Workspaces that are archived for other tasks, however their runs end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use awo_domain::control::StopRequest;

use crate::scene::Scene;

const FILES: &[(&str, &str)] = &[("Makefile", "test:\n\ttest -e answer\n")];

/// A scene whose workspace is to be kept in a folder that is the runner's alone.
fn scene(agent: &str) -> (Scene, PathBuf) {
    let mut scene = Scene::new(FILES, agent);
    let stored = scene.dir.path().join("kept");
    fs::create_dir(&stored).unwrap();
    fs::set_permissions(&stored, fs::Permissions::from_mode(0o700)).unwrap();
    scene.env = vec![("AWO_SHARED_ROOT", stored.display().to_string())];
    (scene, stored)
}

/// The names in an archive.
fn names(archive: &PathBuf) -> Vec<String> {
    let listed = Command::new("tar")
        .arg("-tf")
        .arg(archive)
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let text = String::from_utf8(listed.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_workspace_is_kept_whole_where_only_the_runner_can_read_it() {
    // Whatever an agent does to its tree, the tree is packed with the agent's rights.
    let agent = "echo right > answer; ln -s /etc/shadow link; \
                 echo x > locked; chmod 000 locked; ls \"$PWD/../../../../kept\" && echo > seen; true";
    let (scene, stored) = scene(agent);
    fs::write(stored.join("of-another.tar"), "x").unwrap();
    let ended = scene.run();
    ended.succeeded();
    let archive = stored.join(format!("{}.tar", scene.spec.run_id));
    let mode = fs::metadata(&archive).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names = names(&archive);
    for name in ["./answer", "./link", "./.git/"] {
        assert!(names.iter().any(|n| n == name), "{name} of {names:?}");
    }
    assert_eq!(fs::read_dir(&stored).unwrap().count(), 2);
    if nix::unistd::geteuid().is_root() {
        let seen = |name: &str| names.iter().any(|n| n == name);
        assert!(!seen("./seen") && !seen("./locked"), "{names:?}");
    }
}

#[test]
fn the_workspace_of_a_canceled_run_is_archived_once_the_cancel_is_reported() {
    let (scene, stored) = scene("echo > ready; while :; do sleep 0.01; done");
    let running = scene.start();
    running.until_there_is("ready");
    running.stop_request(StopRequest::Cancel);
    let ended = running.end(scene.dir.path());
    ended.stopped(&scene);
    let archive = stored.join(format!("{}.tar", scene.spec.run_id));
    assert!(names(&archive).contains(&"./ready".to_owned()));
}

#[test]
fn a_run_does_not_fail_because_its_workspace_cannot_be_kept() {
    let (scene, stored) = scene("echo right > answer");
    fs::remove_dir(&stored).unwrap();
    let ended = scene.run();
    ended.succeeded();
    assert!(
        ended.log.contains("workspace_not_archived"),
        "{}",
        ended.log
    );
}
