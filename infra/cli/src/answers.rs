//! The API's responses, as far as they are shown. Unknown fields are ignored and statuses are text,
//! so that an older `awo` can read a newer service.

mod verdict;

use std::collections::BTreeMap;

use awo_domain::Timestamp;
use awo_domain::event::TimelineEventType;
use awo_domain::run::RunStatus;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::paint::clean_line;
pub use verdict::{Tests, Verification, verification};

/// Reads an answer.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Broken(format!(
            "the service's response cannot be read ({error}): are the service and awo the same version?"
        ))
    })
}

/// Reads the data of an envelope.
pub fn data<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    #[derive(Deserialize)]
    struct Envelope<T> {
        data: T,
    }
    read(text).map(|envelope: Envelope<T>| envelope.data)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrder {
    pub id: String,
    pub task_prompt: String,
    pub workspace_source: Source,
    pub run_id: String,
    pub status: String,
    #[serde(default)]
    pub tenant_context: Option<Tenant>,
    #[serde(default)]
    pub harness: Option<String>,
    #[serde(default)]
    pub environment: Option<String>,
    #[serde(default)]
    pub agent: Option<Agent>,
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    #[serde(default)]
    pub parent_id: Option<String>,
    #[serde(default)]
    pub thread_id: Option<String>,
    #[serde(default)]
    pub pull_request: Option<PullRequest>,
    #[serde(default)]
    pub verified: Option<bool>,
    pub created_at: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullRequest {
    url: String,
    state: String,
    #[serde(default)]
    merged_as_verified: bool,
}

impl PullRequest {
    /// The state, for people.
    pub fn outcome(&self) -> String {
        let state = clean_line(&self.state);
        if self.merged_as_verified {
            format!("{state} as verified")
        } else {
            state
        }
    }

    /// The page and the state, for people.
    pub fn line(&self) -> String {
        format!("{}  {}", clean_line(&self.url), self.outcome())
    }
}

/// A page of work orders.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrders {
    #[serde(default)]
    pub work_orders: Vec<WorkOrder>,
}

#[derive(Debug, Deserialize)]
pub struct Source {
    #[serde(default)]
    pub repository: String,
    #[serde(default)]
    pub branch: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    pub tenant_id: String,
    #[serde(default)]
    pub tenant_user_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Agent {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub model: Option<String>,
}

/// Failures of a run, by whether its base has them.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    #[serde(default)]
    pub pre_existing: Vec<String>,
    #[serde(default)]
    pub introduced: Vec<String>,
    #[serde(default)]
    pub fixed: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub run_id: String,
    pub work_order_id: String,
    pub status: String,
    #[serde(default)]
    pub phase: Option<String>,
    pub iteration: u32,
    pub max_iterations: u32,
    pub created_at: String,
    #[serde(default)]
    pub started_at: Option<String>,
    #[serde(default)]
    pub completed_at: Option<String>,
    #[serde(default)]
    pub compute_stopped_at: Option<String>,
    #[serde(default)]
    pub settled_at: Option<String>,
    #[serde(default)]
    pub branch: Option<String>,
    #[serde(default)]
    pub commit: Option<String>,
    #[serde(default)]
    pub pr_url: Option<String>,
    #[serde(default)]
    pub verified: Option<bool>,
    #[serde(default)]
    pub verification: Option<Verification>,
    #[serde(default)]
    pub tests_changed: Vec<String>,
    #[serde(default)]
    pub behind: Option<u64>,
    #[serde(default)]
    pub gate_changed: Vec<String>,
    #[serde(default)]
    pub baseline: Option<Baseline>,
    #[serde(default)]
    pub reports: Vec<Report>,
    #[serde(default)]
    pub error: Option<RunFault>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(default)]
    pub cost: Option<Cost>,
    #[serde(default)]
    pub work_dir: Option<String>,
}

/// A report of a run to the forge.
#[derive(Debug, Clone, Deserialize)]
pub struct Report {
    pub kind: String,
    pub state: String,
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
}

impl Run {
    /// True if the run is over.
    pub fn is_over(&self) -> bool {
        RunStatus::parse(&self.status).is_some_and(RunStatus::is_terminal)
    }

    /// True if it did what it was to do.
    pub fn succeeded(&self) -> bool {
        self.status == RunStatus::Succeeded.as_str()
    }

    /// `verified` or `unverified`, of a run that succeeded.
    pub fn verdict(&self) -> Option<&'static str> {
        verification(&self.status, self.verified)
    }

    /// Milliseconds from its slot to its end, of a run that had both.
    pub fn duration_ms(&self) -> Option<i64> {
        let began = Timestamp::parse(self.started_at.as_deref()?).ok()?;
        let ended = Timestamp::parse(self.completed_at.as_deref()?).ok()?;
        Some(ended.ms_since(began))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct RunFault {
    pub code: String,
    pub message: String,
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub retryable: bool,
    #[serde(default)]
    pub remedy: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub total_input_tokens: u64,
    pub total_output_tokens: u64,
    #[serde(default)]
    pub total_cached_input_tokens: u64,
    #[serde(default)]
    pub total_cost_usd: f64,
    #[serde(default)]
    pub by_model: BTreeMap<String, Value>,
    #[serde(default)]
    pub unpriced_models: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Cost {
    pub credits: f64,
    pub usd: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Events {
    pub events: Vec<Event>,
    pub last_sequence: u64,
    #[serde(default)]
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    pub sequence: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub timestamp: Timestamp,
    #[serde(default)]
    pub data: Value,
    /// Members that a newer service adds.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Event {
    /// Its type, if this release knows it.
    pub fn known_type(&self) -> Option<TimelineEventType> {
        TimelineEventType::parse(&self.kind)
    }

    /// True for the event that ends the run, of which each has exactly one.
    pub fn is_last(&self) -> bool {
        self.known_type()
            .is_some_and(TimelineEventType::is_terminal)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Logs {
    pub logs: Vec<Value>,
    #[serde(default)]
    pub has_more: bool,
}

/// The agent's output in one iteration.
#[derive(Debug, Deserialize)]
pub struct Log {
    pub iteration: u32,
    pub output: String,
    /// Of the output before anything was cut.
    #[serde(default)]
    pub bytes: u64,
    #[serde(default)]
    pub truncated: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelAnswer {
    pub was_running: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KillAnswer {
    pub success: bool,
    pub forced_kill: bool,
    #[serde(default)]
    pub duration_ms: Option<i64>,
    pub status: String,
    pub message: String,
    #[serde(default)]
    pub error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartAnswer {
    pub run_id: String,
    pub status: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    pub work_order_id: String,
    pub position: u64,
    pub state: String,
    pub enqueued_at: String,
    #[serde(default)]
    pub estimated_start_time: Option<String>,
    #[serde(default)]
    pub waits_for: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Health {
    pub status: String,
    pub stats: Stats,
    pub indicators: Indicators,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    pub running: u64,
    pub waiting: u64,
    pub max_concurrent: u64,
    pub max_queue_size: u64,
    pub accepting: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Indicators {
    pub can_start_immediately: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Balance {
    pub balance: f64,
    pub reserved: f64,
    pub available: f64,
}

#[derive(Debug, Deserialize)]
pub struct Transactions {
    pub transactions: Vec<Transaction>,
    pub total: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub amount: f64,
    #[serde(default)]
    pub run_id: Option<String>,
    #[serde(default)]
    pub tenant_id: Option<String>,
    pub created_at: String,
}
