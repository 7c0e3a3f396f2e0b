//! An operator's changes of an existing organization: another name, suspension, and a pause of its
//! queue.

use awo_domain::{Error, OrgId, Timestamp};

use super::Organization;
use crate::Store;
use crate::engine::change::Change;
use crate::engine::item::SCHEMA_VERSION;
use crate::engine::key::Key;
use crate::engine::table::UpdateOutcome;
use crate::queue::tally::{PAUSED, SUSPENDED};

/// When it was deleted.
pub(super) const DELETED: &str = "deletedAt";

impl Store {
    /// Calls an organization something else; false if it is not there.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn rename_organization(&self, org: &OrgId, name: &str) -> Result<bool, Error> {
        let change = Change::new().set("name", name);
        self.change_organization(org, change).await
    }

    /// Suspends an organization; false if it is not there. From then on its keys are refused and
    /// none of its runs begins; those that are under way go on. A second call changes nothing more, and
    /// completes a first one that was interrupted.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn suspend(&self, org: &OrgId, now: Timestamp) -> Result<bool, Error> {
        // First the organization, so that no key is made which the marking would miss.
        let change = Change::new().set_if_missing(SUSPENDED, now);
        if !self.change_organization(org, change).await? {
            return Ok(false);
        }
        self.hold(org, SUSPENDED, Some(now)).await?;
        self.mark_keys(org, Some(now)).await?;
        Ok(true)
    }

    /// Ends a suspension; false if the organization is not there.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn reinstate(&self, org: &OrgId) -> Result<bool, Error> {
        let there = self.organization(org).await?;
        if there.is_none_or(|organization| organization.deleted_at.is_some()) {
            return Ok(false);
        }
        self.mark_keys(org, None).await?;
        self.hold(org, SUSPENDED, None).await?;
        // Last, so that an end that was cut off still shows as a suspension.
        self.change_organization(org, Change::new().remove(SUSPENDED))
            .await
    }

    /// Lets none of the organization's runs begin, or lets them again. What is under way goes on.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn pause(&self, org: &OrgId, since: Option<Timestamp>) -> Result<(), Error> {
        self.hold(org, PAUSED, since).await
    }

    async fn hold(
        &self,
        org: &OrgId,
        name: &'static str,
        since: Option<Timestamp>,
    ) -> Result<(), Error> {
        let change = Change::new().set("v", SCHEMA_VERSION);
        let change = match since {
            Some(since) => change.set_if_missing(name, since),
            None => change.remove(name),
        };
        let tally = Key::tally(org);
        match self.update(&tally, change).await? {
            UpdateOutcome::New(_) => Ok(()),
            UpdateOutcome::Refused(_) => {
                Err(Error::internal("an unconditional update was refused"))
            }
        }
    }

    pub(super) async fn change_organization(
        &self,
        org: &OrgId,
        change: Change,
    ) -> Result<bool, Error> {
        let at = Key::organization(org);
        let change = change.when_present("orgId");
        let updated = self.update(&at, change).await?;
        Ok(matches!(updated, UpdateOutcome::New(_)))
    }
}

impl Organization {
    /// True while its keys are refused.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspended_at.is_some()
    }
}
