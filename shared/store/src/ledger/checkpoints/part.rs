//! The items of a period, as a check reads them.

use std::collections::BTreeSet;

use awo_domain::{RunId, Timestamp};
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

#[derive(Debug, Deserialize)]
pub(super) struct SettledHold {
    pub(super) sk: String,
}

/// What is written of a part of time.
pub(super) struct Part {
    pub(super) entries: Page<LedgerEntry>,
    pub(super) holds: Page<Hold>,
    pub(super) settled: BTreeSet<String>,
}

impl Part {
    /// Up to when it is whole: of what was cut off, its last moment is not.
    pub(super) fn whole_until(&self, wanted: Timestamp) -> Timestamp {
        let entry = self.entries.items.last().filter(|_| self.entries.has_more);
        let hold = self.holds.items.last().filter(|_| self.holds.has_more);
        let hold = hold.and_then(|hold| RunId::parse(&hold.sk).ok());
        [
            entry.map(|entry| entry.id.made_at()),
            hold.map(|run| run.made_at()),
        ]
        .into_iter()
        .flatten()
        .fold(wanted, Timestamp::min)
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.entries.has_more || self.holds.has_more
    }
}
