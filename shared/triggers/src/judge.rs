//! The judgement of an event by a trigger, before the forge is asked about the actor, and after it.

use awo_domain::forge::ForgePermission;
use awo_domain::trigger::{
    BodyMatch, ReviewState, TriggerAction, TriggerActors, TriggerContent, TriggerEvent,
    TriggerFilter,
};

use crate::event::{Actor, Event};
use crate::fill::plain;
use crate::patterns::Pattern;
use crate::words::{commands, mentions};

/// The mark of every comment that the service writes.
const MARKER: &str = "<!-- awo:";

/// The judgement of an event by a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The trigger acts.
    Acts,
    /// The event is none of its own.
    Ignored(Word),
    /// The actor, or the branch, is not admitted.
    Refused(Word),
}

/// The word for a reason.
pub type Word = &'static str;

/// The accounts of the service at a forge.
#[derive(Debug, Clone, Default)]
pub struct OwnAccount {
    /// The login of the token or the App.
    pub login: Option<String>,
    /// The id of the App.
    pub app_id: Option<u64>,
}

/// The verdict on an event, as far as the delivery alone decides it.
#[must_use]
pub fn judge(content: &TriggerContent, event: &Event<'_>) -> Verdict {
    let names: Vec<TriggerEvent> = (event.names.iter().copied())
        .filter(|name| content.events.contains(name))
        .collect();
    if names.is_empty() {
        return Verdict::Ignored("event");
    }
    if let Some(name) = event.repository_name() {
        let patterns = content.repositories.iter();
        let mut patterns = patterns.filter_map(|text| Pattern::of_repository(text).ok());
        if !patterns.any(|pattern| pattern.matches(&name)) {
            return Verdict::Ignored("repository");
        }
    }
    if let Some(reason) = unmet(&content.filter, event, &names) {
        return Verdict::Ignored(reason);
    }
    if event
        .branches
        .as_ref()
        .is_some_and(|branches| branches.is_fork)
    {
        return Verdict::Refused("fork");
    }
    let can_act = match content.action {
        TriggerAction::Create => true,
        TriggerAction::Verify => can_be_verified(event),
        TriggerAction::FollowUp => event.lacks_branches() || event.branches.is_some(),
    };
    if !can_act {
        return Verdict::Ignored("event");
    }
    match &event.actor {
        Some(actor) => admission(&content.who, actor),
        None => Verdict::Acts,
    }
}

/// The verdict on the actor, as the forge knows it.
#[must_use]
pub fn judge_actor(
    who: &TriggerActors,
    event: &Event<'_>,
    own: &OwnAccount,
    permission: ForgePermission,
) -> Verdict {
    let Some(actor) = &event.actor else {
        return Verdict::Acts;
    };
    if is_own(event, own) {
        return Verdict::Ignored("self");
    }
    if !actor.is_bot && !who.permission.is_met_by(permission) {
        return Verdict::Refused("who:permission");
    }
    Verdict::Acts
}

/// True for a failed check that the service itself reported.
#[must_use]
pub fn is_own_check(event: &Event<'_>, own: &OwnAccount) -> bool {
    let app = event
        .body
        .pointer("/check_run/app/id")
        .and_then(serde_json::Value::as_u64);
    event.is(TriggerEvent::CheckFailed) && own.app_id.is_some() && app == own.app_id
}

/// True for what the service did itself: acts of its App, its commits, and its comments. People may use the
/// account of a token for other acts.
#[must_use]
pub fn is_own(event: &Event<'_>, own: &OwnAccount) -> bool {
    let Some(actor) = &event.actor else {
        return false;
    };
    let is_app = own.app_id.is_some() && actor.app_id == own.app_id;
    let login = own.login.as_deref().unwrap_or_default();
    let is_account = actor.login.eq_ignore_ascii_case(login);
    let has_commits = event.names.iter().any(|name| {
        matches!(
            name,
            TriggerEvent::Push | TriggerEvent::PullRequestOpened | TriggerEvent::PullRequestUpdated
        )
    });
    let is_marked = event.text().is_some_and(|text| text.contains(MARKER));
    is_app || (is_account && (actor.is_bot || has_commits || is_marked))
}

/// True if the event names the commit that is to be verified.
fn can_be_verified(event: &Event<'_>) -> bool {
    event.lacks_branches()
        || event
            .branches
            .as_ref()
            .is_some_and(|branches| branches.commit.is_some())
}

fn admission(who: &TriggerActors, actor: &Actor) -> Verdict {
    let names = |list: &[String]| {
        list.iter()
            .any(|name| name.eq_ignore_ascii_case(&actor.login))
    };
    if names(&who.exclude_users) {
        return Verdict::Refused("who:excludeUsers");
    }
    if actor.is_bot {
        return if names(&who.bots) {
            Verdict::Acts
        } else {
            Verdict::Refused("bot")
        };
    }
    if who.users.is_empty() || names(&who.users) {
        Verdict::Acts
    } else {
        Verdict::Refused("who:users")
    }
}

/// The reason of the first condition that does not hold.
fn unmet(filter: &TriggerFilter, event: &Event<'_>, names: &[TriggerEvent]) -> Option<Word> {
    let conditions = [
        (has_labels(filter, event, names), "filter:labels"),
        (lacks_labels(filter, event), "filter:excludeLabels"),
        (
            filter
                .mention
                .as_deref()
                .is_none_or(|name| event.text().is_some_and(|text| mentions(text, name))),
            "filter:mention",
        ),
        (
            filter
                .command
                .as_deref()
                .is_none_or(|word| event.text().is_some_and(|text| commands(text, word))),
            "filter:command",
        ),
        (is_on_branch(filter, event), "filter:branches"),
        (has_check(filter, event), "filter:checks"),
        (has_state(filter, event), "filter:reviewStates"),
        (
            filter.draft.is_none_or(|draft| {
                let subject = event.subject.as_ref();
                subject.and_then(|subject| subject.draft) == Some(draft)
            }),
            "filter:draft",
        ),
        (
            filter.body.iter().all(|condition| holds(condition, event)),
            "filter:match",
        ),
    ];
    let mut conditions = conditions.into_iter();
    conditions
        .find(|(holds, _)| !holds)
        .map(|(_, reason)| reason)
}

fn has_labels(filter: &TriggerFilter, event: &Event<'_>, names: &[TriggerEvent]) -> bool {
    if filter.labels.is_empty() {
        return true;
    }
    let Some(subject) = &event.subject else {
        return false;
    };
    let is_labeled = names.iter().any(|name| {
        matches!(
            name,
            TriggerEvent::IssueLabeled | TriggerEvent::PullRequestLabeled
        )
    });
    // A label that was there before does not count again.
    let is_added = event
        .added_labels
        .as_ref()
        .is_none_or(|added| added.iter().any(|label| has(&filter.labels, label)));
    filter
        .labels
        .iter()
        .all(|label| has(&subject.labels, label))
        && (!is_labeled || is_added)
}

fn lacks_labels(filter: &TriggerFilter, event: &Event<'_>) -> bool {
    let labels = event.subject.as_ref().map(|subject| &subject.labels);
    let mut excluded = filter.exclude_labels.iter();
    !excluded.any(|label| labels.is_some_and(|labels| has(labels, label)))
}

fn has(labels: &[String], label: &str) -> bool {
    labels.iter().any(|other| other.eq_ignore_ascii_case(label))
}

/// A delivery that does not name the branches is judged again when they are known.
fn is_on_branch(filter: &TriggerFilter, event: &Event<'_>) -> bool {
    if filter.branches.is_empty() || event.lacks_branches() {
        return true;
    }
    let branch = event.branches.as_ref();
    let branch = branch.map(|branches| branches.target.as_ref().unwrap_or(&branches.head));
    branch.is_some_and(|branch| {
        let mut patterns = filter.branches.iter();
        patterns.any(|pattern| Pattern::of(pattern).matches(branch.as_str()))
    })
}

/// Checks of ours, which have the id of a run, count only where somebody asks for one again.
fn has_check(filter: &TriggerFilter, event: &Event<'_>) -> bool {
    event.check.as_ref().is_none_or(|check| {
        let mut patterns = filter.checks.iter();
        filter.checks.is_empty()
            || patterns.any(|pattern| Pattern::of(pattern).matches(&check.name))
    })
}

fn has_state(filter: &TriggerFilter, event: &Event<'_>) -> bool {
    let usual = [ReviewState::ChangesRequested];
    let states = match &*filter.review_states {
        [] => &usual[..],
        states => states,
    };
    let review = event.review.as_ref();
    review.is_none_or(|review| states.contains(&review.state))
}

fn holds(condition: &BodyMatch, event: &Event<'_>) -> bool {
    let value = event.body.pointer(&condition.pointer);
    let text = value.map(plain);
    let equals = condition.equals.as_ref();
    let contains = condition.contains.as_ref();
    equals.is_none_or(|equals| text.as_ref() == Some(equals))
        && contains.is_none_or(|part| text.as_ref().is_some_and(|text| text.contains(part)))
        && condition
            .exists
            .is_none_or(|exists| value.is_some() == exists)
}
