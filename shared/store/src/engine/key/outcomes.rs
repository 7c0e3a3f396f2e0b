//! Keys of outcomes and of pull requests.

use awo_domain::{OrgId, WorkOrderId};

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;

impl Key {
    /// What outcomes count of the thread whose first turn is this work order.
    pub fn outcome(org: &OrgId, thread: &WorkOrderId) -> Key {
        outcomes(org).key(thread.as_str())
    }

    /// A pull request of a thread, by the hash of its URL.
    pub fn pull_request(org: &OrgId, thread: &WorkOrderId, digest: &str) -> Key {
        pull_requests(org).key(format!("{thread}#{digest}"))
    }
}

/// Partition of the outcomes of threads, in the order of their creation.
pub(crate) fn outcomes(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Outcome, format!("{org}#outcome"))
}

/// Partition of the pull requests of threads, in the order of the threads' creation.
pub(crate) fn pull_requests(org: &OrgId) -> Partition {
    Partition::new(ItemKind::PullRequest, format!("{org}#pull"))
}
