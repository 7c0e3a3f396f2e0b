//! Agent logs, as the API shows them.

use awo_store::logs::Log;
use serde::Serialize;
use utoipa::ToSchema;

/// What an agent wrote in an iteration.
#[derive(Debug, Serialize, ToSchema)]
pub struct LogShape {
    iteration: u32,
    output: String,
    bytes: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

impl From<&Log> for LogShape {
    fn from(log: &Log) -> LogShape {
        let output = log.output();
        LogShape {
            iteration: log.iteration,
            bytes: log.bytes,
            truncated: log.truncated || output.is_none(),
            error: output
                .is_none()
                .then_some("what was kept of this output cannot be read"),
            output: output.unwrap_or_default(),
        }
    }
}

/// What agents wrote, by iteration.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsShape {
    /// In the order of iterations.
    pub logs: Vec<LogShape>,
    /// True if there are more.
    pub has_more: bool,
}
