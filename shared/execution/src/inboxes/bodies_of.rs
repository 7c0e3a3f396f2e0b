//! Bodies of deliveries that were gathered with another one.

use awo_cloud::bodies::{Bodies, BodyKey};
use awo_cloud::{Cloud, SetupError};
use awo_domain::inbox::delivery::InboxDelivery;
use awo_domain::{Error, InboxDeliveryId, InboxId, OrgId};
use awo_store::Store;
use serde_json::Value;

/// Reads deliveries with their bodies.
#[derive(Debug, Clone)]
pub(super) struct BodyReader {
    store: Store,
    bodies: Bodies,
}

impl BodyReader {
    pub fn new(cloud: &Cloud) -> Result<BodyReader, SetupError> {
        Ok(BodyReader {
            store: cloud.store()?,
            bodies: cloud.bodies()?,
        })
    }

    /// The deliveries that are still stored, with their bodies.
    pub async fn read(
        &self,
        org: &OrgId,
        inbox: &InboxId,
        ids: &[InboxDeliveryId],
    ) -> Result<Vec<(InboxDelivery, Value)>, Error> {
        let mut read = Vec::new();
        for id in ids {
            let Some(delivery) = self.store.inbox_delivery(org, inbox, id).await? else {
                continue;
            };
            let key = BodyKey {
                org,
                inbox,
                sha256: &delivery.body_sha256,
            };
            let body = self.bodies.get(key).await?;
            let body = body.and_then(|body| serde_json::from_slice(&body).ok());
            read.extend(body.map(|body| (delivery, body)));
        }
        Ok(read)
    }
}
