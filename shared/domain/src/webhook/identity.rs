//! Ids that derive from their subject, so that a repeated write is idempotent.

use sha2::{Digest, Sha256};

use crate::{DeliveryId, EventId, RunId, Timestamp, WebhookId};

/// The event that stands under this sequence of the run's timeline since `at`.
#[must_use]
pub fn event_id(run: &RunId, sequence: u64, at: Timestamp) -> EventId {
    EventId::new(at, digest(&[run.as_str(), &sequence.to_string()]))
}

/// The first delivery of an event to a webhook; one that somebody wants again has an id of its own.
#[must_use]
pub fn delivery_id(event: &EventId, webhook: &WebhookId) -> DeliveryId {
    DeliveryId::new(event.made_at(), digest(&[event.as_str(), webhook.as_str()]))
}

/// An event of an organization since `at` that these parts name.
#[must_use]
pub fn event_id_of(parts: &[&str], at: Timestamp) -> EventId {
    EventId::new(at, digest(parts))
}

/// No part has a space.
fn digest(parts: &[&str]) -> u128 {
    let hash: [u8; 32] = Sha256::digest(parts.join(" ")).into();
    hash.iter()
        .take(size_of::<u128>())
        .fold(0, |sum, byte| (sum << 8) | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_follow_are_the_same_for_the_same_and_others_for_others() {
        let at = Timestamp::from_epoch_ms(1_700_000_000_000);
        let (run, other) = (RunId::new(at, 1), RunId::new(at, 2));
        let event = event_id(&run, 1, at);
        assert_eq!(event, event_id(&run, 1, at));
        assert_eq!(event.made_at(), at);
        assert_ne!(event, event_id(&run, 2, at));
        assert_ne!(event, event_id(&other, 1, at));
        let (one, two) = (WebhookId::new(at, 1), WebhookId::new(at, 2));
        assert_eq!(delivery_id(&event, &one), delivery_id(&event, &one));
        assert_ne!(delivery_id(&event, &one), delivery_id(&event, &two));
        assert_eq!(delivery_id(&event, &one).made_at(), at);
    }
}
