//! The body of a trigger, with every fault: its own, those of its inbox, and those of its work order.

use awo_contract::body::{FaultList, Object};
use awo_contract::triggers::input::TriggerFields;
use awo_domain::forge::ForgeKind;
use awo_domain::inbox::InboxContent;
use awo_domain::trigger::{
    OnForeign, TriggerAction, TriggerContent, TriggerEvent, TriggerLimits, TriggerPermission,
    USUAL_PER_FAILING_SUBJECT, USUAL_PER_HOUR, USUAL_PER_SUBJECT, USUAL_SETTLE_S,
};
use awo_domain::{Error, OrgId};
use awo_execution::opening::Opener;
use awo_execution::request::FollowUpRequest;
use awo_store::Store;
use awo_triggers::{Pattern, RequestKind, place_faults, sample};
use serde_json::Value;

/// Most bytes of a work order's body: a page of a hundred triggers is one answer.
const MAX_ORDER_BYTES: usize = 48 * 1_024;
/// The prompt that stands for one whose places are filled in later.
const PROMPT: &str = "a prompt";
/// Members of a work order's body that the trigger sets itself.
const FIXED: [(&str, &str); 3] = [
    (
        "parentId",
        "is not allowed in a trigger: its work orders have no parent",
    ),
    ("workspaceSource", "is the repository of the event: omit it"),
    (
        "resultBranch",
        "is the branch of the event, of a trigger that adopts: omit it",
    ),
];
/// Members that a trigger sets which verifies.
const FIXED_OF_VERIFICATIONS: [&str; 3] = ["agent", "verifyBase", "taskPrompt"];

/// A body, as it was read.
pub(crate) struct TriggerRequest {
    fields: TriggerFields,
    faults: FaultList,
}

impl TriggerRequest {
    /// Reads a body. Faults are reported by [`TriggerRequest::content`].
    pub fn read(mut body: Object) -> TriggerRequest {
        let fields = TriggerFields::of(&mut body);
        TriggerRequest {
            fields,
            faults: body.close(),
        }
    }

    /// The content, if its work order could be created now, but for credits and a free place.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault; internal, when what it names cannot be read.
    pub async fn content(
        mut self,
        store: &Store,
        opener: &Opener,
        org: &OrgId,
    ) -> Result<TriggerContent, Error> {
        let inbox = match &self.fields.inbox_id {
            Some(id) => store.inbox(org, id).await?.map(|read| read.inbox.content),
            None => None,
        };
        if self.fields.inbox_id.is_some() && inbox.is_none() {
            let why = "is not the id of an inbox: GET /v1/inboxes lists those there are";
            self.faults.add("/inboxId", why);
        }
        if let Some(inbox) = &inbox {
            check_events(&self.fields, inbox, &mut self.faults);
            check_order(&self.fields, inbox, (opener, org), &mut self.faults).await?;
        }
        check_actors(&self.fields, &mut self.faults);
        self.faults.finish(content(self.fields))
    }
}

fn content(fields: TriggerFields) -> Option<TriggerContent> {
    let (events, action) = (fields.events?, fields.action?);
    let is_failure = events.contains(&TriggerEvent::CheckFailed);
    let gathers = events.iter().any(|event| event.comes_in_bursts());
    let usual_settling = if gathers { USUAL_SETTLE_S } else { 0 };
    let usual_attempts = if is_failure {
        USUAL_PER_FAILING_SUBJECT
    } else {
        USUAL_PER_SUBJECT
    };
    Some(TriggerContent {
        name: fields.name?,
        inbox_id: fields.inbox_id?,
        events,
        repositories: fields.repositories.unwrap_or_default(),
        filter: fields.filter,
        who: fields.who,
        action,
        on_foreign: fields.on_foreign.unwrap_or_default(),
        work_order: fields.work_order?.to_string(),
        settle_seconds: fields.settle_seconds.unwrap_or(usual_settling),
        limits: TriggerLimits {
            per_subject: fields.per_subject.unwrap_or(usual_attempts),
            per_hour: fields.per_hour.unwrap_or(USUAL_PER_HOUR),
        },
        enabled: fields.enabled,
    })
}

fn check_actors(fields: &TriggerFields, faults: &mut FaultList) {
    let is_verification = fields.action == Some(TriggerAction::Verify);
    if fields.who.permission == TriggerPermission::Anyone && !is_verification {
        let why = "anyone needs the action verify";
        faults.add("/who/permission", why);
    }
    if fields.on_foreign.is_some() && fields.action != Some(TriggerAction::FollowUp) {
        faults.add("/onForeign", "is allowed for the action follow_up only");
    }
}

fn check_events(fields: &TriggerFields, inbox: &InboxContent, faults: &mut FaultList) {
    let forge = inbox.kind.forge();
    for (index, event) in fields.events.iter().flatten().enumerate() {
        if !event.is_sent_by(forge) {
            let kind = inbox.kind.as_str();
            let why = format!("is not sent to an inbox of the kind {kind}");
            faults.add(&format!("/events/{index}"), why);
        }
    }
    match (forge, &fields.repositories) {
        (Some(_), None) => {
            faults.add(
                "/repositories",
                "is required: patterns such as github.com/acme/*",
            );
        }
        (None, Some(_)) => {
            faults.add(
                "/repositories",
                "is not allowed: no forge sends to the inbox",
            );
        }
        _ => {}
    }
    for (index, pattern) in fields.repositories.iter().flatten().enumerate() {
        if let Err(why) = Pattern::of_repository(pattern) {
            faults.add(&format!("/repositories/{index}"), why.to_string());
        }
    }
    if forge.is_some() && !fields.filter.body.is_empty() {
        faults.add("/filter/match", "is allowed for the event received only");
    }
    let acts_on_branches = matches!(
        fields.action,
        Some(TriggerAction::Verify | TriggerAction::FollowUp)
    );
    if forge.is_none() && acts_on_branches {
        faults.add("/action", "must be create: no forge sends to the inbox");
    }
}

/// Checks the body of the work order as it would be for some event.
async fn check_order(
    fields: &TriggerFields,
    inbox: &InboxContent,
    (opener, org): (&Opener, &OrgId),
    faults: &mut FaultList,
) -> Result<(), Error> {
    let (Some(order), Some(action)) = (&fields.work_order, fields.action) else {
        return Ok(());
    };
    if order.to_string().len() > MAX_ORDER_BYTES {
        let why = format!("must have at most {MAX_ORDER_BYTES} bytes as JSON");
        faults.add("/workOrder", why);
    }
    for (path, fault) in place_faults(order) {
        faults.add(&format!("/workOrder{path}"), fault.to_string());
    }
    let mut plain = order.clone();
    without_fixed(&mut plain, action, inbox.kind.forge(), faults);
    if action != TriggerAction::Verify
        && order["taskPrompt"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    {
        plain["taskPrompt"] = Value::from(PROMPT);
    }
    let repository = inbox
        .host
        .as_ref()
        .map(|host| format!("https://{}/owner/name", host.as_str()));
    let kinds: &[RequestKind] = match (action, fields.on_foreign.unwrap_or_default()) {
        (TriggerAction::FollowUp, OnForeign::Ignore) => &[RequestKind::FollowUp],
        (TriggerAction::FollowUp, OnForeign::Adopt) => &[RequestKind::FollowUp, RequestKind::Adopt],
        _ => &[RequestKind::Create],
    };
    for kind in kinds {
        let body = sample(&plain, action, *kind, repository.as_deref());
        let body = Object::parse(body.to_string().as_bytes())?;
        let checked = match kind {
            RequestKind::FollowUp => FollowUpRequest::read(body).check(),
            RequestKind::Create | RequestKind::Adopt => opener.check(org, opener.read(body)).await,
        };
        match checked {
            Err(Error::Invalid(found)) => {
                for fault in found {
                    faults.add(&format!("/workOrder{}", fault.path), fault.message);
                }
                break;
            }
            checked => checked?,
        }
    }
    Ok(())
}

/// Removes the members that the trigger sets itself, each with a fault.
fn without_fixed(
    order: &mut Value,
    action: TriggerAction,
    forge: Option<ForgeKind>,
    faults: &mut FaultList,
) {
    let Some(members) = order.as_object_mut() else {
        return;
    };
    for (name, why) in FIXED {
        let is_fixed = forge.is_some() || name == "parentId";
        if is_fixed && members.remove(name).is_some() {
            faults.add(&format!("/workOrder/{name}"), why);
        }
    }
    let names: &[&str] = match action {
        TriggerAction::Verify => &FIXED_OF_VERIFICATIONS,
        TriggerAction::Create | TriggerAction::FollowUp => &[],
    };
    for name in names {
        if members.remove(*name).is_some() {
            let why = "is not allowed of a trigger that verifies";
            faults.add(&format!("/workOrder/{name}"), why);
        }
    }
}
