//! Routes of work orders.

pub mod create_work_order;
pub mod get_work_order;
pub mod list_work_orders;

mod order;
