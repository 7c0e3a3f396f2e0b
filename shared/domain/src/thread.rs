//! Threads: work orders that continue each other on one branch, a turn after the other.

use serde::{Deserialize, Serialize};

use crate::WorkOrderId;

/// Most turns of a thread, whatever has become of them.
pub const MAX_TURNS: u32 = 100;
/// Most turns of a thread that are not terminal.
pub const MAX_OPEN_TURNS: usize = 10;

/// The place of a work order in its thread, from turn 2 on. The first turn has none: its thread has its
/// own id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPlace {
    /// The first turn.
    pub thread_id: WorkOrderId,
    /// From 2.
    pub turn: u32,
    /// The turn before.
    pub continues: WorkOrderId,
}

/// Reason for which a work order cannot be followed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFollowUp {
    /// It is the child of another one.
    Child,
    /// Its thread has [`MAX_TURNS`].
    ThreadFull,
    /// Its thread has [`MAX_OPEN_TURNS`] that are not terminal.
    WaitingFull,
}

impl NoFollowUp {
    /// Every reason.
    pub const ALL: [NoFollowUp; 3] = [
        NoFollowUp::Child,
        NoFollowUp::ThreadFull,
        NoFollowUp::WaitingFull,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            NoFollowUp::Child => "child",
            NoFollowUp::ThreadFull => "thread_full",
            NoFollowUp::WaitingFull => "waiting_full",
        }
    }

    /// The sentence for people.
    #[must_use]
    pub fn message(self) -> String {
        match self {
            NoFollowUp::Child => {
                "this work order is a part of another one: follow up the one that has no parentId"
                    .to_owned()
            }
            NoFollowUp::ThreadFull => format!(
                "this thread has {MAX_TURNS} turns, the maximum: create a work order with resultBranch instead"
            ),
            NoFollowUp::WaitingFull => format!(
                "{MAX_OPEN_TURNS} turns of this thread have not ended, the maximum: wait for one, or cancel one"
            ),
        }
    }

    /// Why a thread with these numbers of turns takes no other one, if it does not.
    #[must_use]
    pub fn of_counts(turns: u32, open: usize) -> Option<NoFollowUp> {
        if turns >= MAX_TURNS {
            Some(NoFollowUp::ThreadFull)
        } else if open >= MAX_OPEN_TURNS {
            Some(NoFollowUp::WaitingFull)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_thread_is_named_before_a_full_queue_of_turns() {
        let reason = |turns, open| NoFollowUp::of_counts(turns, open).map(NoFollowUp::as_str);
        assert_eq!(reason(1, 1), None);
        assert_eq!(reason(99, 9), None);
        assert_eq!(reason(99, 10), Some("waiting_full"));
        assert_eq!(reason(100, 0), Some("thread_full"));
        assert_eq!(reason(100, 10), Some("thread_full"));
    }
}
