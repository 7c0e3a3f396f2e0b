//! Organizations, as the operator makes them.

use awo_domain::{Error, OrgId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::change::Change;
use crate::item::{Key, SCHEMA_VERSION};
use crate::table::Updated;
use crate::transaction::{Guard, Transaction};

/// An organization.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    /// Its id.
    pub org_id: OrgId,
    /// What the operator calls it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Hex of the key that authenticates its paging cursors.
    pub cursor_key: String,
    /// Shape of this item.
    pub v: u32,
}

impl Store {
    /// Makes an organization with no credits.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn create_organization(
        &self,
        org: &OrgId,
        name: &str,
        cursor_key: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let organization = Organization {
            org_id: org.clone(),
            name: name.to_owned(),
            created_at: now,
            cursor_key: cursor_key.to_owned(),
            v: SCHEMA_VERSION,
        };
        let balance = crate::credits::BalanceItem {
            balance: 0,
            reserved: 0,
            available: 0,
            entries: 0,
            updated_at: now,
            v: SCHEMA_VERSION,
        };
        Transaction::new()
            .put(
                Guard::Organization,
                &self.tables.settings,
                &Key::organization(org),
                &organization,
            )?
            .put(
                Guard::Balance,
                &self.tables.ledger,
                &Key::balance(org),
                &balance,
            )?
            .commit(self)
            .await?;
        Ok(())
    }

    /// The organization, if there is one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn organization(&self, org: &OrgId) -> Result<Option<Organization>, Error> {
        self.get(&self.tables.settings, &Key::organization(org))
            .await
    }

    /// Sets the organization's own limits; what is `None` stays as it is.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn set_limits(
        &self,
        org: &OrgId,
        max_concurrent: Option<u32>,
        max_queue_size: Option<u32>,
    ) -> Result<(), Error> {
        let change = Change::new()
            .set("v", SCHEMA_VERSION)
            .set_some("maxConcurrent", max_concurrent)
            .set_some("maxQueueSize", max_queue_size);
        match self
            .update(&self.tables.work, &Key::tally(org), change)
            .await?
        {
            Updated::New(_) => Ok(()),
            Updated::Refused(_) => Err(Error::internal("an unconditional update was refused")),
        }
    }
}
