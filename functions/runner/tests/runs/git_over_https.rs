//! Private repositories over HTTPS: a real git host with TLS and tokens, on loopback.

use std::fs;

use awo_domain::control::{GitCredential, RunnerEvent as E};
use awo_domain::run::RunErrorCode as Code;
use awo_origins::git_host::{Access, GitHost};

use crate::canaries::hold_no_canary;
use crate::scene::{CANARY, EndedRunner, Scene, git};

/// The host's token is a canary: [`Scene`] looks for it in the log.
fn token() -> String {
    format!("{CANARY}-git")
}

/// A scene on a host, with the organization's token if `knows`.
fn scene(host: &GitHost, knows: bool, agent: &str) -> Scene {
    let mut scene = Scene::new(&[("README.md", "x\n")], agent);
    let from = scene.origin().display().to_string();
    let url = host.add("acme/app.git", &from);
    let source = format!(r#"{{"repository":"{url}"}}"#);
    scene.spec.source = serde_json::from_str(&source).unwrap();
    scene.spec.allow_file_repositories = false;
    if knows {
        scene.spec.git_credentials = vec![GitCredential::of_token(host.host(), token())];
    }
    let ca = host.ca_file().display().to_string();
    scene.env.push(("AWO_GIT_CA_FILE", ca));
    scene
}

fn skipped(ended: &EndedRunner) -> &str {
    match ended.events.last() {
        Some(E::DeliverySkipped { reason }) => reason,
        _ => panic!("{:#?}", ended.events),
    }
}

#[test]
fn a_private_repository_is_cloned_and_pushed_to_and_nobody_sees_the_token() {
    let host = GitHost::start(&token(), Access::All);
    let agent = format!(
        "if env | grep {CANARY} || grep -r {CANARY} . ~ $TMPDIR; then exit 9; fi; \
         git config --list > config; echo y > y"
    );
    let scene = scene(&host, true, &agent);
    let ended = scene.run();
    let (commit, branch) = ended.succeeded();
    let head = git(
        &host.repository("acme/app.git"),
        &["rev-parse", branch.unwrap()],
    );
    assert_eq!(Some(head.trim()), commit);
    let seen = host.seen();
    assert_eq!(seen.leaks, Vec::<String>::new());
    assert!(
        seen.calls
            .iter()
            .any(|(_, path, _)| path.ends_with("git-upload-pack"))
    );
    assert!(
        seen.calls
            .iter()
            .any(|(_, path, _)| path.ends_with("git-receive-pack"))
    );
    assert!(hold_no_canary(&ended.run_dir) > 10);
    let reported = serde_json::to_string(&ended.events).unwrap();
    assert!(!reported.contains(CANARY), "{reported}");
    let config = fs::read_to_string(ended.run_dir.join("workspace/config")).unwrap();
    assert!(!config.to_lowercase().contains("extraheader"), "{config}");
}

#[test]
fn a_private_repository_without_a_token_or_with_one_that_is_refused_fails_the_workspace() {
    for (access, knows, asks) in [
        (Access::All, false, "asks for authentication"),
        (Access::Nothing, true, "asks for authentication"),
    ] {
        let host = GitHost::start(&token(), access);
        let ended = scene(&host, knows, "true").run();
        let message = ended.failed(Code::WorkspaceFailed);
        assert!(message.contains(asks), "{message}");
        assert!(!message.contains(CANARY), "{message}");
    }
}

#[test]
fn a_token_that_may_not_push_leaves_the_result_in_the_workspace() {
    let host = GitHost::start(&token(), Access::Read);
    let ended = scene(&host, true, "echo y > y").run();
    let (commit, branch) = ended.succeeded();
    assert!(commit.is_some() && branch.is_none());
    assert!(
        skipped(&ended).contains("no credential"),
        "{}",
        skipped(&ended)
    );
    assert_eq!(ended.diffs.len(), 1, "the diff is kept");
    assert!(!skipped(&ended).contains(CANARY));
}

#[test]
fn a_token_goes_to_no_other_host_whatever_its_own_says() {
    // It takes what comes, and would see the token with the second call.
    let other = GitHost::start(&token(), Access::Public);
    let host = GitHost::start(&token(), Access::Redirect(other.base()));
    let mut scene = scene(&host, true, "true");
    let from = scene.origin().display().to_string();
    other.add("acme/app.git", &from);
    // Both are believed: it is not the certificate that keeps the token.
    let both = scene.dir.path().join("both.pem");
    let pems = [host.ca_file(), other.ca_file()].map(|file| fs::read_to_string(file).unwrap());
    fs::write(&both, pems.concat()).unwrap();
    scene.env.retain(|(name, _)| *name != "AWO_GIT_CA_FILE");
    let both = both.display().to_string();
    scene.env.push(("AWO_GIT_CA_FILE", both));
    let ended = scene.run();
    let message = ended.failed(Code::WorkspaceFailed);
    assert!(
        message.contains("has moved, or leads elsewhere"),
        "{message}"
    );
    assert!(
        host.seen()
            .calls
            .iter()
            .any(|(_, _, given)| given.is_some())
    );
    let reported = other
        .seen()
        .calls
        .iter()
        .any(|(_, _, given)| given.is_some());
    assert!(!reported, "{:?}", other.seen().calls);
}

#[test]
fn a_host_that_nobody_vouches_for_is_not_spoken_to() {
    let host = GitHost::start(&token(), Access::All);
    let mut scene = scene(&host, true, "true");
    scene.env.retain(|(name, _)| *name != "AWO_GIT_CA_FILE");
    let ended = scene.run();
    let message = ended.failed(Code::WorkspaceFailed);
    assert!(message.contains("certificate"), "{message}");
    assert_eq!(host.seen().calls.len(), 0);
}
