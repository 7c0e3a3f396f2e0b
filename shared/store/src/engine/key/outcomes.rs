//! Keys of outcomes, of pull requests and of reports to forges.

use awo_domain::run_report::ReportKind;
use awo_domain::{OrgId, RunId, WorkOrderId};

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;

impl Key {
    /// The outcome of the thread whose first turn is this work order.
    pub fn outcome(org: &OrgId, thread: &WorkOrderId) -> Key {
        outcomes(org).key(thread.as_str())
    }

    /// A pull request of a thread, by the hash of its URL.
    pub fn pull_request(org: &OrgId, thread: &WorkOrderId, digest: &str) -> Key {
        pull_requests(org).key(format!("{thread}#{digest}"))
    }

    /// A report of a run that is to be posted.
    pub fn report(org: &OrgId, run: &RunId, kind: ReportKind) -> Key {
        reports(org).key(format!("{run}#{}", kind.as_str()))
    }
}

/// Partition of the outcomes of threads, in the order of their creation.
pub(crate) fn outcomes(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Outcome, format!("{org}#outcome"))
}

/// Partition of the reports that are to be posted.
pub(crate) fn reports(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Report, format!("{org}#report"))
}

/// Partition of the pull requests of threads, in the order of the threads' creation.
pub(crate) fn pull_requests(org: &OrgId) -> Partition {
    Partition::new(ItemKind::PullRequest, format!("{org}#pull"))
}
