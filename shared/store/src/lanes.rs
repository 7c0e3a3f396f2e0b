//! Lanes to a receiver: who sends to it holds one of [`LANES`], and sends one delivery at a time in
//! it, so that no receiver has more under way than that, however many processes send.
//!
//! A lane is taken by a conditional write, and given back by its deletion. One that was not given
//! back is free again by its own expiry, which every taker checks; nothing waits for TTL.

use awo_domain::{Error, OrgId, Timestamp, WebhookId};

use crate::Store;
use crate::attempts::writing::{change_of, is_as_wanted, next_revision};
use crate::change::Change;
use crate::deliveries::Delivery;
use crate::grouped::{Act, Changes, Made};
use crate::item::{Item, Key, SCHEMA_VERSION};
use crate::transaction::{Committed, Refusal};

/// Deliveries under way to one receiver at once.
pub const LANES: u32 = 4;
/// How long after its expiry DynamoDB may remove a lane, in milliseconds.
const KEPT_MS: i64 = 3_600_000;

/// A lane that is held.
#[derive(Debug)]
pub struct Lane {
    key: Key,
    holder: String,
}

/// The keys of all lanes to a webhook's receiver.
pub(crate) fn keys(org: &OrgId, webhook: &WebhookId) -> impl Iterator<Item = Key> {
    (0..LANES).map(move |number| Key::lane(org, webhook, number))
}

/// The lanes that nobody holds now; `found` gives those that are there.
pub(crate) fn free<'a>(
    found: impl Fn(Key) -> Option<&'a Item>,
    (org, webhook): (&OrgId, &WebhookId),
    now: Timestamp,
) -> Vec<u32> {
    let held_until = |number: u32| {
        let lane = found(Key::lane(org, webhook, number))?;
        lane.get("expiresAtMs")?.as_n().ok()?.parse::<i64>().ok()
    };
    (0..LANES)
        .filter(|number| held_until(*number).is_none_or(|until| until <= now.epoch_ms()))
        .collect()
}

/// What came of asking for a lane for an attempt.
#[derive(Debug)]
pub enum Begun {
    /// It is held, and the attempt is noted.
    InLane(Lane, Box<Delivery>),
    /// All lanes are held; nothing was written.
    Busy,
    /// The delivery is not what the attempt was made from any more; nothing was written.
    Changed,
}

/// Who wants a lane, and until when.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Unique.
    pub holder: String,
    /// When it is wanted.
    pub now: Timestamp,
    /// When it is free again if it is not given back.
    pub until: Timestamp,
}

impl Store {
    /// Takes one of these lanes to a webhook's receiver, the first that is free; none if all are
    /// held.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn take_lane(
        &self,
        (org, webhook): (&OrgId, &WebhookId),
        lanes: &[u32],
        wanted: &Wanted,
    ) -> Result<Option<Lane>, Error> {
        let taken = taken(wanted);
        let Some(changes) = Changes::of_one(keys_of(org, webhook, lanes), taken.clone()) else {
            return Ok(None);
        };
        let Made { key, committed } = self.change(changes).await?;
        let is_ours = match committed {
            Committed::Yes => true,
            Committed::No(refusals) => is_made(&taken, refusals.first()),
        };
        Ok(is_ours.then(|| lane(key, wanted)))
    }

    /// Takes one of these lanes to a delivery's receiver, the first that is free, and notes in the
    /// same transaction the attempt with which it was begun.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn begin_in_lane(
        &self,
        begun: Delivery,
        lanes: &[u32],
        wanted: &Wanted,
    ) -> Result<Begun, Error> {
        let (org, webhook) = (&begun.org_id, &begun.webhook_id);
        let taken = taken(wanted);
        let Some(changes) = Changes::of_one(keys_of(org, webhook, lanes), taken.clone()) else {
            return Ok(Begun::Busy);
        };
        let Made { key, committed } = self.change(changes.with(change_of(&begun))).await?;
        let lane = lane(key, wanted);
        let Committed::No(refusals) = committed else {
            return Ok(Begun::InLane(lane, Box::new(next_revision(begun))));
        };
        let is_ours = is_made(&taken, refusals.iter().find(|of| of.nth == 0));
        let Some(of_delivery) = refusals.into_iter().find(|of| of.nth == 1) else {
            return Ok(Begun::Busy);
        };
        Ok(match is_ours && is_as_wanted(of_delivery.item, &begun)? {
            true => Begun::InLane(lane, Box::new(next_revision(begun))),
            false => Begun::Changed,
        })
    }

    /// Gives a lane back. If that fails, it is free again when it expires.
    pub async fn leave_lane(&self, lane: Lane) {
        let ours = Act::Delete(Change::new().when("holder", &lane.holder));
        let left = self.change(Changes::new((lane.key.clone(), ours)));
        if let Err(error) = left.await {
            tracing::warn!(?error, lane = ?lane.key, "a lane was not given back");
        }
    }
}

fn keys_of(org: &OrgId, webhook: &WebhookId, lanes: &[u32]) -> impl Iterator<Item = Key> {
    let lanes = lanes.iter().take(LANES as usize);
    lanes.map(move |number| Key::lane(org, webhook, *number))
}

fn taken(wanted: &Wanted) -> Change {
    let Wanted { holder, now, until } = wanted;
    Change::new()
        .set("holder", holder)
        .set("expiresAtMs", until.epoch_ms())
        .set("ttl", until.plus_ms(KEPT_MS).epoch_seconds())
        .set("v", SCHEMA_VERSION)
        .at_most_or_missing("expiresAtMs", now.epoch_ms())
}

fn lane(key: Key, wanted: &Wanted) -> Lane {
    let holder = wanted.holder.clone();
    Lane { key, holder }
}

/// True if the lane in the way is ours: a write whose reply was lost is refused when it is tried
/// again.
fn is_made(taken: &Change, refusal: Option<&Refusal>) -> bool {
    let item = refusal.and_then(|refusal| refusal.item.as_ref());
    item.is_some_and(|item| taken.is_made_in(item))
}
