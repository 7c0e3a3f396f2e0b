//! The work order of a trigger and an event: one transaction with the trigger's and the subject's new state.

use awo_cloud::{Cloud, SetupError};
use awo_contract::body::Object;
use awo_domain::inbox::delivery::InboxDelivery;
use awo_domain::run_report::ReportKind;
use awo_domain::schedule::{Origin, OriginKind};
use awo_domain::trigger::subject::SubjectState;
use awo_domain::trigger::{Trigger, TriggerAction, TriggerPauseReason};
use awo_domain::{Error, InboxDeliveryId, OrgId, RunId, WorkOrderId};
use awo_store::Store;
use awo_store::triggers::subjects::CurrentSubject;
use awo_store::triggers::{CurrentTrigger, TriggerCreation, TriggerStep};
use awo_triggers::{Event, RequestKind, request_of};
use serde_json::Value;

use super::bodies_of::BodyReader;
use super::judging::event_of;
use super::scene::EventScene;
use crate::opening::{OpenOutcome, OpenRequest, Opener, RequestBody, Requester};
use crate::request::FollowUpRequest;

/// The reason of a refusal for the attempts on one subject.
const PER_SUBJECT: &str = "limit:perSubject";

/// A work order that a trigger is about to create.
pub(super) struct PlannedOrder<'a> {
    /// The trigger as it was read.
    pub read: CurrentTrigger,
    /// The event.
    pub event: Event<'a>,
    /// Deliveries that were gathered with it.
    pub gathered: Vec<InboxDeliveryId>,
    /// The subject as it was read, with its state.
    pub subject: Option<(CurrentSubject, SubjectState)>,
    /// The thread that goes on, of a follow-up.
    pub thread: Option<WorkOrderId>,
}

/// The outcome of a creation.
#[derive(Debug)]
pub(super) enum CreationOutcome {
    /// The work order exists.
    Created(WorkOrderId),
    /// The work order was refused, for this reason.
    Refused(String),
    /// The trigger or the subject has changed meanwhile.
    Contended,
}

/// Creates work orders of triggers.
#[derive(Debug)]
pub(super) struct TriggerOpener {
    store: Store,
    opener: Opener,
}

impl TriggerOpener {
    pub fn new(cloud: &Cloud) -> Result<TriggerOpener, SetupError> {
        Ok(TriggerOpener {
            store: cloud.store()?,
            opener: Opener::new(cloud)?,
        })
    }

    /// Creates the work order, unless a limit, the organization or the create refuses it.
    pub async fn open(
        &self,
        scene: &EventScene<'_>,
        planned: PlannedOrder<'_>,
        bodies: &BodyReader,
    ) -> Result<CreationOutcome, Error> {
        let (org, now) = (scene.org, scene.now());
        let trigger = &planned.read.trigger;
        if let Some(limit) = limit(&planned, scene) {
            self.end_attempts(scene, &planned, limit).await?;
            return Ok(CreationOutcome::Refused(limit.to_owned()));
        }
        if self.store.tally(org).await?.suspended_at.is_some() {
            return self
                .refused(scene, &planned, trigger.clone().refused(), "suspended")
                .await;
        }
        let key = self.store.key(&trigger.created_by).await?;
        if key.is_none_or(|key| key.revoked_at.is_some()) {
            let reason = TriggerPauseReason::KeyRevoked;
            let paused = trigger.clone().paused_for(reason);
            return self.refused(scene, &planned, paused, reason.as_str()).await;
        }
        let gathered = bodies
            .read(org, &trigger.content.inbox_id, &planned.gathered)
            .await?;
        let Some(body) = self.body(&planned, &gathered)? else {
            return self
                .refused(scene, &planned, trigger.clone().refused(), "invalid")
                .await;
        };
        let step = TriggerStep {
            org: org.clone(),
            read: planned.read.clone(),
            new: trigger.clone().fired(now),
            creation: Some(TriggerCreation {
                delivery: scene.delivery.clone(),
                origin: origin(&planned, scene),
                subject: planned.subject.clone(),
            }),
            now,
        };
        let request = OpenRequest {
            org,
            requester: Requester::Trigger(&step),
            body,
            now,
        };
        let opened = self
            .opener
            .open_work_order(request, |new| Ok((new.id.clone(), None)));
        match opened.await {
            Ok(OpenOutcome::Done { answer, .. }) => {
                let (trigger, delivery) = (&step.new.id, scene.delivery);
                tracing::info!(event = "trigger_fired", %org, %trigger, %delivery, order = %answer, "a trigger created a work order");
                Ok(CreationOutcome::Created(answer))
            }
            Ok(OpenOutcome::Refused(error)) | Err(error) => {
                let Some(reason) = refusal(&error) else {
                    return match error {
                        Error::Conflict(_) => Ok(CreationOutcome::Contended),
                        error => Err(error),
                    };
                };
                let refused = planned.read.trigger.clone().refused();
                self.refused(scene, &planned, refused, &reason).await
            }
        }
    }

    /// Writes the trigger after a refusal.
    async fn refused(
        &self,
        scene: &EventScene<'_>,
        planned: &PlannedOrder<'_>,
        new: Trigger,
        reason: &str,
    ) -> Result<CreationOutcome, Error> {
        let step = TriggerStep {
            org: scene.org.clone(),
            read: planned.read.clone(),
            new,
            creation: None,
            now: scene.now(),
        };
        if !self.store.step_trigger(&step).await? {
            return Ok(CreationOutcome::Contended);
        }
        self.close_window(scene, planned).await?;
        Ok(CreationOutcome::Refused(reason.to_owned()))
    }

    /// Ends the window of a subject at a limit. The first time at its own limit the comment of its thread says so,
    /// where there is one. If that is lost, the next delivery finds the limit again.
    async fn end_attempts(
        &self,
        scene: &EventScene<'_>,
        planned: &PlannedOrder<'_>,
        limit: &str,
    ) -> Result<(), Error> {
        let subject = planned.subject.as_ref();
        let unshown = subject.filter(|(_, state)| limit == PER_SUBJECT && !state.limit_shown);
        let Some((read, state)) = unshown else {
            return self.close_window(scene, planned).await;
        };
        let shown = SubjectState {
            window: None,
            limit_shown: true,
            ..state.clone()
        };
        let run = match planned.thread.as_ref().or(state.thread_id.as_ref()) {
            Some(thread) => self.commenting_run(scene.org, thread).await?,
            None => None,
        };
        let attempts = planned.read.trigger.content.limits.per_subject;
        let comment = run.as_ref().map(|run| (run, attempts));
        let ended = self
            .store
            .end_attempts(scene.org, (read, &shown), comment, scene.now());
        ended.await.map(drop)
    }

    /// The newest run of a thread, if it writes a comment.
    async fn commenting_run(
        &self,
        org: &OrgId,
        thread: &WorkOrderId,
    ) -> Result<Option<RunId>, Error> {
        let turns = self.store.thread(org, thread).await?;
        let orders = self.store.turns(org, thread, &turns).await?;
        let Some(newest) = orders.last() else {
            return Ok(None);
        };
        let run = self.store.run(org, &newest.run_id).await?;
        let writes = run.filter(|run| run.report_kinds.contains(&ReportKind::Comment));
        Ok(writes.map(|run| run.run_id))
    }

    /// Ends the window of a subject of which no work order is created. If that is lost, the next delivery joins a
    /// window that has ended, and ends it.
    async fn close_window(
        &self,
        scene: &EventScene<'_>,
        planned: &PlannedOrder<'_>,
    ) -> Result<(), Error> {
        let Some((read, state)) = &planned.subject else {
            return Ok(());
        };
        if state.window.is_none() {
            return Ok(());
        }
        let closed = SubjectState {
            window: None,
            ..state.clone()
        };
        let replaced = self
            .store
            .replace_trigger_subject(scene.org, read, &closed, scene.now());
        replaced.await.map(drop)
    }

    /// The body of the request; none if it cannot be made of the event.
    fn body(
        &self,
        planned: &PlannedOrder<'_>,
        gathered: &[(InboxDelivery, Value)],
    ) -> Result<Option<RequestBody>, Error> {
        let gathered: Vec<Event<'_>> = gathered
            .iter()
            .filter_map(|(delivery, body)| event_of(delivery, body))
            .collect();
        let content = &planned.read.trigger.content;
        let kind = request_kind(planned);
        let Ok(body) = request_of(content, kind, &planned.event, &gathered) else {
            return Ok(None);
        };
        let body = Object::parse(Value::Object(body).to_string().as_bytes())?;
        Ok(Some(match &planned.thread {
            Some(turn) => RequestBody::FollowUp {
                turn: turn.clone(),
                body: FollowUpRequest::read(body),
            },
            None => RequestBody::Create(self.opener.read(body)),
        }))
    }
}

fn request_kind(planned: &PlannedOrder<'_>) -> RequestKind {
    match (planned.read.trigger.content.action, &planned.thread) {
        (TriggerAction::FollowUp, Some(_)) => RequestKind::FollowUp,
        (TriggerAction::FollowUp, None) => RequestKind::Adopt,
        (TriggerAction::Create | TriggerAction::Verify, _) => RequestKind::Create,
    }
}

/// The limit that the trigger has reached, if it has.
fn limit(planned: &PlannedOrder<'_>, scene: &EventScene<'_>) -> Option<&'static str> {
    let trigger = &planned.read.trigger;
    let subject = planned.subject.as_ref();
    if subject.is_some_and(|(_, state)| state.is_at_limit(&trigger.content)) {
        return Some(PER_SUBJECT);
    }
    let is_at_limit = trigger.is_at_hourly_limit(scene.now());
    is_at_limit.then_some("limit:perHour")
}

fn origin(planned: &PlannedOrder<'_>, scene: &EventScene<'_>) -> Origin {
    let event = &planned.event;
    let url = event.subject.as_ref().map(|subject| subject.url.clone());
    Origin {
        kind: OriginKind::Trigger,
        schedule_id: None,
        scheduled_for: None,
        trigger_id: Some(planned.read.trigger.id.clone()),
        delivery_id: Some(scene.delivery.clone()),
        actor: event.actor.as_ref().map(|actor| actor.login.clone()),
        subject: event.subject_name(),
        url: url.filter(|url| !url.is_empty()),
    }
}

/// The reason that a delivery shows for a create that was refused; none for a failure that passes.
fn refusal(error: &Error) -> Option<String> {
    Some(match error {
        Error::InsufficientCredits { .. } => "credits".to_owned(),
        Error::OverBudget { .. } => "budget".to_owned(),
        Error::QueueFull { .. } => "queue_full".to_owned(),
        Error::Invalid(_) => "invalid".to_owned(),
        Error::NotFound(_) => "thread_gone".to_owned(),
        Error::NoFollowUp(reason) => reason.as_str().to_owned(),
        _ => return None,
    })
}
