//! The result of a purge, as the API shows it.

use awo_domain::WorkOrderId;
use serde::Serialize;
use utoipa::ToSchema;

/// The outcome of a purge or of its dry run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PurgeResult)]
pub struct PurgeShape {
    /// How many work orders this call deleted.
    deleted_count: usize,
    /// Their ids.
    deleted_ids: Vec<WorkOrderId>,
    /// How many work orders match now; only in the answer to a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_delete: Option<u64>,
}

impl PurgeShape {
    /// These are deleted.
    #[must_use]
    pub fn deleted(ids: Vec<WorkOrderId>) -> PurgeShape {
        PurgeShape {
            deleted_count: ids.len(),
            deleted_ids: ids,
            would_delete: None,
        }
    }

    /// So many would be deleted.
    #[must_use]
    pub fn dry(would_delete: u64) -> PurgeShape {
        PurgeShape {
            deleted_count: 0,
            deleted_ids: Vec::new(),
            would_delete: Some(would_delete),
        }
    }
}
