//! Resources as the API shows them.

pub use credits::{BalanceShape, TransactionShape};
pub use diff::DiffShape;
pub use log::LogShape;
pub use purge::PurgeShape;
pub use queue::{HealthShape, PositionShape};
pub use run::RunShape;
pub use work_order::WorkOrderShape;

mod credits;
mod diff;
mod log;
mod purge;
mod queue;
mod run;
mod work_order;
