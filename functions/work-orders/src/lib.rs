//! Routes of work orders.

pub mod cancel_work_order;
pub mod create_work_order;
pub mod follow_up_work_order;
pub mod get_thread;
pub mod get_work_order;
pub mod kill_work_order;
pub mod list_work_orders;
mod opening;
pub mod purge_work_orders;
pub mod start_run;

use awo_http::program::{ApiProgram, streaming, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CANCEL_WORK_ORDER, cancel_work_order::function),
    whole(&routes::CREATE_WORK_ORDER, create_work_order::function),
    whole(
        &routes::FOLLOW_UP_WORK_ORDER,
        follow_up_work_order::function,
    ),
    whole(&routes::GET_THREAD, get_thread::function),
    whole(&routes::GET_WORK_ORDER, get_work_order::function),
    streaming(&routes::KILL_WORK_ORDER, kill_work_order::function),
    whole(&routes::LIST_WORK_ORDERS, list_work_orders::function),
    streaming(&routes::PURGE_WORK_ORDERS, purge_work_orders::function),
    whole(&routes::START_RUN, start_run::function),
];
