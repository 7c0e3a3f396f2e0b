//! Arguments for usage of finished runs.

use clap::Args;

use crate::reference::{self, Reference};

/// What the rows of usage are.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum By {
    Model,
    Day,
    Tenant,
}

impl By {
    pub fn name(self) -> &'static str {
        match self {
            By::Model => "model",
            By::Day => "day",
            By::Tenant => "tenant",
        }
    }
}

#[derive(Debug, Args)]
pub struct Usage {
    /// First moment of the period: a day in UTC, or a time such as 2026-11-20T08:00:00Z
    #[arg(long, value_name = "DATE")]
    pub from: Option<String>,
    /// First moment after the period
    #[arg(long, value_name = "DATE")]
    pub to: Option<String>,
    /// What the rows are
    #[arg(long, value_enum, default_value = "model")]
    pub by: By,
    /// Only what was used of this model
    #[arg(long)]
    pub model: Option<String>,
    /// Only this run
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub run: Option<Reference>,
    /// Only the runs of this work order
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub work_order: Option<Reference>,
    /// The API's table by day and model, as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}
