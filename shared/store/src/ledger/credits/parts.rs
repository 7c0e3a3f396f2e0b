//! The purposes of deductions.

use awo_domain::ledger::CostParts;
use awo_domain::money::MicroCredits;
use serde::{Deserialize, Serialize};

/// What a deduction is for; nothing of other entries, and of those that were written without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryParts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model_micro: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compute_micro: Option<i64>,
}

impl From<CostParts> for EntryParts {
    fn from(parts: CostParts) -> EntryParts {
        EntryParts {
            model_micro: Some(parts.model.micro()),
            compute_micro: Some(parts.compute.micro()),
        }
    }
}

impl EntryParts {
    /// The parts, if they were written down.
    #[must_use]
    pub fn known(self) -> Option<CostParts> {
        let (model, compute) = self.model_micro.zip(self.compute_micro)?;
        Some(CostParts {
            model: MicroCredits::from_micro(model),
            compute: MicroCredits::from_micro(compute),
        })
    }
}
