//! Audits of runs.

pub mod output;
