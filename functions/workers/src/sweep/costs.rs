//! Adds costs of runs to sums by day and month, some minutes after their settlement; until then
//! reports count the records themselves.

use std::collections::BTreeSet;

use awo_domain::{Error, OrgId};
use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Records that are read at once; an organization may have several of them.
const PAGE: u32 = 1_000;

/// Notes what a credit is worth: exports of the past keep to it.
pub(super) async fn note_price(state: &State, swept: &mut SweepReport) {
    let now = state.clock.now();
    let noted = state.store.note_credit_price(state.credits_per_usd, now);
    if let Err(error) = noted.await {
        swept.fail("sweep_credit_price_failed", "value of a credit", &error);
    }
}

/// Adds what is due, and what has come since.
pub(super) async fn add(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let now = state.clock.now();
    let (mut after, mut handled) = (None, BTreeSet::new());
    while !bounds.are_over() {
        let page = match state.store.due_costs(after.as_ref(), now, PAGE).await {
            Ok(page) => page,
            Err(error) => return swept.fail_to_read("sweep_costs_query_failed", "costs", &error),
        };
        let new: BTreeSet<OrgId> = page.items.into_iter().collect();
        let new: Vec<OrgId> = new.difference(&handled).cloned().collect();
        handled.extend(new.iter().cloned());
        let added = stream::iter(new)
            .take_while(|_| std::future::ready(!bounds.are_over()))
            .map(|org| async move {
                let added = Box::pin(add_all(state, &org, bounds)).await;
                let alerted = alert(state, &org).await;
                (org, added, alerted)
            })
            .buffer_unordered(bounds.at_once);
        let added: Vec<_> = added.collect().await;
        for (org, added, alerted) in added {
            swept.count("sweep_costs_failed", org.as_str(), added);
            if let Err(error) = alerted {
                swept.fail("sweep_alert_failed", org.as_str(), &error);
            }
        }
        after = page.next;
        if after.is_none() {
            return;
        }
    }
}

async fn add_all(state: &State, org: &OrgId, bounds: Bounds) -> Result<(), Error> {
    while !bounds.are_over() && state.store.add_costs(org, state.clock.now()).await? {}
    Ok(())
}

/// What is settled changes budgets and the balance. The dispatcher reads them at once; its loss is made up for here.
async fn alert(state: &State, org: &OrgId) -> Result<(), Error> {
    let tally = state.store.tally(org).await?;
    if tally.watched && !tally.no_webhooks {
        state.store.alert(org, state.clock.now()).await
    } else {
        Ok(())
    }
}
