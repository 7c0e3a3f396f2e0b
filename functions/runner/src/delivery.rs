//! Delivers the result to the origin, from the runner's own repository. Without permission to push
//! the run still succeeds; a permitted push that is rejected fails it.

use std::time::Duration;

use awo_domain::source::GitSource;
use tokio::time::sleep;

use crate::git::{Answer, GitError};
use crate::repository::Repository;
use crate::workspace::needs_credential;

pub(crate) mod forges;
mod pull_request;
pub(crate) mod result;
mod texts;

/// Longest time of one push.
const PUSH_LIMIT: Duration = Duration::from_secs(120);
/// Tries, where the origin could not be reached.
const MAX_TRIES: u32 = 3;
/// Between two of them.
const PAUSE: Duration = Duration::from_secs(2);

/// What became of the result.
#[derive(Debug)]
pub(crate) enum Delivery {
    Delivered,
    /// It is not allowed; the reason.
    NotAllowed(String),
    /// Allowed and rejected; why.
    Rejected(String),
    Stopped,
}

enum Verdict {
    Final(Delivery),
    Again(String),
}

/// Pushes `commit` as `branch`.
pub(crate) async fn deliver(
    repository: &Repository,
    source: &GitSource,
    commit: &str,
    branch: &str,
) -> Delivery {
    let mut tries = 0;
    loop {
        tries += 1;
        let pushed = repository.push(source, commit, branch, PUSH_LIMIT).await;
        let why = match judge(pushed, source) {
            Verdict::Final(delivery) => return delivery,
            Verdict::Again(why) => why,
        };
        if tries == MAX_TRIES {
            return Delivery::Rejected(format!(
                "the result could not be pushed to {} in {tries} tries: {why}",
                source.repository.as_str()
            ));
        }
        tracing::warn!(event = "push_failed", why, tries, "a push failed; retrying");
        if repository.unless_stopped(sleep(PAUSE)).await.is_err() {
            return Delivery::Stopped;
        }
    }
}

fn judge(pushed: Result<Answer, GitError>, source: &GitSource) -> Verdict {
    let answer = match pushed {
        Ok(answer) => answer,
        Err(GitError::Stopped) => return Verdict::Final(Delivery::Stopped),
        Err(why @ GitError::TokenRefused { .. }) => {
            let why = format!("the result could not be pushed: {why}");
            return Verdict::Final(Delivery::Rejected(why));
        }
        Err(why) => return Verdict::Again(why.to_string()),
    };
    if answer.success {
        return Verdict::Final(Delivery::Delivered);
    }
    let url = source.repository.as_str();
    let refused = String::from_utf8_lossy(&answer.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("!\t").map(str::to_owned));
    if let Some(refused) = refused {
        let why = refused.rsplit('\t').next().unwrap_or_default();
        return Verdict::Final(Delivery::Rejected(format!(
            "{url} rejected the push: {why}. {}",
            answer.stderr
        )));
    }
    if is_not_allowed(&answer.stderr) {
        return Verdict::Final(Delivery::NotAllowed(format!(
            "no credential of the organization allows a push to {url}; the result stays in the \
             run's workspace"
        )));
    }
    Verdict::Again(answer.stderr)
}

fn is_not_allowed(reported: &str) -> bool {
    let parts = [
        "Permission denied",
        "insufficient permission",
        "Read-only file system",
    ];
    needs_credential(reported)
        || parts.iter().any(|part| reported.contains(part))
        || (reported.contains("repository '") && reported.contains("not found"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(stdout: &str, stderr: &str) -> Verdict {
        let source = serde_json::from_str(r#"{"repository":"https://example.com/a/b"}"#).unwrap();
        let answer = Answer {
            success: false,
            written: 0,
            stdout: stdout.as_bytes().to_vec(),
            stderr: stderr.to_owned(),
        };
        judge(Ok(answer), &source)
    }

    #[test]
    fn a_push_that_is_not_allowed_is_distinguished_from_one_that_is_rejected() {
        for reported in [
            "fatal: could not read Username for 'https://example.com': terminal prompts disabled",
            "remote: Permission to a/b.git denied to x.\nfatal: unable to access \
             'https://example.com/a/b/': The requested URL returned error: 403",
            "fatal: Authentication failed for 'https://example.com/a/b/'",
            "remote: Repository not found.\nfatal: repository 'https://example.com/a/b/' not found",
        ] {
            let verdict = judged("", reported);
            assert!(
                matches!(verdict, Verdict::Final(Delivery::NotAllowed(_))),
                "{reported}"
            );
        }
        let line = "To x\n!\tabc:refs/heads/awo/x\t[remote rejected] (protected branch)\nDone\n";
        let Verdict::Final(Delivery::Rejected(why)) = judged(line, "remote: ask first") else {
            panic!("a rejection is final");
        };
        assert!(
            why.contains("protected branch") && why.contains("ask first"),
            "{why}"
        );
    }

    #[test]
    fn an_origin_that_is_away_for_a_moment_is_asked_again() {
        let verdict = judged("", "fatal: unable to access 'x': Could not resolve host: x");
        assert!(matches!(verdict, Verdict::Again(_)));
    }
}
