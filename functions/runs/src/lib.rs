//! Routes of runs.

pub mod cancel_run;
pub mod get_run;
pub mod get_run_diff;
pub mod get_run_logs;
pub mod list_run_events;
pub mod list_runs;

use awo_http::program::{ApiProgram, streaming, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CANCEL_RUN, cancel_run::function),
    whole(&routes::GET_RUN_DIFF, get_run_diff::function),
    whole(&routes::GET_RUN_LOGS, get_run_logs::function),
    whole(&routes::GET_RUN, get_run::function),
    streaming(&routes::LIST_RUN_EVENTS, list_run_events::function),
    whole(&routes::LIST_RUNS, list_runs::function),
];
