//! Deliveries with their webhooks and delivery permits, for a whole batch of messages.

use std::collections::HashMap;

use awo_domain::{Error, Timestamp};

use crate::Store;
use crate::engine::batch::MAX_KEYS;
use crate::engine::item::Item;
use crate::engine::key::Key;
use crate::engine::table::read;
use crate::webhooks::deliveries::Delivery;
use crate::webhooks::delivery_permits::{self, DELIVERY_PERMITS};
use crate::webhooks::notifications::DeliveryRef;
use crate::webhooks::{Webhook, WebhookItem};

/// Deliveries of one call: with their webhooks and the delivery permits to these at most [`MAX_KEYS`].
pub const MAX_TOGETHER: usize = MAX_KEYS / (2 + DELIVERY_PERMITS as usize);

/// A delivery as it is, with its webhook as that is.
#[derive(Debug, Clone)]
pub struct AddressedDelivery {
    /// None if it was removed.
    pub delivery: Option<Delivery>,
    /// None if it was deleted.
    pub webhook: Option<Webhook>,
    /// The delivery permits to the webhook that nobody holds.
    pub free_delivery_permits: Vec<u32>,
}

impl Store {
    /// These deliveries with their webhooks and the delivery permits that are free now, in the order asked for.
    ///
    /// # Errors
    /// Internal, when there are none or more than [`MAX_TOGETHER`], or when DynamoDB fails.
    pub async fn addressed(
        &self,
        of: &[DeliveryRef],
        now: Timestamp,
    ) -> Result<Vec<AddressedDelivery>, Error> {
        if of.is_empty() || of.len() > MAX_TOGETHER {
            return Err(Error::internal("no or too many deliveries for one call"));
        }
        let delivery = |at: &DeliveryRef| Key::delivery(&at.org_id, &at.webhook_id, &at.id);
        let webhook = |at: &DeliveryRef| Key::webhook(&at.org_id, &at.webhook_id);
        let delivery_permits = |at: &'_ DeliveryRef| {
            delivery_permits::keys(&at.org_id, &at.webhook_id).collect::<Vec<_>>()
        };
        let keys = of.iter().flat_map(|at| [delivery(at), webhook(at)]);
        let keys = keys.chain(of.iter().flat_map(delivery_permits));
        let mut items = self.batch(keys).await?;
        let mut found = Vec::with_capacity(of.len());
        for (nth, at) in of.iter().enumerate() {
            let to = (&at.org_id, &at.webhook_id);
            let mut later = of.iter().skip(nth + 1);
            let is_last = !later.clone().any(|other| other == at);
            let is_last_to = !later.any(|other| (&other.org_id, &other.webhook_id) == to);
            let item = taken(&mut items, &webhook(at), is_last_to);
            let free_delivery_permits =
                delivery_permits::free(|delivery_permit| items.get(&delivery_permit), to, now);
            let delivery = taken(&mut items, &delivery(at), is_last).map(read);
            found.push(AddressedDelivery {
                delivery: delivery.transpose()?,
                webhook: item
                    .map(read::<WebhookItem>)
                    .transpose()?
                    .map(Webhook::from),
                free_delivery_permits,
            });
        }
        Ok(found)
    }
}

/// An item that was found; it stays for others unless this is the last use.
fn taken(items: &mut HashMap<Key, Item>, key: &Key, is_last: bool) -> Option<Item> {
    if is_last {
        items.remove(key)
    } else {
        items.get(key).cloned()
    }
}
