//! Delivery permits for a receiver: a sender holds one of [`DELIVERY_PERMITS`], and sends one
//! delivery at a time under it, so a receiver has no more deliveries under way than that, however
//! many processes send.
//!
//! A delivery permit is taken by a conditional write, and returned by its deletion. An abandoned
//! one is free again by its own expiry, which every taker checks; nothing waits for TTL.

use awo_domain::{Error, OrgId, Timestamp, WebhookId};

use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::{Item, SCHEMA_VERSION};
use crate::engine::key::Key;
use crate::engine::transaction::{CommitOutcome, Refusal};
use crate::engine::write::Act;
use crate::webhooks::deliveries::Delivery;
use crate::webhooks::delivery_changes::{change_of, is_as_wanted, next_revision};
use crate::webhooks::send_permits::SendPermit;
use crate::webhooks::write_batch::{BatchOutcome, Changes};

/// Deliveries under way to one receiver at once.
pub const DELIVERY_PERMITS: u32 = 4;
/// How long after its expiry DynamoDB may remove a delivery permit, in milliseconds.
const RETENTION_MS: i64 = 3_600_000;

/// A delivery permit that is held.
#[derive(Debug)]
pub struct DeliveryPermit {
    key: Key,
    holder: String,
}

/// The keys of all delivery permits to a webhook's receiver.
pub(crate) fn keys(org: &OrgId, webhook: &WebhookId) -> impl Iterator<Item = Key> {
    (0..DELIVERY_PERMITS).map(move |number| Key::delivery_permit(org, webhook, number))
}

/// The delivery permits that nobody holds now; `found` gives those that are there.
pub(crate) fn free<'a>(
    found: impl Fn(Key) -> Option<&'a Item>,
    (org, webhook): (&OrgId, &WebhookId),
    now: Timestamp,
) -> Vec<u32> {
    let held_until = |number: u32| {
        let delivery_permit = found(Key::delivery_permit(org, webhook, number))?;
        delivery_permit
            .get("expiresAtMs")?
            .as_n()
            .ok()?
            .parse::<i64>()
            .ok()
    };
    (0..DELIVERY_PERMITS)
        .filter(|number| held_until(*number).is_none_or(|until| until <= now.epoch_ms()))
        .collect()
}

/// What came of asking for a delivery permit for an attempt.
#[derive(Debug)]
pub enum BeginOutcome {
    /// It is held, and the attempt is noted.
    WithPermit(DeliveryPermit, Box<Delivery>),
    /// All delivery permits are held; nothing was written.
    Busy,
    /// The delivery is not what the attempt was made from any more; nothing was written.
    Changed,
}

/// The holder that requests a permit, and until when.
#[derive(Debug, Clone)]
pub struct PermitRequest {
    /// The holder, unique for each request.
    pub holder: String,
    /// When it is wanted.
    pub now: Timestamp,
    /// When it is free again if it is not given back.
    pub until: Timestamp,
}

impl PermitRequest {
    /// The request of a holder that `random` makes unique.
    #[must_use]
    pub fn new(random: u128, now: Timestamp, until: Timestamp) -> PermitRequest {
        PermitRequest {
            holder: format!("{now}#{random}"),
            now,
            until,
        }
    }
}

/// The order in which a sender tries delivery permits: from one of them on, and round to those
/// before it. Senders begin at different ones, so two rarely want the same.
#[derive(Debug, Clone, Copy)]
pub struct PermitOrder {
    first: u32,
}

impl PermitOrder {
    /// Begins at any one of them.
    #[must_use]
    pub fn new(random: u128) -> PermitOrder {
        // Without the lowest bits: ids of one millisecond differ in them alone, and one by one.
        let first = (random >> 8) % u128::from(DELIVERY_PERMITS);
        PermitOrder {
            first: u32::try_from(first).unwrap_or(0),
        }
    }

    /// The first one alone.
    #[must_use]
    pub fn first(self) -> [u32; 1] {
        [self.first]
    }

    /// All of them.
    #[must_use]
    pub fn all(self) -> Vec<u32> {
        self.of(0..DELIVERY_PERMITS)
    }

    /// These, which are in ascending order.
    #[must_use]
    pub fn of(self, delivery_permits: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let (before, after): (Vec<u32>, Vec<u32>) = delivery_permits
            .into_iter()
            .partition(|delivery_permit| *delivery_permit < self.first);
        [after, before].concat()
    }
}

impl Store {
    /// Takes one of these delivery permits to a webhook's receiver, the first that is free; none if all are
    /// held.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn take_delivery_permit(
        &self,
        (permit, webhook): (&SendPermit, &WebhookId),
        delivery_permits: &[u32],
        wanted: &PermitRequest,
    ) -> Result<Option<DeliveryPermit>, Error> {
        let taken = taken(wanted);
        let keys = keys_of(permit, webhook, delivery_permits);
        let Some(changes) = Changes::of_one(keys, taken.clone()) else {
            return Ok(None);
        };
        let BatchOutcome { key, committed } = self.change(changes).await?;
        let is_ours = match committed {
            CommitOutcome::Yes => true,
            CommitOutcome::No(refusals) => is_made(&taken, refusals.first()),
        };
        Ok(is_ours.then(|| delivery_permit(key, wanted)))
    }

    /// Takes one of these delivery permits to a delivery's receiver, the first that is free, and notes in the
    /// same transaction the attempt with which it was begun.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn begin_in_delivery_permit(
        &self,
        (permit, begun): (&SendPermit, Delivery),
        delivery_permits: &[u32],
        wanted: &PermitRequest,
    ) -> Result<BeginOutcome, Error> {
        let taken = taken(wanted);
        let keys = keys_of(permit, &begun.webhook_id, delivery_permits);
        let Some(changes) = Changes::of_one(keys, taken.clone()) else {
            return Ok(BeginOutcome::Busy);
        };
        let BatchOutcome { key, committed } = self.change(changes.with(change_of(&begun))).await?;
        let delivery_permit = delivery_permit(key, wanted);
        let CommitOutcome::No(refusals) = committed else {
            return Ok(BeginOutcome::WithPermit(
                delivery_permit,
                Box::new(next_revision(begun)),
            ));
        };
        let is_ours = is_made(&taken, refusals.iter().find(|of| of.nth == 0));
        let Some(of_delivery) = refusals.into_iter().find(|of| of.nth == 1) else {
            return Ok(BeginOutcome::Busy);
        };
        Ok(if is_ours && is_as_wanted(of_delivery.item, &begun)? {
            BeginOutcome::WithPermit(delivery_permit, Box::new(next_revision(begun)))
        } else {
            BeginOutcome::Changed
        })
    }

    /// Gives a delivery permit back. If that fails, it is free again when it expires.
    pub async fn leave_delivery_permit(&self, delivery_permit: DeliveryPermit) {
        let ours = Act::Delete(Change::new().when("holder", &delivery_permit.holder));
        let left = self.change(Changes::new((delivery_permit.key.clone(), ours)));
        if let Err(error) = left.await {
            tracing::warn!(event = "delivery_permit_not_returned", ?error, delivery_permit = ?delivery_permit.key, "a delivery permit could not be returned");
        }
    }
}

fn keys_of(
    permit: &SendPermit,
    webhook: &WebhookId,
    delivery_permits: &[u32],
) -> impl Iterator<Item = Key> {
    let delivery_permits = delivery_permits.iter().take(DELIVERY_PERMITS as usize);
    delivery_permits.map(move |number| Key::delivery_permit(permit.org(), webhook, *number))
}

fn taken(wanted: &PermitRequest) -> Change {
    let PermitRequest { holder, now, until } = wanted;
    Change::new()
        .set("holder", holder)
        .set("expiresAtMs", until.epoch_ms())
        .set("ttl", until.plus_ms(RETENTION_MS).epoch_seconds())
        .set("v", SCHEMA_VERSION)
        .at_most_or_missing("expiresAtMs", now.epoch_ms())
}

fn delivery_permit(key: Key, wanted: &PermitRequest) -> DeliveryPermit {
    let holder = wanted.holder.clone();
    DeliveryPermit { key, holder }
}

/// True if the delivery permit in the way is ours: a write whose reply was lost is refused when it is tried
/// again.
fn is_made(taken: &Change, refusal: Option<&Refusal>) -> bool {
    let item = refusal.and_then(|refusal| refusal.item.as_ref());
    item.is_some_and(|item| taken.is_made_in(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_permit_once_from_its_first_one_round() {
        for random in 0..4 * u128::from(DELIVERY_PERMITS) {
            let order = PermitOrder::new(random << 8);
            let [first] = order.first();
            let all: Vec<u32> = (0..DELIVERY_PERMITS)
                .map(|nth| (first + nth) % DELIVERY_PERMITS)
                .collect();
            assert_eq!(order.all(), all);
            let free: Vec<u32> = all.into_iter().filter(|number| number % 2 == 1).collect();
            assert_eq!(order.of([1, 3]), free);
        }
    }
}
