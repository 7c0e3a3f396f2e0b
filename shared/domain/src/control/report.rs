//! Reports of a runner while its run goes on, and their answers.

use serde::{Deserialize, Serialize};

use super::{RunnerEvent, StopRequest, wire_profile};
use crate::Timestamp;
use crate::profile::Profile;

/// An event with the runner's own number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NumberedEvent {
    /// From 1, without gaps.
    pub number: u64,
    /// When it happened, by the runner's clock.
    pub at: Timestamp,
    /// Events that happened.
    pub event: RunnerEvent,
}

/// A report; without events it is a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// At most [`MAX_REPORTED_EVENTS`](super::MAX_REPORTED_EVENTS).
    pub events: Vec<NumberedEvent>,
    /// True once a process of client code has started: from then on the run's compute is paid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executed: bool,
}

/// A run's effective configuration from an iteration on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// The resolved profile.
    #[serde(with = "wire_profile")]
    pub profile: Profile,
    /// Milliseconds that the run may take, from its claim.
    pub max_duration_ms: u64,
}

/// The answer to a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportAnswer {
    /// The highest event number that is stored.
    pub acknowledged: u64,
    /// A client's stop request, if there is one. From then on events are no longer stored;
    /// the last report is, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_request: Option<StopRequest>,
    /// The effective configuration of the iteration whose start was reported, as it is audited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Box<Configuration>>,
}
