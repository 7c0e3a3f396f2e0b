//! Routes of usage.

pub mod export_focus;
pub mod get_outcomes;
pub mod get_usage_report;
pub mod get_usage_summary;

mod csv;
mod outcomes;
mod period;
mod report;

use awo_http::program::{ApiProgram, streaming, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    streaming(&routes::EXPORT_FOCUS, export_focus::function),
    whole(&routes::GET_OUTCOMES, get_outcomes::function),
    whole(&routes::GET_USAGE_REPORT, get_usage_report::function),
    whole(&routes::GET_USAGE_SUMMARY, get_usage_summary::function),
];
