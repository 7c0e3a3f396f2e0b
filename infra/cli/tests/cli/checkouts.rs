//! The clean checkout of `awo verify`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::call::{CallOutput, command};

async fn verify(dir: &Path, more: &[&str]) -> CallOutput {
    let args = ["verify", dir.to_str().unwrap()];
    let path = std::env::var_os("PATH").unwrap();
    let output = command(args.iter().chain(more)).env("PATH", path).output();
    CallOutput::of(output.await.unwrap())
}

fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    let all = ["-c", "protocol.file.allow=always"];
    let mut git = Command::new("git");
    git.arg("-C").arg(dir).args(identity).args(all).args(args);
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a repository whose plan runs `command`, and whose first commit is tagged.
fn repository(dir: &Path, command: &str) {
    fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "--quiet", "-b", "trunk"]);
    let plan = format!("tests:\n- name: unit\n  run: |\n    {command} && echo 3 passed in 0.01s\n");
    fs::write(dir.join("verify.yaml"), plan).unwrap();
    fs::write(dir.join(".gitignore"), "ignored\n").unwrap();
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "-m", "first"]);
    git(dir, &["tag", "v1.0"]);
}

#[tokio::test]
async fn a_checkout_has_changes_and_new_files_and_nothing_ignored() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path(), "true");
    let plan = "test ! -e ignored && test ! -e __pycache__ && test -e new && test -z \"$(git status --porcelain)\"";
    let plan = format!("tests: [{{name: unit, run: '{plan} && echo 1 passed in 1s'}}]\n");
    fs::write(dir.path().join("verify.yaml"), plan).unwrap();
    for file in ["ignored", "new"] {
        fs::write(dir.path().join(file), "").unwrap();
    }
    fs::create_dir(dir.path().join("__pycache__")).unwrap();
    fs::write(dir.path().join("__pycache__/x.pyc"), "").unwrap();
    let verified = verify(dir.path(), &[]).await;
    assert!(verified.out.contains("\nverified: "), "{verified:?}");
    let in_place = verify(dir.path(), &["--in-place"]).await;
    assert_eq!(in_place.code, 1, "{in_place:?}");
}

#[tokio::test]
async fn a_checkout_answers_git_as_a_fresh_clone() {
    let dir = tempfile::tempdir().unwrap();
    let questions = "git describe --tags && git diff --exit-code && git rev-parse --verify trunk \
                     && test \"$(git ls-files | wc -l)\" = 2";
    repository(dir.path(), questions);
    let verified = verify(dir.path(), &[]).await;
    assert!(verified.out.contains("\nverified: "), "{verified:?}");
}

#[tokio::test]
async fn a_working_copy_is_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    repository(
        dir.path(),
        "touch made && git commit -q --allow-empty -m x && git tag made",
    );
    fs::write(dir.path().join("new"), "").unwrap();
    let state = || {
        let refs = git(dir.path(), &["show-ref", "--head"]);
        let objects = git(dir.path(), &["count-objects", "-v"]);
        let status = git(dir.path(), &["status", "--porcelain"]);
        let index = fs::read(dir.path().join(".git/index")).unwrap();
        (refs, objects, status, index)
    };
    let before = state();
    verify(dir.path(), &[]).await;
    assert_eq!(state(), before);
}

#[tokio::test]
async fn a_hook_of_git_verifies_the_repository_in_which_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path(), "git describe --tags");
    let path = std::env::var_os("PATH").unwrap();
    let called = command(["verify", dir.path().to_str().unwrap()])
        .env("PATH", path)
        .env("GIT_DIR", "/nonexistent")
        .env("GIT_INDEX_FILE", "/nonexistent/index")
        .output();
    let called = CallOutput::of(called.await.unwrap());
    assert!(called.out.contains("\nverified: "), "{called:?}");
}

#[tokio::test]
async fn worktrees_submodules_and_folders_of_a_repository_are_checked_out() {
    let dir = tempfile::tempdir().unwrap();
    let path_of = |name: &str| dir.path().join(name);
    repository(&path_of("part"), "true");
    repository(
        &path_of("whole"),
        "test -e part/verify.yaml && git -C part describe --tags",
    );
    let part = path_of("part");
    git(
        &path_of("whole"),
        &[
            "submodule",
            "--quiet",
            "add",
            part.to_str().unwrap(),
            "part",
        ],
    );
    let whole = verify(&path_of("whole"), &[]).await;
    assert!(whole.out.contains("\nverified: "), "{whole:?}");
    let folder = path_of("part/folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("Makefile"), "test:\n\t@echo 2 passed in 0.1s\n").unwrap();
    let folder = verify(&folder, &[]).await;
    assert!(folder.out.contains("2 tests: 2 passed"), "{folder:?}");
    let tree = path_of("tree");
    git(
        &part,
        &["worktree", "add", "--quiet", tree.to_str().unwrap()],
    );
    let tree = verify(&tree, &[]).await;
    assert!(tree.out.contains("\nverified: "), "{tree:?}");
}

#[tokio::test]
async fn a_folder_that_a_repository_ignores_is_verified_for_itself() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path(), "false");
    let folder = dir.path().join("ignored/project");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("Makefile"), "test:\n\t@echo 2 passed in 0.1s\n").unwrap();
    let verified = verify(&folder, &[]).await;
    assert!(verified.out.contains("\nverified: "), "{verified:?}");
}

#[tokio::test]
async fn a_repository_without_a_commit_is_verified() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]);
    fs::write(
        dir.path().join("Makefile"),
        "test:\n\t@echo 2 passed in 0.1s\n",
    )
    .unwrap();
    let verified = verify(dir.path(), &[]).await;
    assert!(verified.out.contains("\nverified: "), "{verified:?}");
}
