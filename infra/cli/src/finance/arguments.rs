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
    /// Show what was booked in a period; it agrees with the ledger
    Report(Report),
    /// Limit what may be spent in a period, and see how far it is
    Budgets(Budgets),
    /// Show what the ledger says of a month, or of all
    Statements(Statements),
    /// Close a month before the sweep does; on the stores themselves, like awo admin
    Close(Close),
    /// Check closed months: their chain of hashes, and each against the ledger
    Verify,
    /// Show what models and compute cost
    Prices(PricesWanted),
    /// Write the charges of a month as FOCUS 1.2 has them, as CSV
    Export(Export),
    /// Compare what models used and cost with a provider's own report
    Reconcile(Reconcile),
}

#[derive(Debug, Args)]
pub struct PricesWanted {
    /// Only models in whose names this is
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,
}

#[derive(Debug, Args)]
pub struct Report {
    /// First moment of the period: a day in UTC, or a time such as 2026-11-20T08:00:00Z [default: this month]
    #[arg(long, value_name = "DATE")]
    pub from: Option<String>,
    /// First moment after the period
    #[arg(long, value_name = "DATE")]
    pub to: Option<String>,
    /// What rows are told apart by: model, tenant, tenantUser, repository, agent, harness, key,
    /// outcome or label:NAME, or model and one of the others with a comma between
    #[arg(long, value_name = "NAME", default_value = "model")]
    pub by: String,
    /// Into what periods rows are divided
    #[arg(long, value_parser = ["none", "day", "month"], default_value = "none")]
    pub bucket: String,
    /// Only what has this value, such as tenant=acme or label:team=red; may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = only)]
    pub only: Vec<(String, String)>,
    /// All rows as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The month in UTC, such as 2026-11
    #[arg(long, value_name = "MONTH")]
    pub month: String,
    /// This day of it alone, such as 20
    #[arg(long, value_name = "DAY")]
    pub day: Option<String>,
    /// Where to write it [default: the standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Whose report is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Provider {
    Anthropic,
    Openai,
}

#[derive(Debug, Args)]
pub struct Reconcile {
    /// The month in UTC, such as 2026-11
    #[arg(long, value_name = "MONTH")]
    pub month: String,
    /// Whose report it is
    #[arg(long, value_enum)]
    pub provider: Provider,
    /// Answers of the provider's usage and cost reports by day and model, as JSON; may be given again
    #[arg(long, value_name = "FILE", required = true)]
    pub file: Vec<PathBuf>,
    /// By how many per cent a model's tokens and dollars of the month may differ
    #[arg(long, value_name = "PER_CENT", default_value_t = 1.0)]
    pub tolerance: f64,
}

fn only(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("must be a name, = and a value, such as tenant=acme")?;
    Ok((name.to_owned(), value.to_owned()))
}
