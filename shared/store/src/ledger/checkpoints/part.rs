//! The items of a period, as a check reads them.

use std::collections::BTreeSet;

use awo_domain::{RunId, Timestamp, VerificationId};
use serde::Deserialize;

use crate::engine::list::Page;
use crate::ledger::credits::LedgerEntry;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hold {
    pub(super) sk: String,
    pub(super) amount_micro: i64,
    /// The run of whose hold it was a part before.
    pub(super) out_of: Option<String>,
}

impl Hold {
    /// Creation time of the run or the manual verification that has it.
    fn made_at(&self) -> Option<Timestamp> {
        let run = RunId::parse(&self.sk).map(|run| run.made_at());
        let verification = || VerificationId::parse(&self.sk).map(|id| id.made_at());
        run.or_else(|_| verification()).ok()
    }

    pub(super) fn is_before(&self, until: Timestamp) -> bool {
        self.made_at().is_some_and(|at| at < until)
    }
}

/// Holds of runs, then those of manual verifications.
pub(super) struct Holds {
    pub(super) items: Vec<Hold>,
    /// The last moments of those that were cut off.
    cut_at: Vec<Timestamp>,
}

impl Holds {
    pub(super) fn of(pages: [Page<Hold>; 2]) -> Holds {
        let cut = pages.iter().filter(|page| page.has_more);
        let last = cut.filter_map(|page| page.items.last()?.made_at());
        Holds {
            cut_at: last.collect(),
            items: pages.into_iter().flat_map(|page| page.items).collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct SettledHold {
    pub(super) sk: String,
}

/// What is written of a part of time.
pub(super) struct Part {
    pub(super) entries: Page<LedgerEntry>,
    pub(super) holds: Holds,
    pub(super) settled: BTreeSet<String>,
}

impl Part {
    /// Up to when it is whole: of what was cut off, its last moment is not.
    pub(super) fn whole_until(&self, wanted: Timestamp) -> Timestamp {
        let entry = self.entries.items.last().filter(|_| self.entries.has_more);
        let entry = entry.map(|entry| entry.id.made_at());
        let holds = self.holds.cut_at.iter().copied();
        entry.into_iter().chain(holds).fold(wanted, Timestamp::min)
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.entries.has_more || !self.holds.cut_at.is_empty()
    }
}
