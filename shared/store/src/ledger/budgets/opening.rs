//! What a budget begins with: what the reports show as spent in its period so far, and what open
//! holds of that period reserve. All holds are of runs that wait, have a slot, or wait for their
//! children, and of manual verifications under way.

use awo_domain::budget::{Budget, Standing};
use awo_domain::cost::report::{Bucket, Dimension, ReportQuery};
use awo_domain::money::MicroCredits;
use awo_domain::queue::MAX_QUEUE_SIZE;
use awo_domain::span::Span;
use awo_domain::{Error, OrgId, RunId, Timestamp, WorkOrderId};
use serde::Deserialize;
use std::collections::BTreeSet;

use crate::Store;
use crate::engine::batch::MAX_KEYS;
use crate::engine::key::{Key, leases, queue, waiting};
use crate::engine::list::Slice;
use crate::engine::table::read;
use crate::runs::Run;
use crate::work_orders::WorkOrder;

/// More than an organization has of each.
const MAX_OPEN: u32 = 10_000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfRun {
    run_id: RunId,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfOrder {
    work_order_id: WorkOrderId,
}

impl Store {
    /// What a budget begins with. It is right as long as the balance does not change.
    pub(super) async fn budget_opening(
        &self,
        org: &OrgId,
        budget: &Budget,
        now: Timestamp,
    ) -> Result<Standing, Error> {
        let (spent, runs, verifications) = tokio::try_join!(
            Box::pin(self.spent_so_far(org, budget, now)),
            Box::pin(self.open_runs(org)),
            Box::pin(self.open_verifications(org)),
        )?;
        let present = budget.period_start(now);
        let runs = runs.iter().filter(|run| run.settled_at.is_none());
        let runs = runs.map(|run| (run.reservation(), run.hold_micro));
        let verifications = verifications
            .iter()
            .map(|hold| (hold.reservation(), hold.hold_micro));
        let open = runs.chain(verifications);
        let counted =
            open.filter(|(hold, _)| budget.counts(hold.spender(), hold.at) == Some(present));
        Ok(Standing {
            spent,
            reserved: MicroCredits::from_micro(counted.map(|(_, hold)| hold).sum()),
        })
    }

    async fn spent_so_far(
        &self,
        org: &OrgId,
        budget: &Budget,
        now: Timestamp,
    ) -> Result<MicroCredits, Error> {
        let scope = budget.content.scope.dimension();
        let only = scope.map(|(of, value)| (of, value.to_owned()));
        let asked = ReportQuery {
            span: Span {
                from: Some(budget.period_start(now)),
                until: Some(budget.period_end(now).unwrap_or(now.plus_ms(1))),
            },
            by_model: false,
            by: only.as_ref().map(|(of, _)| of.clone()),
            bucket: Bucket::None,
            model: None,
            only: only.into_iter().collect(),
        };
        let report = self.cost_report(org, &asked, now).await?;
        let tenant = budget.content.scope.parts().tenant_id.as_deref();
        let is_tenants = |group: &std::collections::BTreeMap<String, String>| {
            let of = group.get(&Dimension::Tenant.name()).map(String::as_str);
            of.is_none() || of == tenant
        };
        let rows = report.rows.iter().filter(|row| is_tenants(&row.group));
        let spent = rows.map(|row| row.measures.credits_micro - row.measures.refunds_micro);
        Ok(MicroCredits::from_micro(spent.sum()))
    }

    /// Every run that may have a hold.
    async fn open_runs(&self, org: &OrgId) -> Result<Vec<Run>, Error> {
        let part = |partition, most| Slice::of_partition(partition).limit(most);
        let (entries, slots, waits) = tokio::try_join!(
            self.slice::<OfRun>(part(queue(org), MAX_QUEUE_SIZE)),
            self.slice::<OfRun>(part(leases(org), MAX_OPEN)),
            self.slice::<OfOrder>(part(waiting(org), MAX_OPEN)),
        )?;
        let orders = waits
            .items
            .iter()
            .map(|of| Key::work_order(org, &of.work_order_id));
        let orders: Vec<WorkOrder> = self.work_items(orders.collect()).await?;
        let of_runs = entries.items.into_iter().chain(slots.items);
        let ids = of_runs.map(|of| of.run_id);
        let ids: BTreeSet<RunId> = ids.chain(orders.into_iter().map(|of| of.run_id)).collect();
        self.work_items(ids.iter().map(|id| Key::run(org, id)).collect())
            .await
    }

    async fn work_items<T: serde::de::DeserializeOwned>(
        &self,
        keys: Vec<Key>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        for keys in keys.chunks(MAX_KEYS) {
            let found = self.batch(keys.iter().cloned()).await?;
            for item in found.into_values() {
                all.push(read(item)?);
            }
        }
        Ok(all)
    }
}
