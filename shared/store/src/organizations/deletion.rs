//! The deletion of an organization: everything except its ledger and usage, which accounting needs.

use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, OrgId, Timestamp, WorkOrderId};

use super::operation::DELETED;
use crate::Store;
use crate::engine::change::Change;
use crate::engine::key::{
    deliveries, delivery_marks, delivery_permits, inbox_deliveries, outbox, outcomes,
    pull_requests, reports, settings_of, threads,
};
use crate::work_orders::WorkOrder;
use crate::work_orders::purge::in_transactions;

impl Store {
    /// Deletes work orders, runs, keys, templates, profiles, environments, plugins, webhooks and inboxes of a
    /// suspended organization. Ledger entries, balance and usage stay, under its id alone. What was cut off is
    /// gone on with by doing it again. Secrets are not in these tables; what names the access point of
    /// its tasks stays until that is deleted ([`Store::note_access_point_deleted`]).
    ///
    /// # Errors
    /// [`Error::Conflict`] where it is not suspended, not there or has work that is not
    /// over; internal, when DynamoDB fails.
    pub async fn delete_organization(&self, org: &OrgId, now: Timestamp) -> Result<(), Error> {
        let organization = self.organization(org).await?;
        if !organization.is_some_and(|organization| organization.is_suspended()) {
            return Err(Error::Conflict(
                "it is not suspended, or does not exist".to_owned(),
            ));
        }
        let tally = self.tally(org).await?;
        let open = WorkOrderStatus::ALL
            .into_iter()
            .filter(|s| !s.is_terminal());
        let open: u64 = open.map(|status| tally.work_orders(Some(status))).sum();
        if open > 0 || tally.slots > 0 {
            return Err(Error::Conflict(format!(
                "it has {open} work orders that are not over, and {} tasks",
                tally.slots
            )));
        }
        for status in WorkOrderStatus::ALL {
            self.purge_all(org, status, now).await?;
        }
        for partition in [
            threads(org),
            outcomes(org),
            pull_requests(org),
            reports(org),
        ] {
            self.empty(partition).await?;
        }
        self.delete_settings(org).await?;
        self.retire_definitions(org, now).await?;
        self.delete_keys(org).await?;
        let change = Change::new()
            .set("name", "")
            .set("cursorKey", "")
            .set_if_missing(DELETED, now);
        self.change_organization(org, change).await?;
        Ok(())
    }

    async fn purge_all(
        &self,
        org: &OrgId,
        status: WorkOrderStatus,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut after: Option<WorkOrderId> = None;
        loop {
            let page = self
                .purge_candidates(org, status, None, after.as_ref())
                .await?;
            after = page.items.last().map(|order: &WorkOrder| order.id.clone());
            let mut targets = Vec::new();
            for order in page.items {
                targets.push(self.purge_target(org, order).await?);
            }
            for part in in_transactions(targets) {
                if !self.purge(org, &part, now).await? {
                    let why = "a work order has changed meanwhile: try again";
                    return Err(Error::Conflict(why.to_owned()));
                }
            }
            if !page.has_more {
                return Ok(());
            }
        }
    }

    async fn delete_settings(&self, org: &OrgId) -> Result<(), Error> {
        for webhook in self.webhooks(org).await? {
            let webhook = webhook.id;
            self.empty(deliveries(org, &webhook)).await?;
            self.empty(delivery_permits(org, &webhook)).await?;
        }
        self.empty(outbox(org)).await?;
        for inbox in self.inbox_ids(org).await? {
            self.empty(inbox_deliveries(org, &inbox)).await?;
            self.empty(delivery_marks(org, &inbox)).await?;
            self.delete_inbox(org, &inbox).await?;
        }
        for partition in settings_of(org) {
            self.empty(partition).await?;
        }
        Ok(())
    }
}
