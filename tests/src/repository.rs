//! Real git repositories for work orders.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A bare origin with one commit on `main`.
#[derive(Debug)]
pub struct Repository {
    dir: tempfile::TempDir,
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([
            ("GIT_AUTHOR_NAME", "t"),
            ("GIT_AUTHOR_EMAIL", "t@localhost"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "t"),
            ("GIT_COMMITTER_EMAIL", "t@localhost"),
        ])
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Repository {
    /// An origin with these files; those under `.awo/` and those that begin with `#!` can be run.
    #[must_use]
    pub fn with(files: &[(&str, &str)]) -> Repository {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let work = dir.path().join("work");
        std::fs::create_dir(&work).expect("a directory");
        git(&work, &["init", "-q", "-b", "main"]);
        for (name, content) in files {
            let path = work.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(&path, content).expect("a file");
            if content.starts_with("#!") {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
                    .expect("a mode");
            }
        }
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "base"]);
        git(dir.path(), &["clone", "-q", "--bare", "work", "origin.git"]);
        Repository { dir }
    }

    /// Another commit on the origin's branch `main`, with these files.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn commit(&self, files: &[(&str, &str)]) {
        let work = self.dir.path().join("work");
        for (name, content) in files {
            std::fs::write(work.join(name), content).expect("a file");
        }
        git(&work, &["commit", "-q", "-a", "-m", "more"]);
        let origin = self.origin().display().to_string();
        git(&work, &["push", "-q", &origin, "HEAD:main"]);
    }

    /// A commit of somebody else with one file, pushed to a branch of the origin.
    ///
    /// # Panics
    /// When it cannot be made or pushed.
    pub fn push_to(&self, branch: &str, file: &str, content: &str) {
        let other = tempfile::tempdir().expect("a temporary directory");
        let origin = self.origin().display().to_string();
        git(other.path(), &["clone", "-q", "-b", branch, &origin, "."]);
        std::fs::write(other.path().join(file), content).expect("a file");
        git(other.path(), &["add", "-A"]);
        git(other.path(), &["commit", "-q", "-m", "review"]);
        git(other.path(), &["push", "-q", "origin", "HEAD"]);
    }

    fn origin(&self) -> PathBuf {
        self.dir.path().join("origin.git")
    }

    /// From now on each clone and fetch waits, until its refs are written.
    pub fn hang_on_clone(&self) {
        let refs = self.origin().join("packed-refs");
        drop(std::fs::remove_file(&refs));
        let made = Command::new("mkfifo").arg(&refs).status();
        assert!(made.expect("mkfifo runs").success());
    }

    /// From now on each push waits, much longer than any test.
    pub fn hang_on_push(&self) {
        self.before_pushes("#!/bin/sh\nsleep 600\n");
    }

    /// From now on each push is refused in these words.
    pub fn refuse_pushes(&self, words: &str) {
        self.before_pushes(&format!("#!/bin/sh\necho '{words}' >&2\nexit 1\n"));
    }

    fn before_pushes(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let hook = self.origin().join("hooks/pre-receive");
        std::fs::create_dir_all(hook.parent().expect("a parent")).expect("a directory");
        std::fs::write(&hook, script).expect("a file");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("file://{}", self.origin().display())
    }

    /// The content of a file on a branch.
    #[must_use]
    pub fn show(&self, branch: &str, file: &str) -> String {
        git(&self.origin(), &["show", &format!("{branch}:{file}")])
    }

    /// The head of a branch.
    #[must_use]
    pub fn head(&self, branch: &str) -> String {
        git(
            &self.origin(),
            &["rev-parse", &format!("refs/heads/{branch}")],
        )
    }

    /// The files of a branch, by their paths.
    #[must_use]
    pub fn files(&self, branch: &str) -> Vec<String> {
        let listed = git(&self.origin(), &["ls-tree", "-r", "--name-only", branch]);
        listed.lines().map(str::to_owned).collect()
    }

    /// The branches of the origin.
    #[must_use]
    pub fn branches(&self) -> Vec<String> {
        git(
            &self.origin(),
            &["for-each-ref", "--format=%(refname:short)", "refs/heads"],
        )
        .lines()
        .map(str::to_owned)
        .collect()
    }
}
