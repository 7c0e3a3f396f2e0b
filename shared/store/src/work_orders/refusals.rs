//! The meaning of a refused create of a work order.

use awo_domain::Error;

use super::{NewWorkOrder, QUEUE_RETRY_S};
use crate::costs::policy::policy_of;
use crate::engine::idempotency::{NewResponse, RequestOutcome, replay};
use crate::engine::item_kind::ItemKind;
use crate::engine::transaction::Refusal;
use crate::ledger::budgets::over_budget;
use crate::ledger::credits::insufficient;
use crate::schedules::schedule_changed;
use crate::triggers::trigger_changed;
use crate::work_orders::parents::parent_refused;

/// The meaning of a refused create: a replay before all else, since the first answer
/// holds whatever has become of the queue and the credits since.
pub(super) fn refused(
    new: &NewWorkOrder,
    response: Option<&NewResponse<'_>>,
    refusals: Vec<Refusal>,
) -> Result<Option<RequestOutcome>, Error> {
    if let Some(first) = replay(response, &refusals)? {
        return Ok(Some(RequestOutcome::Replayed(first)));
    }
    let is_step = |refusal: &Refusal| matches!(refusal.kind, ItemKind::Schedule | ItemKind::Firing);
    if refusals.iter().any(is_step) {
        return Err(schedule_changed());
    }
    let is_trigger = |refusal: &Refusal| {
        matches!(
            refusal.kind,
            ItemKind::Trigger | ItemKind::TriggerOrder | ItemKind::TriggerSubject
        )
    };
    if refusals.iter().any(is_trigger) {
        return Err(trigger_changed());
    }
    let over = over_budget(&refusals);
    let mut refusals = refusals;
    refusals.sort_by_key(|refusal| match refusal.kind {
        ItemKind::Parent | ItemKind::Thread => 1,
        ItemKind::Tally => 2,
        ItemKind::Balance | ItemKind::ParentRun => 3,
        ItemKind::BudgetCounter => 4,
        _ => 5,
    });
    let Some(Refusal { kind, item, .. }) = refusals.into_iter().next() else {
        return Err(Error::internal(
            "create was refused without a failed condition",
        ));
    };
    match kind {
        ItemKind::Parent => {
            let asking = new.asked_by.as_ref().map(|asking| &asking.run_id);
            Err(parent_refused(item, asking)?)
        }
        ItemKind::Thread => Ok(None),
        ItemKind::Tally => Err(Error::QueueFull {
            retry_after_s: QUEUE_RETRY_S,
        }),
        ItemKind::Balance if policy_of(item.as_ref()) != new.account.policy => Ok(None),
        ItemKind::Balance => Err(insufficient(new.hold, item)?),
        ItemKind::ParentRun => Err(Error::Conflict(
            "the run that asks for children has less left than was read, or is over".to_owned(),
        )),
        kind => {
            let unknown = || Error::internal(format!("create was refused by {kind:?}"));
            Err(over
                .filter(|_| kind == ItemKind::BudgetCounter)
                .unwrap_or_else(unknown))
        }
    }
}
