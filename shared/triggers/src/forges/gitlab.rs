//! GitLab's deliveries. Those of confidential issues and notes are no events: what they say would be in a pull
//! request that others can read.

use awo_domain::forge::GitHostName;
use awo_domain::run_report::CHECK_NAME;
use awo_domain::trigger::{ReviewState, TriggerEvent};
use serde_json::Value;

use crate::event::{Actor, Author, Branches, Check, Comment, Event, Review, Subject, is_login};
use crate::fields::{branch, commit, labels, page, pushed, repository, text};

/// The content of a delivery beside the repository and the actor.
#[derive(Default)]
struct Content {
    names: Vec<TriggerEvent>,
    subject: Option<Subject>,
    branches: Option<Branches>,
    added_labels: Option<Vec<String>>,
    comment: Option<Comment>,
    review: Option<Review>,
    check: Option<Check>,
}

pub(super) fn event<'a>(body: &'a Value, host: &GitHostName) -> Option<Event<'a>> {
    let actor = actor(body)?;
    let content = match body["object_kind"].as_str()? {
        "issue" => issue(body, &actor)?,
        "note" => note(body, &actor)?,
        "merge_request" => merge_request(body, &actor)?,
        "pipeline" => pipeline(body)?,
        "push" => Content {
            names: vec![TriggerEvent::Push],
            branches: Some(pushed(body)?),
            ..Content::default()
        },
        _ => return None,
    };
    // A failure is not the act of the account that pushed.
    let actor = Some(actor).filter(|_| content.check.is_none());
    Some(Event {
        names: content.names,
        repository: Some(repository(&body["project"]["git_http_url"], host)?),
        subject: content.subject,
        branches: content.branches,
        actor,
        added_labels: content.added_labels,
        comment: content.comment,
        review: content.review,
        check: content.check,
        body,
    })
}

fn actor(body: &Value) -> Option<Actor> {
    let login = body["user"]["username"].as_str();
    let login = login.or_else(|| body["user_username"].as_str());
    let login = login.filter(|login| is_login(login))?;
    // Accounts of access tokens and of the forge itself.
    let is_token = ["project_", "group_"]
        .iter()
        .any(|prefix| login.starts_with(prefix) && login.contains("_bot"));
    let is_own = ["support-bot", "alert-bot", "ghost"].contains(&login);
    Some(Actor {
        login: login.to_owned(),
        is_bot: is_token || is_own || login.starts_with("service_account_"),
        app_id: None,
    })
}

fn subject(shown: &Value, all_labels: &Value, author: Author) -> Option<Subject> {
    let draft = shown["draft"].as_bool();
    Some(Subject {
        is_pull_request: shown["target_branch"].is_string(),
        number: shown["iid"].as_u64()?,
        url: page(&shown["url"]),
        title: text(&shown["title"]),
        body: text(&shown["description"]),
        author,
        labels: labels(all_labels, "title"),
        draft: draft.or_else(|| shown["work_in_progress"].as_bool()),
    })
}

fn branches(shown: &Value) -> Option<Branches> {
    let own = shown["target_project_id"].as_u64()?;
    Some(Branches {
        head: branch(&shown["source_branch"])?,
        commit: commit(&shown["last_commit"]["id"]),
        target: Some(branch(&shown["target_branch"])?),
        is_fork: shown["source_project_id"].as_u64() != Some(own),
    })
}

/// Labels that a change added.
fn added(body: &Value) -> Vec<String> {
    let change = &body["changes"]["labels"];
    let before = labels(&change["previous"], "title");
    let mut added = labels(&change["current"], "title");
    added.retain(|label| !before.contains(label));
    added
}

/// The author of what an actor has just opened; otherwise a delivery names none by login.
fn author_if(is_new: bool, actor: &Actor) -> Author {
    Author::of(Some(&*actor.login).filter(|_| is_new))
}

fn issue(body: &Value, actor: &Actor) -> Option<Content> {
    let shown = &body["object_attributes"];
    if shown["confidential"] == true {
        return None;
    }
    let (is_new, is_update) = (shown["action"] == "open", shown["action"] == "update");
    let added = added(body);
    let assignees = |name: &str| body["changes"]["assignees"][name].as_array().map(Vec::len);
    let is_assigned = assignees("current") > assignees("previous");
    let names = [
        (is_new, TriggerEvent::IssueOpened),
        (is_update && !added.is_empty(), TriggerEvent::IssueLabeled),
        (is_update && is_assigned, TriggerEvent::IssueAssigned),
    ];
    Some(Content {
        names: named(&names),
        subject: Some(subject(shown, &body["labels"], author_if(is_new, actor))?),
        added_labels: Some(added),
        ..Content::default()
    })
}

fn merge_request(body: &Value, actor: &Actor) -> Option<Content> {
    let shown = &body["object_attributes"];
    let action = shown["action"].as_str()?;
    let is_update = action == "update";
    let added = added(body);
    let is_approval = matches!(action, "approved" | "approval");
    let names = [
        (action == "open", TriggerEvent::PullRequestOpened),
        (
            is_update && shown["oldrev"].is_string(),
            TriggerEvent::PullRequestUpdated,
        ),
        (
            is_update && !added.is_empty(),
            TriggerEvent::PullRequestLabeled,
        ),
        (action == "merge", TriggerEvent::PullRequestMerged),
        (is_approval, TriggerEvent::ReviewSubmitted),
    ];
    let author = author_if(action == "open", actor);
    Some(Content {
        names: named(&names),
        subject: Some(subject(shown, &body["labels"], author)?),
        branches: Some(branches(shown)?),
        added_labels: Some(added),
        comment: None,
        review: is_approval.then(|| Review {
            state: ReviewState::Approved,
            author: Author::of(Some(&actor.login)),
            text: String::new(),
        }),
        check: None,
    })
}

fn note(body: &Value, actor: &Actor) -> Option<Content> {
    let note = &body["object_attributes"];
    let is_new = note["action"]
        .as_str()
        .is_none_or(|action| action == "create");
    let (issue, merge_request) = (&body["issue"], &body["merge_request"]);
    if !is_new || note["system"] == true || issue["confidential"] == true {
        return None;
    }
    if note["internal"] == true || note["confidential"] == true {
        return None;
    }
    let shown = match note["noteable_type"].as_str()? {
        "Issue" => issue,
        "MergeRequest" => merge_request,
        _ => return None,
    };
    let branches = if merge_request.is_object() {
        Some(branches(merge_request)?)
    } else {
        None
    };
    let mut subject = subject(shown, &shown["labels"], Author::unknown())?;
    if subject.url.is_empty() {
        subject.url = page(&note["url"]);
    }
    Some(Content {
        names: vec![TriggerEvent::CommentCreated],
        subject: Some(subject),
        branches,
        comment: Some(Comment {
            author: Author::of(Some(&actor.login)),
            text: text(&note["note"]),
        }),
        ..Content::default()
    })
}

/// A pipeline that failed, whose actor did not cause the failure.
fn pipeline(body: &Value) -> Option<Content> {
    let shown = &body["object_attributes"];
    if shown["status"] != "failed" || shown["tag"] == true {
        return None;
    }
    let merge_request = &body["merge_request"];
    let target = branch(&merge_request["target_branch"]);
    let (own, from) = (
        &merge_request["target_project_id"],
        &merge_request["source_project_id"],
    );
    let head = branch(&merge_request["source_branch"]).or_else(|| branch(&shown["ref"]))?;
    let jobs = body["builds"].as_array().into_iter().flatten();
    let failed = jobs.filter(|job| job["status"] == "failed" && job["allow_failure"] != true);
    let names: Vec<String> = failed.map(|job| text(&job["name"])).collect();
    // A status of a commit is a job of a pipeline.
    let is_own = |name: &String| name == CHECK_NAME;
    if !names.is_empty() && names.iter().all(is_own) {
        return None;
    }
    Some(Content {
        names: vec![TriggerEvent::CheckFailed],
        subject: merge_request["iid"].as_u64().map(|number| Subject {
            is_pull_request: true,
            number,
            url: page(&merge_request["url"]),
            title: text(&merge_request["title"]),
            body: String::new(),
            author: Author::unknown(),
            labels: Vec::new(),
            draft: None,
        }),
        branches: Some(Branches {
            head,
            commit: Some(commit(&shown["sha"])?),
            target,
            is_fork: own.is_u64() && own != from,
        }),
        check: Some(Check {
            name: "pipeline".to_owned(),
            conclusion: "failed".to_owned(),
            external_id: None,
            text: format!("failed jobs: {}", names.join(", ")),
        }),
        ..Content::default()
    })
}

fn named(names: &[(bool, TriggerEvent)]) -> Vec<TriggerEvent> {
    let holding = names.iter().filter(|(holds, _)| *holds);
    holding.map(|(_, name)| *name).collect()
}
