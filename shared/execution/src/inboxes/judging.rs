//! The judgement of a delivery by the triggers of its inbox.

use awo_cloud::{Cloud, SetupError};
use awo_domain::forge::GitHostName;
use awo_domain::inbox::delivery::{InboxDelivery, TriggerResult, TriggerResultKind};
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::{Error, OrgId, Timestamp, TriggerId};
use awo_forges::delivered_state;
use awo_store::Store;
use awo_triggers::{Event, Sender, event};
use serde_json::Value;
use url::Url;

use super::bodies_of::BodyReader;
use super::scene::EventScene;
use super::triggers::TriggerJudge;
use crate::outcomes::apply_reported;

/// A delivery with its body.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedDelivery<'a> {
    /// The owner.
    pub org: &'a OrgId,
    /// The delivery, with the results of an earlier judgement.
    pub delivery: &'a InboxDelivery,
    /// The body: JSON.
    pub body: &'a [u8],
    /// The present time.
    pub now: Timestamp,
}

/// The judgement of a delivery.
#[derive(Debug, Default)]
pub struct Judgement {
    /// The event, if the body names it better than a header.
    pub event: Option<String>,
    /// The issue, pull request or branch that it is about.
    pub subject: Option<String>,
    /// The account that caused it.
    pub actor: Option<String>,
    /// The result of each trigger.
    pub results: Vec<TriggerResult>,
    /// The time of the next judgement, if something is not known yet.
    pub again_at: Option<Timestamp>,
}

/// The result of one trigger, and when it is to judge again.
#[derive(Debug)]
pub(super) struct TriggerOutcome {
    pub result: TriggerResult,
    pub again_at: Option<Timestamp>,
}

/// Judges deliveries.
#[derive(Debug)]
pub struct Judge {
    store: Store,
    bodies: BodyReader,
    triggers: TriggerJudge,
}

impl Judge {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing or not valid.
    pub fn new(cloud: &Cloud) -> Result<Judge, SetupError> {
        Ok(Judge {
            store: cloud.store()?,
            bodies: BodyReader::new(cloud)?,
            triggers: TriggerJudge::new(cloud)?,
        })
    }

    /// Judges a delivery. A trigger that has made a work order of it before makes no other.
    ///
    /// # Errors
    /// Internal, when something cannot be read or written.
    pub async fn judge(&self, received: &ReceivedDelivery<'_>) -> Result<Judgement, Error> {
        let delivery = received.delivery;
        let triggers = self
            .store
            .triggers_of_inbox(received.org, &delivery.inbox_id)
            .await?;
        let Ok(body) = serde_json::from_slice::<Value>(received.body) else {
            return Ok(Judgement::default());
        };
        self.note_pull_request(received, &body).await?;
        let Some(event) = event_of(delivery, &body) else {
            let results = triggers.iter().map(|read| TriggerResult {
                trigger_id: read.trigger.id.clone(),
                result: TriggerResultKind::Ignored,
                reason: Some("event".to_owned()),
                work_order_id: None,
            });
            return Ok(Judgement {
                results: results.collect(),
                ..Judgement::default()
            });
        };
        let mut judgement = Judgement {
            event: event.names.first().map(|name| name.as_str().to_owned()),
            subject: event.subject_name(),
            actor: event.actor.as_ref().map(|actor| actor.login.clone()),
            ..Judgement::default()
        };
        let scene = EventScene::new(received.org, &delivery.id, event, received);
        for read in triggers {
            let outcome = self.triggers.judge(&scene, read, &self.bodies).await?;
            judgement.results.push(outcome.result);
            let times = [judgement.again_at, outcome.again_at];
            judgement.again_at = times.into_iter().flatten().min();
        }
        Ok(judgement)
    }
}

impl Judge {
    /// Applies the state of a pull request that the delivery shows, of the host whose inbox this is.
    async fn note_pull_request(
        &self,
        received: &ReceivedDelivery<'_>,
        body: &Value,
    ) -> Result<(), Error> {
        let delivery = received.delivery;
        let (Some(kind), Some(host)) = (delivery.kind.forge(), &delivery.host) else {
            return Ok(());
        };
        let Some((url, state)) = delivered_state(kind, body) else {
            return Ok(());
        };
        if !is_on(&url, host) {
            return Ok(());
        }
        apply_reported(&self.store, received.org, &url, &state, received.now).await
    }
}

/// True for a pull request of a host.
fn is_on(url: &PullRequestUrl, host: &GitHostName) -> bool {
    let page = Url::parse(url.as_str()).ok();
    let named = page.and_then(|page| {
        let domain = page.host_str()?.to_owned();
        Some(
            page.port()
                .map_or(domain.clone(), |port| format!("{domain}:{port}")),
        )
    });
    named.as_deref() == Some(host.as_str())
}

/// The event of a delivery.
pub(super) fn event_of<'a>(delivery: &InboxDelivery, body: &'a Value) -> Option<Event<'a>> {
    let sender = Sender {
        forge: delivery.kind.forge(),
        host: delivery.host.as_ref(),
    };
    event(sender, &delivery.headers, body)
}

/// The result of a trigger that made none of a delivery.
pub(super) fn without_order(
    trigger: &TriggerId,
    result: TriggerResultKind,
    reason: Option<&str>,
) -> TriggerResult {
    TriggerResult {
        trigger_id: trigger.clone(),
        result,
        reason: reason.map(str::to_owned),
        work_order_id: None,
    }
}
