//! The body of a trigger, and that of an evaluation. Its work order is the body of a create with places for values of
//! the event, which is read as one when it is used.

use awo_domain::InboxId;
use awo_domain::trigger::{
    BodyMatch, MAX_ENTRIES, MAX_NAME, MAX_PER_HOUR, MAX_PER_SUBJECT, MAX_REPOSITORIES,
    MAX_SETTLE_S, MAX_TEXT, OnForeign, ReviewState, TriggerAction, TriggerActors, TriggerEvent,
    TriggerFilter, TriggerPermission,
};
use serde_json::{Value as Json, json};

use crate::body::Value;
use crate::field::{Field, flag, list, one_of, parsed, small, text, typed};
use crate::record::{Component, Members, Record};
use crate::schema::{Schemas, input};

/// Most conditions on the body of a delivery.
const MAX_MATCHES: usize = 20;
/// Longest name of an event of a forge, in characters.
const MAX_EVENT: usize = 100;

/// The body of a create or a change.
#[derive(Debug)]
pub struct TriggerBody;

/// A trigger, as it was read; what is absent has a fault, or its default depends on the rest.
#[derive(Debug)]
pub struct TriggerFields {
    /// The name.
    pub name: Option<String>,
    /// The inbox.
    pub inbox_id: Option<InboxId>,
    /// The events.
    pub events: Option<Vec<TriggerEvent>>,
    /// Patterns of repositories.
    pub repositories: Option<Vec<String>>,
    /// Conditions on an event.
    pub filter: TriggerFilter,
    /// Actors whose events count.
    pub who: TriggerActors,
    /// The action.
    pub action: Option<TriggerAction>,
    /// The treatment of a pull request that no thread owns.
    pub on_foreign: Option<OnForeign>,
    /// The body of a create of a work order.
    pub work_order: Option<Json>,
    /// Time for which deliveries are gathered, in seconds.
    pub settle_seconds: Option<u32>,
    /// Most work orders for one subject.
    pub per_subject: Option<u32>,
    /// Most work orders in an hour.
    pub per_hour: Option<u32>,
    /// False if it does nothing.
    pub enabled: bool,
}

impl Record for TriggerBody {
    type Output = TriggerFields;

    fn members<M: Members>(&self, members: &mut M) -> Option<TriggerFields> {
        Some(TriggerFields::of(members))
    }
}

impl TriggerFields {
    /// Reads or declares the members of a trigger.
    pub fn of<M: Members>(members: &mut M) -> TriggerFields {
        let inbox = typed::<InboxId, _, _>(|text| {
            InboxId::parse(text).map_err(|_| "must be the id of an inbox".to_owned())
        });
        let event = typed::<TriggerEvent, _, _>(|name| {
            one_of(name, TriggerEvent::ALL, TriggerEvent::as_str)
        });
        let action = typed::<TriggerAction, _, _>(|name| {
            one_of(name, TriggerAction::ALL, TriggerAction::as_str)
        });
        let on_foreign =
            typed::<OnForeign, _, _>(|name| one_of(name, OnForeign::ALL, OnForeign::as_str));
        let limits = members.optional("limits", Limits.described("Bounds of its work orders."));
        let (per_subject, per_hour) = limits.unwrap_or_default();
        TriggerFields {
            name: members.required("name", text(1..=MAX_NAME).described("For people.")),
            inbox_id: members.required(
                "inboxId",
                inbox.described("The inbox whose deliveries it judges."),
            ),
            events: members.required(
                "events",
                list(event, 1..=TriggerEvent::ALL.len()).described("Its events."),
            ),
            repositories: members.optional(
                "repositories",
                list(pattern(), 1..=MAX_REPOSITORIES).described(
                    "Patterns of `host/owner/name`, with `*` and `**`. Required unless no forge sends to the inbox.",
                ),
            ),
            filter: members
                .optional("filter", Filter.described("Conditions, all of which must hold."))
                .unwrap_or_default(),
            who: members
                .optional("who", Who.described("Actors whose events count."))
                .unwrap_or_else(everybody_who_may_write),
            action: members.required("action", action.described("What it does.")),
            on_foreign: members.optional(
                "onForeign",
                on_foreign.described(
                    "For `follow_up`: `adopt` creates a work order for a pull request that no thread owns, whose \
                     result is pushed onto its branch; by default it is ignored.",
                ),
            ),
            work_order: members.required("workOrder", TriggeredOrder),
            settle_seconds: members.optional(
                "settleSeconds",
                small(0..=u64::from(MAX_SETTLE_S)).described(
                    "Seconds for which deliveries about one subject are gathered: by default 60 for comments, \
                     reviews and checks, else 0.",
                ),
            ),
            per_subject,
            per_hour,
            enabled: members.defaulted("enabled", flag().described("False if it does nothing."), true),
        }
    }
}

fn everybody_who_may_write() -> TriggerActors {
    TriggerActors {
        permission: TriggerPermission::Write,
        users: Vec::new(),
        exclude_users: Vec::new(),
        bots: Vec::new(),
    }
}

fn pattern() -> impl Field<Output = String> {
    text(1..=MAX_TEXT)
}

fn texts() -> impl Field<Output = Vec<String>> {
    list(text(1..=MAX_TEXT), 0..=MAX_ENTRIES)
}

struct Limits;

impl Record for Limits {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TriggerLimitsInput",
        description: "Bounds of a trigger's work orders.",
    });
    type Output = (Option<u32>, Option<u32>);

    fn members<M: Members>(&self, members: &mut M) -> Option<(Option<u32>, Option<u32>)> {
        let per_subject = small(1..=u64::from(MAX_PER_SUBJECT)).described(
            "Work orders for one issue or pull request since a person last pushed, commented or labelled: by default 3 \
             for `check.failed`, else 20.",
        );
        let per_hour =
            small(1..=u64::from(MAX_PER_HOUR)).described("Work orders in an hour: by default 20.");
        Some((
            members.optional("perSubject", per_subject),
            members.optional("perHour", per_hour),
        ))
    }
}

struct Who;

impl Record for Who {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TriggerWhoInput",
        description: "Actors whose events count.",
    });
    type Output = TriggerActors;

    fn members<M: Members>(&self, members: &mut M) -> Option<TriggerActors> {
        let permission = typed::<TriggerPermission, _, _>(|name| {
            one_of(name, TriggerPermission::ALL, TriggerPermission::as_str)
        });
        let permission = permission.described(
            "The least permission on the repository, which the forge is asked for. `anyone` needs the action `verify`.",
        );
        Some(TriggerActors {
            permission: members.defaulted("permission", permission, TriggerPermission::Write),
            users: members
                .optional("users", texts().described("Logins of the only users."))
                .unwrap_or_default(),
            exclude_users: members
                .optional(
                    "excludeUsers",
                    texts().described("Logins of users who are refused."),
                )
                .unwrap_or_default(),
            bots: members
                .optional(
                    "bots",
                    texts().described("Logins of bots that count as users."),
                )
                .unwrap_or_default(),
        })
    }
}

struct Filter;

impl Record for Filter {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TriggerFilterInput",
        description: "Conditions on an event, all of which must hold.",
    });
    type Output = TriggerFilter;

    fn members<M: Members>(&self, members: &mut M) -> Option<TriggerFilter> {
        let state =
            typed::<ReviewState, _, _>(|name| one_of(name, ReviewState::ALL, ReviewState::as_str));
        let word = || parsed(text(1..=MAX_TEXT), word);
        Some(TriggerFilter {
            labels: members
                .optional(
                    "labels",
                    texts().described("Labels that the issue or pull request has; of an added label, it is one of them."),
                )
                .unwrap_or_default(),
            exclude_labels: members
                .optional("excludeLabels", texts().described("Labels that it does not have."))
                .unwrap_or_default(),
            mention: members.optional(
                "mention",
                word().described("A name that the text mentions with `@`, outside code and quotes, in any case."),
            ),
            command: members.optional(
                "command",
                word().described("A word with which a line of the text begins, after `/`."),
            ),
            branches: members
                .optional(
                    "branches",
                    texts().described("Patterns of the pushed branch, or of the target of a pull request."),
                )
                .unwrap_or_default(),
            checks: members
                .optional("checks", texts().described("Patterns of the names of checks: by default all but our own."))
                .unwrap_or_default(),
            review_states: members
                .optional(
                    "reviewStates",
                    list(state, 0..=ReviewState::ALL.len())
                        .described("States of a review: by default `changes_requested`."),
                )
                .unwrap_or_default(),
            draft: members.optional("draft", flag().described("Whether the pull request is a draft.")),
            body: members
                .optional(
                    "match",
                    list(MatchBody, 0..=MAX_MATCHES).described("For `received`: conditions on the body."),
                )
                .unwrap_or_default(),
        })
    }
}

/// A name without the sign before it.
fn word(text: &str) -> Result<String, String> {
    let word = text.trim_start_matches(['@', '/']);
    let fits = |c: char| c.is_alphanumeric() || "-_.[]".contains(c);
    if !word.is_empty() && word.chars().all(fits) {
        Ok(word.to_owned())
    } else {
        Err("must be one word of letters, digits, - _ . [ and ]".to_owned())
    }
}

struct MatchBody;

impl Record for MatchBody {
    const COMPONENT: Option<Component> = Some(Component {
        name: "TriggerMatchInput",
        description: "A condition on a value of a body: `equals`, `contains` or `exists`.",
    });
    type Output = BodyMatch;

    fn members<M: Members>(&self, members: &mut M) -> Option<BodyMatch> {
        let pointer = parsed(text(1..=MAX_TEXT), |pointer| match pointer {
            pointer if pointer.starts_with('/') => Ok(pointer.to_owned()),
            _ => Err("must be a JSON pointer, such as /action".to_owned()),
        });
        let pointer = members.required(
            "pointer",
            pointer.described("The JSON pointer of the value."),
        );
        let condition = BodyMatch {
            pointer: pointer?,
            equals: members.optional(
                "equals",
                text(0..=MAX_TEXT).described("The value has this text."),
            ),
            contains: members.optional(
                "contains",
                text(1..=MAX_TEXT).described("The value contains this text."),
            ),
            exists: members.optional("exists", flag().described("Whether there is such a value.")),
        };
        let is_empty = condition.equals.is_none()
            && condition.contains.is_none()
            && condition.exists.is_none();
        if is_empty {
            members.fault("pointer", "needs equals, contains or exists beside it");
            return None;
        }
        Some(condition)
    }
}

/// The body of a create with places for values of the event, as JSON.
struct TriggeredOrder;

impl Field for TriggeredOrder {
    type Output = Json;

    fn read(&self, value: Value) -> Option<Json> {
        value.json(|json| match json {
            Json::Object(_) => Ok(json),
            _ => Err("must be an object: the body of a create of a work order".to_owned()),
        })
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        input(
            "TriggeredWorkOrderInput",
            "The body of a create of a work order, or of a follow-up. Of a forge's inbox it has no `workspaceSource`, \
             which is the repository of the event. `taskPrompt` and values of `metadata` may have places for values of \
             the event, such as `{{issue.title}}`.",
            json!({ "type": "object", "additionalProperties": true }),
        )
    }
}

/// The body of an evaluation.
#[derive(Debug)]
pub struct Evaluation;

/// A delivery that is to be evaluated.
#[derive(Debug)]
pub struct EvaluationFields {
    /// The event as the header of the forge names it.
    pub event: Option<String>,
    /// The body of the delivery.
    pub payload: Json,
}

impl Record for Evaluation {
    type Output = EvaluationFields;

    fn members<M: Members>(&self, members: &mut M) -> Option<EvaluationFields> {
        let event = text(1..=MAX_EVENT).described(
            "The event as the header of the forge names it, such as `issues`; not needed of GitLab and of senders \
             that are no forge.",
        );
        let event = members.optional("event", event);
        let payload = members.required("payload", Payload);
        Some(EvaluationFields {
            event,
            payload: payload?,
        })
    }
}

/// The body of a delivery.
struct Payload;

impl Field for Payload {
    type Output = Json;

    fn read(&self, value: Value) -> Option<Json> {
        value.json(Ok)
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "description": "The body of a delivery." })
    }
}
