//! Resources as the API shows them.

pub use credits::{BalanceShape, TransactionShape};
pub use log::LogShape;
pub use queue::{HealthShape, PositionShape};
pub use run::RunShape;
pub use work_order::WorkOrderShape;

mod credits;
mod log;
mod queue;
mod run;
mod work_order;
