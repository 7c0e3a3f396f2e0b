//! Resources of which an organization has a limited number. Such a resource and the item that counts
//! its kind change in one transaction, so there are never more than the limit.

use awo_domain::Error;
use awo_domain::environment::EnvironmentName;

use crate::engine::change::Change;
use crate::engine::idempotency::{NewResponse, RequestOutcome, replay};
use crate::engine::item_kind::ItemKind;
use crate::engine::key::Key;
use crate::engine::transaction::{CommitOutcome, Transaction};
use crate::settings::environments::missing_environment;

impl Transaction {
    /// Counts one more of which there are at most so many.
    pub(crate) fn count_one_more(self, count: &Key, most: u32) -> Transaction {
        let one_more = Change::new()
            .add("count", 1)
            .at_most_or_missing("count", i64::from(most) - 1);
        self.update(count, one_more)
    }

    /// Counts one less.
    pub(crate) fn count_one_less(self, count: &Key) -> Transaction {
        self.update(count, Change::new().add("count", -1))
    }
}

/// The result of a create of an item of this kind. A refusal means a replay before all else, then a
/// taken id, then too many; then that the environment which it names is missing.
pub(crate) fn create_outcome(
    created: CommitOutcome,
    kind: ItemKind,
    environment: Option<&EnvironmentName>,
    response: Option<&NewResponse<'_>>,
    (taken, full): (Error, Error),
) -> Result<RequestOutcome, Error> {
    let refusals = match created {
        CommitOutcome::Yes => return Ok(RequestOutcome::New(())),
        CommitOutcome::No(refusals) => refusals,
    };
    if let Some(first) = replay(response, &refusals)? {
        return Ok(RequestOutcome::Replayed(first));
    }
    if refusals.iter().any(|of| of.kind == kind) {
        return Err(taken);
    }
    Err(missing_environment(&refusals, environment).unwrap_or(full))
}
