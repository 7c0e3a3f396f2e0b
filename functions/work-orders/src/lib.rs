//! Routes of work orders.

pub mod cancel_work_order;
pub mod create_work_order;
pub mod get_work_order;
pub mod kill_work_order;
pub mod list_work_orders;
pub mod purge_work_orders;
pub mod start_run;
