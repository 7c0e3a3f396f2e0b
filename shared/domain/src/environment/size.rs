//! How large a task is. The deployment's compute rate is for `medium`; the others cost in proportion
//! to their vCPU.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

/// The size of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = EnvironmentSize)]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Size {
    /// Half a vCPU, 1 GiB.
    Small,
    /// 1 vCPU, 4 GiB.
    Medium,
    /// 2 vCPU, 8 GiB.
    Large,
    /// 4 vCPU, 16 GiB.
    Xlarge,
}

impl Size {
    /// Thousandths of a vCPU.
    #[must_use]
    pub fn milli_vcpu(self) -> u32 {
        match self {
            Size::Small => 500,
            Size::Medium => 1_000,
            Size::Large => 2_000,
            Size::Xlarge => 4_000,
        }
    }

    /// ECS's units, of which a vCPU has 1 024.
    #[must_use]
    pub fn cpu_units(self) -> u32 {
        self.milli_vcpu() * 1_024 / 1_000
    }

    /// Memory.
    #[must_use]
    pub fn memory_mib(self) -> u32 {
        match self {
            Size::Small => 1_024,
            Size::Medium => 4_096,
            Size::Large => 8_192,
            Size::Xlarge => 16_384,
        }
    }
}
