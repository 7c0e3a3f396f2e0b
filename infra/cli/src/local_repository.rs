//! The uncommitted part of a repository on this machine: a run only has commits.

use std::path::Path;
use std::process::{Command, Stdio};

/// The agent of a repository.
const AGENT: &str = ".awo/agent.sh";

/// What to know before a run of the repository in this folder; nothing where all is well.
pub fn hints(dir: &Path, has_own_agent: bool) -> Vec<String> {
    if !dir.is_dir() {
        return Vec::new();
    }
    let mut hints = Vec::new();
    let status = ["status", "--porcelain", "--untracked-files=normal", "-z"];
    if let Some(changed) = git(dir, &status)
        .map(|text| entries(&text))
        .filter(|n| *n > 0)
    {
        let files = match changed {
            1 => "1 file is not committed, and is".to_owned(),
            many => format!("{many} files are not committed, and are"),
        };
        hints.push(format!(
            "{files} not part of this run: commit what the run needs"
        ));
    }
    let is_there = dir.join(AGENT).exists();
    let is_committed = git(dir, &["ls-tree", "--name-only", "HEAD", "--", AGENT]);
    if !has_own_agent && is_there && is_committed.is_some_and(|names| names.trim().is_empty()) {
        hints.push(format!(
            "{AGENT} exists but is not committed, so this run does not have it: add it with git \
             add {AGENT}, and commit it"
        ));
    }
    hints
}

/// Entries of `git status -z`; the old name of a renamed file is not one.
fn entries(text: &str) -> usize {
    let mut names = text.split('\0').filter(|entry| !entry.is_empty());
    let mut count = 0;
    while let Some(entry) = names.next() {
        count += 1;
        if entry.starts_with('R') || entry.starts_with('C') {
            names.next();
        }
    }
    count
}

/// What git answers; nothing where it is not there or does not know the folder.
pub fn git(dir: &Path, args: &[&str]) -> Option<String> {
    let answer = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    answer.status.success().then_some(text)
}

/// The reason that git gives for not taking a folder as a repository; none where there is no
/// repository at all.
pub fn refusal(dir: &Path) -> Option<String> {
    let answer = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["rev-parse", "--absolute-git-dir"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output();
    let reported = match answer {
        Ok(answer) => String::from_utf8_lossy(&answer.stderr).into_owned(),
        Err(why) => format!("git could not be started: {why}"),
    };
    let lines = reported.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let is_none = lines
        .iter()
        .any(|line| line.contains("not a git repository"));
    (!is_none && !lines.is_empty()).then(|| lines.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(dir: &Path, args: &[&str]) {
        let author = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        let done = Command::new("git")
            .arg("-C")
            .arg(dir)
            .args(author)
            .args(args)
            .output();
        assert!(done.unwrap().status.success(), "{args:?}");
    }

    #[test]
    fn uncommitted_changes_are_reported_and_so_is_an_uncommitted_agent() {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &["init", "-q"]);
        run(dir.path(), &["commit", "-q", "--allow-empty", "-m", "x"]);
        let url = dir.path();
        assert_eq!(hints(url, false), Vec::<String>::new());
        std::fs::create_dir(dir.path().join(".awo")).unwrap();
        std::fs::write(dir.path().join(AGENT), "#!/bin/sh\n").unwrap();
        let found = hints(url, false);
        assert!(found[0].contains("1 file is not committed"), "{found:?}");
        assert!(
            found[1].contains("exists but is not committed"),
            "{found:?}"
        );
        assert_eq!(hints(url, true).len(), 1);
        run(dir.path(), &["add", "--all"]);
        run(dir.path(), &["commit", "-q", "-m", "y"]);
        assert_eq!(hints(url, false), Vec::<String>::new());
    }

    #[test]
    fn renamed_files_count_once() {
        assert_eq!(entries("R  new\0old\0?? x\0"), 2);
        assert_eq!(entries(""), 0);
    }
}
