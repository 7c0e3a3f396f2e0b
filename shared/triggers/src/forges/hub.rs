//! The parts of bodies that GitHub and Gitea have in common.

use serde_json::Value;

use crate::event::{Branches, Comment, Subject};
use crate::fields::{author, branch, commit, labels, page, text};

/// An issue or a pull request.
pub(super) fn subject(shown: &Value, is_pull_request: bool) -> Option<Subject> {
    Some(Subject {
        is_pull_request,
        number: shown["number"].as_u64()?,
        url: page(&shown["html_url"]),
        title: text(&shown["title"]),
        body: text(&shown["body"]),
        author: author(&shown["user"]["login"]),
        labels: labels(&shown["labels"], "name"),
        draft: shown["draft"].as_bool(),
    })
}

/// The branches of a pull request. A head whose repository is gone is a fork's.
pub(super) fn branches(shown: &Value) -> Option<Branches> {
    let (head, base) = (&shown["head"], &shown["base"]);
    let own = base["repo"]["id"].as_u64()?;
    Some(Branches {
        head: branch(&head["ref"])?,
        commit: Some(commit(&head["sha"])?),
        target: Some(branch(&base["ref"])?),
        is_fork: head["repo"]["id"].as_u64() != Some(own),
    })
}

pub(super) fn comment(shown: &Value) -> Comment {
    Comment {
        author: author(&shown["user"]["login"]),
        text: text(&shown["body"]),
    }
}
