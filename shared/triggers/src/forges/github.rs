//! GitHub's deliveries.

use awo_domain::forge::GitHostName;
use awo_domain::trigger::{ReviewState, TriggerEvent};
use serde_json::Value;

use super::hub::{branches, comment, subject};
use crate::event::{Actor, Author, Branches, Check, Event, Review, Subject, is_login};
use crate::fields::{author, branch, commit, pushed, repository, text};

/// Conclusions of checks that failed.
const FAILURES: [&str; 2] = ["failure", "timed_out"];

pub(super) fn event<'a>(name: &str, body: &'a Value, host: &GitHostName) -> Option<Event<'a>> {
    use TriggerEvent as E;
    if name == "check_run" {
        return check(body, host);
    }
    let action = body["action"].as_str().unwrap_or_default();
    let pull = &body["pull_request"];
    let kind = match (name, action) {
        ("issues", "opened") => E::IssueOpened,
        ("issues", "labeled") => E::IssueLabeled,
        ("issues", "assigned") => E::IssueAssigned,
        ("issue_comment" | "pull_request_review_comment", "created") => E::CommentCreated,
        ("pull_request_review", "submitted") => E::ReviewSubmitted,
        ("pull_request", "opened") => E::PullRequestOpened,
        ("pull_request", "synchronize") => E::PullRequestUpdated,
        ("pull_request", "labeled") => E::PullRequestLabeled,
        ("pull_request", "closed") if pull["merged"] == true => E::PullRequestMerged,
        ("push", _) => E::Push,
        _ => return None,
    };
    let issue = &body["issue"];
    let subject = match kind {
        E::Push => None,
        _ if pull.is_object() => Some(subject(pull, true)?),
        _ => Some(subject(issue, issue["pull_request"].is_object())?),
    };
    let branches = match kind {
        E::Push => Some(pushed(body)?),
        _ if pull.is_object() => Some(branches(pull)?),
        _ => None,
    };
    let has_comment = kind == E::CommentCreated;
    let is_review = kind == E::ReviewSubmitted;
    Some(Event {
        names: vec![kind],
        repository: Some(repository(&body["repository"]["clone_url"], host)?),
        subject,
        branches,
        actor: Some(actor(body, kind)?),
        added_labels: body["label"]["name"]
            .as_str()
            .map(|label| vec![label.to_owned()]),
        comment: has_comment.then(|| comment(&body["comment"])),
        review: if is_review {
            Some(review(&body["review"])?)
        } else {
            None
        },
        check: None,
        body,
    })
}

/// A check that failed, or that somebody asked for again. The account that asked is the actor; a failure has none.
fn check<'a>(body: &'a Value, host: &GitHostName) -> Option<Event<'a>> {
    let run = &body["check_run"];
    let conclusion = run["conclusion"].as_str().unwrap_or_default();
    let (kind, actor) = match body["action"].as_str()? {
        "completed" if FAILURES.contains(&conclusion) => (TriggerEvent::CheckFailed, None),
        "rerequested" => {
            let kind = TriggerEvent::CheckRerequested;
            (kind, Some(actor(body, kind)?))
        }
        _ => return None,
    };
    let pull = &run["pull_requests"][0];
    let (own, from) = (&pull["base"]["repo"]["id"], &pull["head"]["repo"]["id"]);
    let output = &run["output"];
    Some(Event {
        names: vec![kind],
        repository: Some(repository(&body["repository"]["clone_url"], host)?),
        subject: pull["number"].as_u64().map(|number| Subject {
            is_pull_request: true,
            number,
            url: String::new(),
            title: String::new(),
            body: String::new(),
            author: Author::unknown(),
            labels: Vec::new(),
            draft: None,
        }),
        branches: Some(Branches {
            head: branch(&run["check_suite"]["head_branch"])?,
            commit: Some(commit(&run["head_sha"])?),
            target: branch(&pull["base"]["ref"]),
            is_fork: own.is_u64() && own != from,
        }),
        actor,
        added_labels: None,
        comment: None,
        review: None,
        check: Some(Check {
            name: text(&run["name"]),
            conclusion: conclusion.to_owned(),
            external_id: run["external_id"].as_str().map(str::to_owned),
            text: format!(
                "{}\n{}\n{}",
                text(&output["title"]),
                text(&output["summary"]),
                text(&output["text"])
            ),
        }),
        body,
    })
}

fn actor(body: &Value, kind: TriggerEvent) -> Option<Actor> {
    let sender = &body["sender"];
    let login = sender["login"].as_str().filter(|login| is_login(login))?;
    // An App that wrote the issue did not label it.
    let written = match kind {
        TriggerEvent::CommentCreated => &body["comment"],
        TriggerEvent::IssueOpened => &body["issue"],
        _ => &Value::Null,
    };
    Some(Actor {
        login: login.to_owned(),
        is_bot: sender["type"] == "Bot" || login.ends_with("[bot]"),
        app_id: written["performed_via_github_app"]["id"].as_u64(),
    })
}

fn review(shown: &Value) -> Option<Review> {
    Some(Review {
        state: ReviewState::parse(&shown["state"].as_str()?.to_ascii_lowercase())?,
        author: author(&shown["user"]["login"]),
        text: text(&shown["body"]),
    })
}
