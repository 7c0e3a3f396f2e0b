//! The organization and the key of a service's first start.

use std::path::Path;

use awo_cloud::Cloud;
use awo_domain::api_key::Scope;
use awo_domain::money::MicroCredits;
use awo_domain::{Error, OrgId, TransactionId};
use awo_store::Store;
use awo_store::ledger::credits::Booking;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Failure, failure, write_private};

/// Credits that the first organization is given.
const FIRST_CREDITS: i64 = 1_000_000;
/// File of the owner's first key.
pub const FIRST_KEY: &str = "first-key.json";

/// The owner's first key, stored in a file that only the owner can read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstKey {
    pub org_id: OrgId,
    pub api_key: String,
}

/// The organization of the first start, with its key and credits. Each step can be done again,
/// so that a start that was cut off is completed by the next.
pub async fn first_key(cloud: &Cloud, data_dir: &Path) -> Result<FirstKey, Failure> {
    let path = data_dir.join(FIRST_KEY);
    let (store, now) = (cloud.store()?, cloud.clock.now());
    if let Ok(stored) = std::fs::read(&path) {
        let first: FirstKey = serde_json::from_slice(&stored)?;
        upgrade_keys(&store).await.map_err(failure)?;
        return Ok(first);
    }
    let org = OrgId::new(now, cloud.mint.random(now));
    let cursor_key = cloud.mint.secret();
    store
        .create_organization(&org, "local", &cursor_key, now)
        .await
        .map_err(failure)?;
    let grant = TransactionId::new(now, cloud.mint.random(now));
    store
        .grant(
            &org,
            &grant,
            MicroCredits::from_credits(FIRST_CREDITS),
            &Booking {
                note: Some("the first credits of a local service".to_owned()),
                ..Booking::default()
            },
        )
        .await
        .map_err(failure)?;
    let key = cloud.mint.api_key();
    store
        .create_key(&key, &org, &[Scope::All], None, &cursor_key, now)
        .await
        .map_err(failure)?;
    let first = FirstKey {
        org_id: org,
        api_key: key.reveal().to_owned(),
    };
    write_private(&path, &json!(first))?;
    Ok(first)
}

/// Keys that an earlier release has made go on working.
async fn upgrade_keys(store: &Store) -> Result<(), Error> {
    for org in store.organizations().await? {
        if let Some(organization) = store.organization(&org).await? {
            store.upgrade_keys(&org, &organization.cursor_key).await?;
        }
    }
    Ok(())
}
