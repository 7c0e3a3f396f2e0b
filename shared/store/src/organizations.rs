//! Organizations, as the operator creates them.

mod deletion;
pub mod keys;
mod operation;

use std::time::Instant;

use awo_domain::statement::Month;
use awo_domain::{Error, OrgId, Timestamp};
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::change::{Change, value};
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::table::{UpdateOutcome, failed, log, read};
use crate::engine::transaction::Transaction;
use crate::ledger::checkpoints::Checkpoint;

/// Most readings of 1 MB in which all organizations are found.
const MAX_SCANS: u32 = 10_000;

/// An organization.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    /// Its id.
    pub org_id: OrgId,
    /// The operator's name for it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Hex of the key that authenticates its paging cursors.
    pub cursor_key: String,
    /// Since when it is suspended: its keys are refused, and none of its runs begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Timestamp>,
    /// When it was deleted: its ledger is all that is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
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
            suspended_at: None,
            deleted_at: None,
            v: SCHEMA_VERSION,
        };
        let balance = crate::ledger::credits::BalanceItem {
            balance: 0,
            reserved: 0,
            available: 0,
            entries: 0,
            changes: 0,
            summed_from: Some(Month::of(now)),
            low_since: None,
            updated_at: now,
            v: SCHEMA_VERSION,
        };
        Transaction::new()
            .put(&Key::organization(org), &organization)?
            .put(&Key::balance(org), &balance)?
            .put(&Key::checkpoint(org), &Checkpoint::begin(org, now))?
            .update(
                &Key::tally(org),
                Change::new().set("v", SCHEMA_VERSION).no_webhooks(),
            )
            .commit(self)
            .await?;
        Ok(())
    }

    /// The organization, if there is one.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn organization(&self, org: &OrgId) -> Result<Option<Organization>, Error> {
        self.get(&Key::organization(org)).await
    }

    /// The ids of all organizations, in no order. For operators: it reads all settings there are.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails, or when there is more than a reading may take.
    pub async fn organizations(&self) -> Result<Vec<OrgId>, Error> {
        let all = self.all_organizations().await?;
        Ok(all
            .into_iter()
            .map(|organization| organization.org_id)
            .collect())
    }

    /// All organizations, in no order. For operators: it reads all settings there are.
    ///
    /// # Errors
    /// As [`Store::organizations`].
    pub async fn all_organizations(&self) -> Result<Vec<Organization>, Error> {
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..MAX_SCANS {
            let began = Instant::now();
            let page = self
                .client
                .scan()
                .table_name(&self.tables.settings)
                .filter_expression("sk = :org")
                .expression_attribute_values(":org", value("org"))
                .set_exclusive_start_key(after)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|e| failed("Scan", &e))?;
            log("Scan", began, page.consumed_capacity.as_slice());
            for item in page.items.unwrap_or_default() {
                found.push(read::<Organization>(item)?);
            }
            after = page.last_evaluated_key;
            if after.is_none() {
                return Ok(found);
            }
        }
        Err(Error::internal("the settings took too many readings"))
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
        match self.update(&Key::tally(org), change).await? {
            UpdateOutcome::New(_) => Ok(()),
            UpdateOutcome::Refused(_) => {
                Err(Error::internal("an unconditional update was refused"))
            }
        }
    }
}
