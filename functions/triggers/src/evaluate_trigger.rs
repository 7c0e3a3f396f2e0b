//! `POST /v1/triggers/{id}/evaluate`: what a trigger would do with a delivery. Nothing is written, and the forge is
//! not asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::triggers::input::{Evaluation, EvaluationFields};
use awo_contract::triggers::output::{AskedPermission, EvaluationShape};
use awo_domain::inbox::delivery::TriggerResultKind;
use awo_domain::inbox::{InboxContent, InboxKind};
use awo_domain::trigger::{Trigger, TriggerAction};
use awo_domain::{Error, Resource, TriggerId};
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;
use awo_triggers::{Event, RequestKind, Sender, Verdict, event, judge, request_of};
use serde_json::Value;

/// The function `evaluate-trigger`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::EVALUATE_TRIGGER, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let id: TriggerId = call.path_id()?;
    call.query().finish()?;
    let read = store.trigger(call.org(), &id).await?;
    let read = read.ok_or(Error::NotFound(Resource::Trigger))?;
    let fields = call.object()?.read(&Evaluation)?;
    let inbox = store.inbox(call.org(), &read.trigger.content.inbox_id);
    let Some(inbox) = inbox.await? else {
        return Answer::ok(ignored("inbox_gone"));
    };
    Answer::ok(evaluation(&read.trigger, &inbox.inbox.content, &fields))
}

fn ignored(reason: &str) -> EvaluationShape {
    EvaluationShape {
        result: TriggerResultKind::Ignored,
        reason: Some(reason.to_owned()),
        permission: AskedPermission::NotAsked,
        events: Vec::new(),
        subject: None,
        actor: None,
        work_order: None,
    }
}

fn evaluation(
    trigger: &Trigger,
    inbox: &InboxContent,
    fields: &EvaluationFields,
) -> EvaluationShape {
    let sender = Sender {
        forge: inbox.kind.forge(),
        host: inbox.host.as_ref(),
    };
    let headers = headers(inbox.kind, fields.event.as_deref());
    let Some(event) = event(sender, &headers, &fields.payload) else {
        return ignored("event");
    };
    let (result, reason) = match judge(&trigger.content, &event) {
        _ if !trigger.is_active() => (TriggerResultKind::Ignored, Some("inactive".to_owned())),
        Verdict::Ignored(reason) => (TriggerResultKind::Ignored, Some(reason.to_owned())),
        Verdict::Refused(reason) => (TriggerResultKind::Refused, Some(reason.to_owned())),
        Verdict::Acts => acts(trigger),
    };
    let is_made = matches!(
        result,
        TriggerResultKind::Created | TriggerResultKind::FollowedUp | TriggerResultKind::Joined
    );
    EvaluationShape {
        result,
        reason,
        permission: AskedPermission::NotAsked,
        events: event.names.clone(),
        subject: event.subject_name(),
        actor: event.actor.as_ref().map(|actor| actor.login.clone()),
        work_order: order(trigger, &event).filter(|_| is_made),
    }
}

fn acts(trigger: &Trigger) -> (TriggerResultKind, Option<String>) {
    let result = match trigger.content.action {
        _ if trigger.content.settle_seconds > 0 => TriggerResultKind::Joined,
        TriggerAction::FollowUp => TriggerResultKind::FollowedUp,
        TriggerAction::Create | TriggerAction::Verify => TriggerResultKind::Created,
    };
    (result, None)
}

/// The body of the request that the trigger would make.
fn order(trigger: &Trigger, event: &Event<'_>) -> Option<Value> {
    let kind = match trigger.content.action {
        TriggerAction::FollowUp => RequestKind::FollowUp,
        TriggerAction::Create | TriggerAction::Verify => RequestKind::Create,
    };
    let body = request_of(&trigger.content, kind, event, &[]).ok()?;
    Some(Value::Object(body))
}

/// The header by which a forge names an event.
fn headers(kind: InboxKind, event: Option<&str>) -> BTreeMap<String, String> {
    let name = match kind {
        InboxKind::Github => "x-github-event",
        InboxKind::Gitea => "x-gitea-event",
        InboxKind::Gitlab => "x-gitlab-event",
        InboxKind::Standard | InboxKind::Hmac => return BTreeMap::new(),
    };
    event
        .map(|event| (name.to_owned(), event.to_owned()))
        .into_iter()
        .collect()
}
