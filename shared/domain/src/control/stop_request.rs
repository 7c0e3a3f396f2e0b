//! A client's request to stop an active run; a stronger stop request replaces a weaker one.

use serde::{Deserialize, Serialize};

/// How a client wants a run to stop before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum StopRequest {
    /// SIGINT, so that an agent can still report its usage; then SIGTERM; then SIGKILL.
    Cancel,
    /// SIGTERM, the grace period, SIGKILL.
    Kill {
        /// From SIGTERM to SIGKILL.
        grace_period_ms: u64,
        /// SIGKILL at once.
        immediate: bool,
    },
}

impl StopRequest {
    /// True if this one is not content with what `earlier` asked for.
    #[must_use]
    pub fn is_stronger_than(self, earlier: StopRequest) -> bool {
        self.haste() < earlier.haste()
    }

    /// What a tree may take at most; a cancel may always take longest.
    fn haste(self) -> u64 {
        match self {
            StopRequest::Cancel => u64::MAX,
            StopRequest::Kill {
                immediate: true, ..
            } => 0,
            StopRequest::Kill {
                grace_period_ms, ..
            } => grace_period_ms.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stronger_stop_request_is_one_that_leaves_less_time() {
        let kill = |grace_period_ms, immediate| StopRequest::Kill {
            grace_period_ms,
            immediate,
        };
        let by_strength = [
            StopRequest::Cancel,
            kill(5_000, false),
            kill(0, false),
            kill(9, true),
        ];
        for (i, weaker) in by_strength.iter().enumerate() {
            for (j, stronger) in by_strength.iter().enumerate() {
                assert_eq!(stronger.is_stronger_than(*weaker), j > i);
            }
        }
    }
}
