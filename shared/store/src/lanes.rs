//! Lanes to a receiver: who sends to it holds one of [`LANES`], and sends one delivery at a time in
//! it, so that no receiver has more under way than that, however many processes send.
//!
//! A lane is taken by a conditional write. One that was not given back is free again by its own
//! expiry, which every taker checks; nothing waits for TTL.

use std::collections::HashMap;

use awo_domain::{Error, OrgId, Timestamp, WebhookId};

use crate::Store;
use crate::change::Change;
use crate::grouped::Changed;
use crate::item::{Item, Key, SCHEMA_VERSION};

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

/// The lanes that nobody holds now, of those that were found.
pub(crate) fn free(
    found: &HashMap<Key, Item>,
    (org, webhook): (&OrgId, &WebhookId),
    now: Timestamp,
) -> Vec<u32> {
    let held_until = |number: u32| {
        let lane = found.get(&Key::lane(org, webhook, number))?;
        lane.get("expiresAtMs")?.as_n().ok()?.parse::<i64>().ok()
    };
    (0..LANES)
        .filter(|number| held_until(*number).is_none_or(|until| until <= now.epoch_ms()))
        .collect()
}

impl Store {
    /// Takes one of these lanes to a webhook's receiver until then, the first that is free; none
    /// if all are held. `holder` is unique.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn take_lane(
        &self,
        (org, webhook): (&OrgId, &WebhookId),
        lanes: &[u32],
        holder: &str,
        (now, until): (Timestamp, Timestamp),
    ) -> Result<Option<Lane>, Error> {
        for number in lanes.iter().take(LANES as usize) {
            let key = Key::lane(org, webhook, *number);
            let change = Change::new()
                .set("holder", holder)
                .set("expiresAtMs", until.epoch_ms())
                .set("ttl", until.plus_ms(KEPT_MS).epoch_seconds())
                .set("v", SCHEMA_VERSION)
                .at_most_or_missing("expiresAtMs", now.epoch_ms());
            let is_ours = match self.change(&key, change).await? {
                Changed::Yes => true,
                // A write whose reply was lost is refused when the SDK tries it again.
                Changed::Refused(item) => item
                    .and_then(|item| item.get("holder")?.as_s().ok().map(|by| by == holder))
                    .unwrap_or(false),
            };
            if is_ours {
                let holder = holder.to_owned();
                return Ok(Some(Lane { key, holder }));
            }
        }
        Ok(None)
    }

    /// Gives a lane back. If that fails, it is free again when it expires.
    pub async fn leave_lane(&self, lane: Lane) {
        let change = Change::new()
            .remove("holder")
            .remove("expiresAtMs")
            .when("holder", &lane.holder);
        if let Err(error) = self.change(&lane.key, change).await {
            tracing::warn!(?error, lane = ?lane.key, "a lane was not given back");
        }
    }
}
