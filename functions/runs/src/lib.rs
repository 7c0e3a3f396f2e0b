//! Routes of runs.

pub mod cancel_run;
pub mod get_run;
pub mod get_run_diff;
pub mod get_run_logs;
pub mod list_run_events;
pub mod list_runs;
