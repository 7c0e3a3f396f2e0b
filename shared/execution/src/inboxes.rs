//! Processing of deliveries to inboxes: the body is read, triggers judge it, and their results are logged. A crash
//! has the sweep process the delivery again, and of two processors one logs.

mod bodies_of;
pub mod judging;
mod opening;
mod scene;
mod triggers;

use awo_cloud::bodies::{Bodies, BodyKey};
use awo_cloud::{Cloud, SetupError};
use awo_domain::inbox::delivery::{InboxDelivery, MAX_ATTEMPTS, RETRY_MS};
use awo_domain::{Error, Timestamp};
use awo_store::Store;
use awo_store::inboxes::unprocessed::{UnprocessedDelivery, UnprocessedRef};

use judging::{Judge, Judgement, ReceivedDelivery};

const BODY_GONE: &str = "body_gone";
const ERROR: &str = "error";

/// Processes deliveries.
#[derive(Debug)]
pub struct DeliveryProcessor {
    store: Store,
    bodies: Bodies,
    judge: Judge,
}

impl DeliveryProcessor {
    /// Reads the deployment's settings.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn new(cloud: &Cloud) -> Result<DeliveryProcessor, SetupError> {
        Ok(DeliveryProcessor {
            store: cloud.store()?,
            bodies: cloud.bodies()?,
            judge: Judge::new(cloud)?,
        })
    }

    /// Processes a delivery, unless that was done meanwhile.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails; the next sweep tries again.
    pub async fn process(&self, ids: &UnprocessedRef, now: Timestamp) -> Result<(), Error> {
        let Some(waiting) = self.store.unprocessed_delivery(ids, now).await? else {
            return Ok(());
        };
        let (org, inbox) = (&ids.org_id, &ids.inbox_id);
        let (delivery, owner) = tokio::try_join!(
            self.store.inbox_delivery(org, inbox, &ids.delivery_id),
            self.store.inbox(org, inbox)
        )?;
        let Some(delivery) = delivery else {
            return self.settle(&waiting, None).await;
        };
        if owner.is_none() {
            return self
                .settle(&waiting, Some(delivery.judged(Vec::new())))
                .await;
        }
        match self.judgement(&waiting, &delivery, now).await {
            Ok(Some(judgement)) => self.log(&waiting, delivery, judgement).await,
            Ok(None) => {
                self.settle(&waiting, Some(delivery.failed(BODY_GONE)))
                    .await
            }
            Err(error) => self.try_again(&waiting, delivery, &error, now).await,
        }
    }

    /// None if the body is gone.
    async fn judgement(
        &self,
        waiting: &UnprocessedDelivery,
        delivery: &InboxDelivery,
        now: Timestamp,
    ) -> Result<Option<Judgement>, Error> {
        let org = &waiting.ids.org_id;
        let key = BodyKey {
            org,
            inbox: &delivery.inbox_id,
            sha256: &delivery.body_sha256,
        };
        let Some(body) = self.bodies.get(key).await? else {
            return Ok(None);
        };
        let received = ReceivedDelivery {
            org,
            delivery,
            body: &body,
            now,
        };
        self.judge.judge(&received).await.map(Some)
    }

    async fn log(
        &self,
        waiting: &UnprocessedDelivery,
        delivery: InboxDelivery,
        judgement: Judgement,
    ) -> Result<(), Error> {
        let judged = InboxDelivery {
            event: judgement.event.unwrap_or(delivery.event),
            subject: judgement.subject.or(delivery.subject),
            actor: judgement.actor.or(delivery.actor),
            ..delivery
        };
        match judgement.again_at {
            None => {
                self.settle(waiting, Some(judged.judged(judgement.results)))
                    .await
            }
            Some(until) => {
                let waits = InboxDelivery {
                    triggers: judgement.results,
                    ..judged
                };
                let attempts = waiting.attempts;
                let postponed =
                    (self.store).postpone_inbox_delivery(waiting, &waits, until, attempts);
                postponed.await.map(drop)
            }
        }
    }

    async fn settle(
        &self,
        waiting: &UnprocessedDelivery,
        settled: Option<InboxDelivery>,
    ) -> Result<(), Error> {
        let is_settled = self.store.settle_inbox_delivery(waiting, settled.as_ref());
        if is_settled.await?
            && let Some(delivery) = settled
        {
            let (org, inbox) = (&waiting.ids.org_id, &waiting.ids.inbox_id);
            let outcome = delivery.outcome.as_str();
            tracing::info!(event = "delivery_processed", %org, %inbox, delivery = %delivery.id, outcome);
        }
        Ok(())
    }

    async fn try_again(
        &self,
        waiting: &UnprocessedDelivery,
        delivery: InboxDelivery,
        error: &Error,
        now: Timestamp,
    ) -> Result<(), Error> {
        let attempts = waiting.attempts + 1;
        tracing::warn!(event = "delivery_not_processed", org = %waiting.ids.org_id, delivery = %delivery.id, attempts, ?error, "a delivery is processed later");
        if attempts >= MAX_ATTEMPTS {
            return self.settle(waiting, Some(delivery.failed(ERROR))).await;
        }
        let until = now.plus_ms(RETRY_MS);
        let postponed = (self.store).postpone_inbox_delivery(waiting, &delivery, until, attempts);
        postponed.await.map(drop)
    }
}
