//! Resources as the API shows them.

pub use credits::{BalanceShape, TransactionShape};
pub use log::{LogShape, LogsShape};
pub use queue::{QueueHealthShape, QueuePositionShape};
pub use run::{RunShape, StartedRunShape, TimelineShape};
pub use stop::{CanceledShape, KilledShape};
pub use work_order::WorkOrderShape;

mod credits;
mod log;
mod queue;
mod run;
mod stop;
mod work_order;
