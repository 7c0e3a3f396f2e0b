//! Costs and their dimensions.

pub mod focus;
pub mod labels;
pub mod measures;
pub mod record;
pub mod report;
pub mod sums;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::WorkOrderId;

/// The dimensions of a run's cost, as of its work order's creation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attribution {
    /// The repository's URL.
    pub repository: String,
    /// The agent's type.
    pub agent: String,
    /// The profile's name.
    pub harness: String,
    /// The id of the key that created the work order, or the root of its family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The id of the key that last wrote the schedule that stands as the key, in whose budgets it counts too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_by: Option<String>,
    /// The thread whose outcome it counts in: of the work order, or of the root of its family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<WorkOrderId>,
    /// Values of cost labels, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}
