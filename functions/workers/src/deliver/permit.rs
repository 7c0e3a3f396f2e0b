//! This function's permit for an organization's attempts, so that its receivers, however many do
//! not respond, occupy a few functions and not all.

use awo_domain::{Error, OrgId};
use awo_store::capacity::call_permits::{CallPermit, LongCall};

use super::State;

/// Takes one; none if the organization has its share of functions.
pub(super) async fn take(state: &State, org: &OrgId) -> Option<CallPermit> {
    let now = state.clock.now();
    let holder = format!("{now}#{}", state.mint.random(now));
    let permit = state
        .store
        .take_call_permit(org, LongCall::Send, &holder, now);
    match permit.await {
        Ok(permit) => Some(permit),
        Err(Error::TooManyAtOnce { .. }) => None,
        Err(error) => {
            tracing::error!(event = "call_permit_not_taken", %org, ?error, "no permit to send could be taken");
            None
        }
    }
}
