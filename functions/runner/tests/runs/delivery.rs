//! Delivery of results to the origin.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use awo_domain::control::{GitCredential, RunnerEvent as E};
use awo_domain::profile::GitMode;
use awo_domain::run::RunErrorCode as Code;

use crate::canaries::hold_no_canary;
use crate::scene::{CANARY, Scene, commit_files, git, try_git};

const AGENT: &str = "echo y > y";

#[test]
fn a_push_that_is_allowed_and_rejected_fails_the_run_with_the_origins_words() {
    let scene = Scene::new(&[("a", "a")], AGENT);
    let hook = scene.origin().join(".git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        "#!/bin/sh\necho 'branch names need a ticket' >&2\nexit 1\n",
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = scene.run();
    let message = ended.failed(Code::DeliveryFailed);
    assert!(message.contains("pre-receive hook declined"), "{message}");
    assert!(message.contains("branch names need a ticket"), "{message}");
    let outcome = serde_json::to_value(ended.outcome()).unwrap();
    assert!(outcome["commit"].is_string(), "the commit is kept");
}

#[test]
fn a_branch_that_is_there_already_is_not_overwritten() {
    let scene = Scene::new(&[("a", "a")], AGENT);
    let branch = format!("awo/{}", scene.spec.run_id);
    let origin = scene.origin();
    git(&origin, &["checkout", "-q", "-b", &branch]);
    commit_files(&origin, &[("b", "b")]);
    git(&origin, &["checkout", "-q", "main"]);
    let ended = scene.run();
    assert!(ended.failed(Code::DeliveryFailed).contains("rejected"));
    assert_eq!(git(&origin, &["show", &format!("{branch}:b")]), "b");
}

#[test]
fn a_bare_origin_takes_the_result() {
    let mut scene = Scene::new(&[("a", "a")], AGENT);
    let bare = scene.dir.path().join("bare.git");
    git(
        scene.dir.path(),
        &["clone", "-q", "--bare", "origin", "bare.git"],
    );
    let source = format!(r#"{{"repository":"file://{}"}}"#, bare.display());
    scene.spec.source = serde_json::from_str(&source).unwrap();
    let ended = scene.run();
    let (commit, branch) = ended.succeeded();
    let head = git(&bare, &["rev-parse", branch.unwrap()]);
    assert_eq!(Some(head.trim()), commit);
    assert_eq!(git(&bare, &["fsck", "--no-progress", "--no-dangling"]), "");
}

#[test]
fn local_mode_pushes_nothing() {
    let mut scene = Scene::new(&[("a", "a")], AGENT);
    scene.spec.profile.git_ops.mode = GitMode::Local;
    let ended = scene.run();
    let (commit, branch) = ended.succeeded();
    assert!(commit.is_some() && branch.is_none());
    assert!(
        !ended
            .events
            .iter()
            .any(|e| matches!(e, E::DeliveryStarted {}))
    );
    let branches = try_git(&scene.origin(), &["branch", "--list", "awo/*"]);
    assert_eq!(branches.stdout, b"");
}

#[test]
fn a_credential_is_nowhere_on_disk_and_not_with_the_agent() {
    let agent = format!("env > env; if env | grep -q {CANARY}; then exit 9; fi; echo y > y");
    let mut scene = Scene::new(&[("a", "a")], &agent);
    scene.spec.git_credentials = vec![GitCredential::of_token(
        "127.0.0.1:1".to_owned(),
        format!("{CANARY}-git"),
    )];
    let ended = scene.run();
    ended.succeeded();
    assert!(hold_no_canary(&ended.run_dir) > 10);
}
