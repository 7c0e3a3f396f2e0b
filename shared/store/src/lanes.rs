//! Lanes to a receiver: who sends to it holds one of [`LANES`], and sends one delivery at a time in
//! it, so that no receiver has more under way than that, however many processes send.
//!
//! A lane is taken by a conditional write. One that was not given back is free again by its own
//! expiry, which every taker checks; nothing waits for TTL.

use awo_domain::{Error, OrgId, Timestamp, WebhookId};

use crate::Store;
use crate::attempts::writing::{change_of, is_as_wanted, next_revision};
use crate::change::Change;
use crate::deliveries::Delivery;
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
        for number in lanes.iter().take(LANES as usize) {
            let key = Key::lane(org, webhook, *number);
            let refusals = match self.change(vec![(key.clone(), taken(wanted))]).await? {
                Committed::Yes => return Ok(Some(lane(key, wanted))),
                Committed::No(refusals) => refusals,
            };
            if is_held_by(wanted, refusals.first()) {
                return Ok(Some(lane(key, wanted)));
            }
        }
        Ok(None)
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
        for number in lanes.iter().take(LANES as usize) {
            let key = Key::lane(&begun.org_id, &begun.webhook_id, *number);
            let changes = vec![(key.clone(), taken(wanted)), change_of(&begun)];
            let held =
                |key| Begun::InLane(lane(key, wanted), Box::new(next_revision(begun.clone())));
            let refusals = match self.change(changes).await? {
                Committed::Yes => return Ok(held(key)),
                Committed::No(refusals) => refusals,
            };
            let is_ours = is_held_by(wanted, refusals.iter().find(|of| of.nth == 0));
            let of_delivery = refusals.into_iter().find(|of| of.nth == 1);
            if let Some(refusal) = of_delivery {
                let is_written = is_ours && is_as_wanted(refusal.item, &begun)?;
                return Ok(match is_written {
                    true => held(key),
                    false => Begun::Changed,
                });
            }
        }
        Ok(Begun::Busy)
    }

    /// Gives a lane back. If that fails, it is free again when it expires.
    pub async fn leave_lane(&self, lane: Lane) {
        let change = Change::new()
            .remove("holder")
            .remove("expiresAtMs")
            .when("holder", &lane.holder);
        if let Err(error) = self.change(vec![(lane.key.clone(), change)]).await {
            tracing::warn!(?error, lane = ?lane.key, "a lane was not given back");
        }
    }
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
fn is_held_by(wanted: &Wanted, refusal: Option<&Refusal>) -> bool {
    let holder = refusal.and_then(|refusal| refusal.item.as_ref()?.get("holder")?.as_s().ok());
    holder == Some(&wanted.holder)
}
