//! Deliveries of Gitea and Forgejo. They are GitHub's, with other names of some actions and events.

use awo_domain::forge::GitHostName;
use awo_domain::trigger::{ReviewState, TriggerEvent};
use serde_json::Value;

use super::hub::{branches, comment, subject};
use crate::event::{Actor, Event, Review, is_login};
use crate::fields::{labels, pushed, repository, text};

/// Accounts of the forges' own programs.
const PROGRAMS: [&str; 3] = ["gitea-actions", "forgejo-actions", "ghost"];

pub(super) fn event<'a>(name: &str, body: &'a Value, host: &GitHostName) -> Option<Event<'a>> {
    use TriggerEvent as E;
    let action = body["action"].as_str().unwrap_or_default();
    let pull = &body["pull_request"];
    let kind = match (name, action) {
        ("issues", "opened") => E::IssueOpened,
        ("issues", "label_updated") => E::IssueLabeled,
        ("issues", "assigned") => E::IssueAssigned,
        ("issue_comment", "created") => E::CommentCreated,
        (
            "pull_request_approved" | "pull_request_rejected" | "pull_request_comment",
            "reviewed",
        ) => E::ReviewSubmitted,
        ("pull_request", "opened") => E::PullRequestOpened,
        ("pull_request", "synchronized") => E::PullRequestUpdated,
        ("pull_request", "label_updated") => E::PullRequestLabeled,
        ("pull_request", "closed") if pull["merged"] == true => E::PullRequestMerged,
        ("push", _) => E::Push,
        _ => return None,
    };
    let subject = match kind {
        E::Push => None,
        _ if pull.is_object() => Some(subject(pull, true)?),
        _ => Some(subject(&body["issue"], body["is_pull"] == true)?),
    };
    let branches = match kind {
        E::Push => Some(pushed(body)?),
        _ if pull.is_object() => Some(branches(pull)?),
        _ => None,
    };
    let is_labeled = matches!(kind, E::IssueLabeled | E::PullRequestLabeled);
    let added_labels = added(body).filter(|_| is_labeled);
    // The same action reports a label that was removed.
    if is_labeled && added_labels.as_ref().is_some_and(Vec::is_empty) {
        return None;
    }
    let has_comment = kind == E::CommentCreated;
    let is_review = kind == E::ReviewSubmitted;
    let actor = actor(body)?;
    Some(Event {
        names: vec![kind],
        repository: Some(repository(&body["repository"]["clone_url"], host)?),
        subject,
        branches,
        added_labels,
        comment: has_comment.then(|| comment(&body["comment"])),
        review: is_review.then(|| review(name, body, &actor)),
        check: None,
        actor: Some(actor),
        body,
    })
}

/// Labels that were added, where the server names them.
fn added(body: &Value) -> Option<Vec<String>> {
    let changes = &body["changes"];
    let list = [&changes["added_labels"], &changes["removed_labels"]];
    let is_named = list.iter().any(|list| list.is_array());
    is_named.then(|| labels(list[0], "name"))
}

fn actor(body: &Value) -> Option<Actor> {
    let login = body["sender"]["login"].as_str();
    let login = login.filter(|login| is_login(login))?;
    Some(Actor {
        login: login.to_owned(),
        is_bot: PROGRAMS.contains(&login) || login.ends_with("[bot]"),
        app_id: None,
    })
}

fn review(name: &str, body: &Value, actor: &Actor) -> Review {
    let state = match name {
        "pull_request_approved" => ReviewState::Approved,
        "pull_request_rejected" => ReviewState::ChangesRequested,
        _ => ReviewState::Commented,
    };
    Review {
        state,
        author: crate::event::Author::of(Some(&actor.login)),
        text: text(&body["review"]["content"]),
    }
}
