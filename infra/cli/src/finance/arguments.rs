//! Arguments for bookings.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Finance {
    #[command(subcommand)]
    pub action: FinanceAction,
}

#[derive(Debug, Subcommand)]
pub enum FinanceAction {
    /// Show what was booked in a period; it agrees with the ledger
    Report(Report),
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

fn only(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("must be a name, = and a value, such as tenant=acme")?;
    Ok((name.to_owned(), value.to_owned()))
}
