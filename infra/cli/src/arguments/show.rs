//! Arguments for showing and listing work.

use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderStatus;
use clap::Args;

use super::names;
use crate::reference::{self, Reference};

#[derive(Debug, Args)]
pub struct Events {
    /// A run, or a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Go on showing them as they come, until the run ends
    #[arg(long)]
    pub follow: bool,
    /// Only those after this sequence
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32))]
    pub after: u32,
}

#[derive(Debug, Args)]
pub struct Logs {
    /// A run, or a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Only this iteration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// A run, or a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

#[derive(Debug, Args)]
pub struct Queue {
    /// A work order, or a run of it, to see its position
    #[arg(value_parser = reference::parse)]
    pub id: Option<Reference>,
}

#[derive(Debug, Args)]
pub struct Get {
    /// A work order or a run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

/// Which part of a list.
#[derive(Debug, Args)]
pub struct Part {
    /// How many to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
    /// Show all of them, however many
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct List {
    /// Only those in this status
    #[arg(long, value_parser = names(WorkOrderStatus::ALL.map(WorkOrderStatus::as_str)))]
    pub status: Option<String>,
    /// Only those of this tenant
    #[arg(long, value_name = "ID")]
    pub tenant: Option<String>,
    /// Only those of this user of a tenant
    #[arg(long, value_name = "ID")]
    pub tenant_user: Option<String>,
    /// Only the children of this work order
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub parent: Option<Reference>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Runs {
    /// Only those of this work order
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub work_order: Option<Reference>,
    /// Only those in this status
    #[arg(long, value_parser = names(RunStatus::ALL.map(RunStatus::as_str)))]
    pub status: Option<String>,
    /// Only those of this tenant
    #[arg(long, value_name = "ID")]
    pub tenant: Option<String>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Credits {
    /// Show the transactions only; with --json, the API's page of them instead of the balance
    #[arg(long)]
    pub transactions: bool,
    /// Transactions from this time on: a day in UTC, or a time such as 2026-11-20T08:00:00Z
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Transactions before this time
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    /// Transactions of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = names(["deduction", "purchase", "refund"]))]
    kind: Option<String>,
    /// Transactions of this tenant
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Transactions of this user of a tenant
    #[arg(long, value_name = "ID")]
    tenant_user: Option<String>,
    /// How many transactions to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
    /// Show all of them, however many
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

impl Credits {
    /// The filter of the transactions.
    pub fn query(&self) -> Vec<(&'static str, String)> {
        let filters = [
            ("startDate", &self.from),
            ("endDate", &self.to),
            ("type", &self.kind),
            ("tenantId", &self.tenant),
            ("tenantUserId", &self.tenant_user),
        ];
        let filters = filters.into_iter();
        let there = filters.filter_map(|(name, value)| Some((name, value.clone()?)));
        there.collect()
    }

    /// True where only some of the transactions are wanted.
    pub fn is_filtered(&self) -> bool {
        self.all || !self.query().is_empty()
    }
}
