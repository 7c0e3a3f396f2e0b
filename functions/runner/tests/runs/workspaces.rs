//! Workspaces that cannot be created, with an actionable message.

use std::io::Read;

use awo_domain::run::RunErrorCode as Code;

use crate::scene::{Scene, git};

fn sourced(scene: &mut Scene, json: String) {
    scene.spec.source = serde_json::from_str(&json).unwrap();
}

#[test]
fn a_repository_that_does_not_exist_is_named() {
    let mut scene = Scene::new(&[("a", "a")], "true");
    sourced(
        &mut scene,
        r#"{"repository":"file:///no/such/repository"}"#.to_owned(),
    );
    let ended = scene.run();
    let message = ended.failed(Code::WorkspaceFailed);
    assert!(
        message.starts_with("file:///no/such/repository does not exist"),
        "{message}"
    );
    assert_eq!(ended.events, []);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn a_branch_that_does_not_exist_is_named() {
    let mut scene = Scene::new(&[("a", "a")], "true");
    let origin = scene.origin();
    sourced(
        &mut scene,
        format!(
            r#"{{"repository":"file://{}","branch":"nope"}}"#,
            origin.display()
        ),
    );
    let message = scene.run().failed(Code::WorkspaceFailed).to_owned();
    assert!(message.contains("has no branch nope"), "{message}");
}

#[test]
fn another_branch_than_the_default_is_the_base() {
    let mut scene = Scene::new(&[("a", "a")], "test -e b");
    let origin = scene.origin();
    git(&origin, &["checkout", "-q", "-b", "feature/x"]);
    crate::scene::commit_files(&origin, &[("b", "b")]);
    git(&origin, &["checkout", "-q", "main"]);
    sourced(
        &mut scene,
        format!(
            r#"{{"repository":"file://{}","branch":"feature/x"}}"#,
            origin.display()
        ),
    );
    scene.run().succeeded();
}

#[test]
fn a_repository_without_a_commit_is_reported() {
    let mut scene = Scene::new(&[("a", "a")], "true");
    let empty = scene.dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "-q"]);
    sourced(
        &mut scene,
        format!(r#"{{"repository":"file://{}"}}"#, empty.display()),
    );
    let message = scene.run().failed(Code::WorkspaceFailed).to_owned();
    assert!(message.contains("no commit yet"), "{message}");
}

#[test]
fn a_head_that_names_a_missing_branch_is_named_with_the_branches_there_are() {
    let scene = Scene::new(&[("a", "a")], "true");
    let origin = scene.origin();
    git(&origin, &["branch", "-m", "main", "develop"]);
    git(&origin, &["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    let message = scene.run().failed(Code::WorkspaceFailed).to_owned();
    assert!(message.contains("the branch trunk"), "{message}");
    assert!(message.contains("branches: develop."), "{message}");
    for n in 0..30 {
        git(&origin, &["branch", &format!("b{n:02}"), "develop"]);
    }
    let message = scene_of(&origin)
        .run()
        .failed(Code::WorkspaceFailed)
        .to_owned();
    assert!(message.contains("b19 and 11 more"), "{message}");
}

/// Another run of the same origin.
fn scene_of(origin: &std::path::Path) -> Scene {
    let mut scene = Scene::new(&[("a", "a")], "true");
    let json = format!(r#"{{"repository":"file://{}"}}"#, origin.display());
    sourced(&mut scene, json);
    scene
}

#[test]
fn a_clone_that_hangs_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut bytes = Vec::new();
        // Up to the end: which comes when git is killed, and not before.
        stream.read_to_end(&mut bytes).unwrap_or_default()
    });
    let mut scene = Scene::new(&[("a", "a")], "true");
    sourced(
        &mut scene,
        format!(r#"{{"repository":"https://127.0.0.1:{port}/a/b"}}"#),
    );
    scene.spec.max_duration_ms = 500;
    let message = scene.run().failed(Code::WorkspaceFailed).to_owned();
    assert!(message.contains("timed out"), "{message}");
    assert!(asked.join().unwrap() > 0);
}

#[test]
fn a_file_repository_needs_the_deployments_leave() {
    let mut scene = Scene::new(&[("a", "a")], "true");
    scene.spec.allow_file_repositories = false;
    let message = scene.run().failed(Code::WorkspaceFailed).to_owned();
    assert!(message.contains("https://"), "{message}");
}

#[test]
fn a_plan_with_a_fault_is_refused_with_its_place() {
    let scene = Scene::new(&[("verify.yaml", "version: 1\ntets: []\n")], "true");
    let message = scene.run().failed(Code::WorkspaceFailed).to_owned();
    assert!(
        message.contains("verify.yaml") && message.contains("tets"),
        "{message}"
    );
    assert!(message.contains("line 2"), "{message}");
}

#[test]
fn history_of_the_base_is_there_for_the_agent() {
    let scene = Scene::new(&[("a", "a")], "test $(git rev-list --count HEAD) = 3");
    crate::scene::commit_files(&scene.origin(), &[("a", "b")]);
    crate::scene::commit_files(&scene.origin(), &[("a", "c")]);
    scene.run().succeeded();
}
