//! Agent logs, as the API shows them.

use awo_store::runs::logs::Log;
use serde::Serialize;
use utoipa::ToSchema;

/// An agent's output in an iteration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunLog)]
pub struct LogShape {
    /// The iteration, from 1.
    iteration: u32,
    /// The end of the agent's output as text, at most 256 KiB.
    output: String,
    /// How many bytes the agent wrote in all.
    bytes: u64,
    /// True if `output` is not the whole output.
    truncated: bool,
    /// Why the stored output cannot be read, if it cannot.
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
                .then_some("the stored output cannot be read"),
            output: output.unwrap_or_default(),
        }
    }
}

/// The agents' output, by iteration.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunLogPage)]
pub struct LogsShape {
    /// In the order of iterations.
    pub logs: Vec<LogShape>,
    /// True if there are more.
    pub has_more: bool,
}
