//! How clients stop runs. A cancel responds at once: the run is `canceled`, and its processes end
//! afterwards. A kill responds when they have ended, and the way they ended determines the run's
//! status.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;
use crate::run::{RunEnd, RunError, RunErrorCode};

/// Longest reason of a stop, in characters.
pub const MAX_REASON: usize = 1_000;
/// Default grace of a kill.
pub const DEFAULT_GRACE_MS: u64 = 5_000;
/// Longest grace of a kill.
pub const MAX_GRACE_MS: u64 = 30_000;
/// How long after its grace a kill may still be confirmed.
pub const CONFIRM_MS: u64 = 60_000;

/// A client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RunStopKind)]
pub enum StopKind {
    /// A cancel.
    Cancel,
    /// A kill.
    Kill,
}

/// A client's request to stop a run, recorded for its audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// The request.
    pub kind: StopKind,
    /// In the client's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub requested_at: Timestamp,
}

/// How a run ends that was killed: by force, or because it was asked to.
#[must_use]
pub fn end_of_kill(forced: bool, reason: Option<&str>) -> RunEnd {
    if !forced {
        return RunEnd::Canceled;
    }
    let why = reason
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    RunEnd::Failed(RunError::new(
        RunErrorCode::Killed,
        &format!("the run was killed by force{why}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_that_forced_is_failed_and_one_that_only_asked_is_canceled() {
        assert_eq!(end_of_kill(false, Some("why")), RunEnd::Canceled);
        let RunEnd::Failed(error) = end_of_kill(true, Some("it hangs")) else {
            panic!("not failed");
        };
        assert_eq!(error.code, RunErrorCode::Killed);
        assert!(error.message.contains("it hangs"), "{}", error.message);
    }
}
