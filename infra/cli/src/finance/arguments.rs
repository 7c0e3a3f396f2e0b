//! Arguments for bookings.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::budgets::Budgets;
use super::close::Close;
use super::statements::Statements;

#[derive(Debug, Args)]
pub struct Finance {
    #[command(subcommand)]
    pub action: FinanceAction,
}

#[derive(Debug, Subcommand)]
pub enum FinanceAction {
    /// Show the amounts booked in a period; they agree with the ledger
    Report(Report),
    /// Manage budgets: limits of the spending in a period
    Budgets(Budgets),
    /// Show the statement of a month, or list all months
    Statements(Statements),
    /// Close a month before the sweep does; accesses the tables directly, like awo admin
    Close(Close),
    /// Check the hash chain of closed months, and compare each month with the ledger
    Verify,
    /// Show the prices of models and compute
    Prices(PricesWanted),
    /// Export the charges of a month as CSV in the format FOCUS 1.2
    Export(Export),
    /// Compare usage and costs of models with a provider's own report
    Reconcile(Reconcile),
}

#[derive(Debug, Args)]
pub struct PricesWanted {
    /// Only models whose names contain this text
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,
}

#[derive(Debug, Args)]
pub struct Report {
    /// Start of the period, included: a UTC date, or a time such as 2026-11-20T08:00:00Z [default: this month]
    #[arg(long, value_name = "DATE")]
    pub from: Option<String>,
    /// End of the period, excluded
    #[arg(long, value_name = "DATE")]
    pub to: Option<String>,
    /// Group the rows by model, tenant, tenantUser, repository, agent, harness, key, outcome or
    /// label:NAME, or by model and one of the others, separated by a comma
    #[arg(long, value_name = "NAME", default_value = "model")]
    pub by: String,
    /// Divide the rows by day or month
    #[arg(long, value_parser = ["none", "day", "month"], default_value = "none")]
    pub bucket: String,
    /// Only charges with this value, such as tenant=acme or label:team=red; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = only)]
    pub only: Vec<(String, String)>,
    /// Print all rows as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct Export {
    /// Month in UTC, such as 2026-11
    #[arg(long, value_name = "MONTH")]
    pub month: String,
    /// Only this day of the month, such as 20
    #[arg(long, value_name = "DAY")]
    pub day: Option<String>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Provider of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Provider {
    Anthropic,
    Openai,
}

#[derive(Debug, Args)]
pub struct Reconcile {
    /// Month in UTC, such as 2026-11
    #[arg(long, value_name = "MONTH")]
    pub month: String,
    /// Provider of the report
    #[arg(long, value_enum)]
    pub provider: Provider,
    /// Responses of the provider's usage and cost reports by day and model, as JSON; may be repeated
    #[arg(long, value_name = "FILE", required = true)]
    pub file: Vec<PathBuf>,
    /// Maximum difference in a model's tokens and dollars of the month, in per cent
    #[arg(long, value_name = "PER_CENT", default_value_t = 1.0)]
    pub tolerance: f64,
}

fn only(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("must be a name, = and a value, such as tenant=acme")?;
    Ok((name.to_owned(), value.to_owned()))
}
