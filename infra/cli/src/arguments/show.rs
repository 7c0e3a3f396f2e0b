//! Arguments for showing and listing work.

use awo_domain::run::RunStatus;
use awo_domain::work_order::WorkOrderStatus;
use clap::Args;

use super::names;
use crate::reference::{self, Reference};

#[derive(Debug, Args)]
pub struct Events {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Show new events as they occur, until the run ends
    #[arg(long)]
    pub follow: bool,
    /// Only events after this sequence number
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32))]
    pub after: u32,
}

#[derive(Debug, Args)]
pub struct Logs {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Only the output of this iteration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

#[derive(Debug, Args)]
pub struct Queue {
    /// Id of a work order, or of one of its runs, to show its position in the queue
    #[arg(value_parser = reference::parse)]
    pub id: Option<Reference>,
}

#[derive(Debug, Args)]
pub struct Get {
    /// Id of a work order or a run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

/// Which part of a list.
#[derive(Debug, Args)]
pub struct Part {
    /// Maximum number of entries to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
    /// Show all, regardless of --limit
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct List {
    /// Only work orders in this status
    #[arg(long, value_parser = names(WorkOrderStatus::ALL.map(WorkOrderStatus::as_str)))]
    pub status: Option<String>,
    /// Only work orders of this tenant
    #[arg(long, value_name = "ID")]
    pub tenant: Option<String>,
    /// Only work orders of this tenant user
    #[arg(long, value_name = "ID")]
    pub tenant_user: Option<String>,
    /// Only children of this work order
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub parent: Option<Reference>,
    /// Only work orders that this trigger created
    #[arg(long, value_name = "ID")]
    pub trigger: Option<String>,
    /// Only work orders that this schedule created
    #[arg(long, value_name = "ID")]
    pub schedule: Option<String>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Runs {
    /// Only runs of this work order
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub work_order: Option<Reference>,
    /// Only runs in this status
    #[arg(long, value_parser = names(RunStatus::ALL.map(RunStatus::as_str)))]
    pub status: Option<String>,
    /// Only runs of this tenant
    #[arg(long, value_name = "ID")]
    pub tenant: Option<String>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Credits {
    /// Show only the transactions; with --json, print the API's page of transactions
    #[arg(long)]
    pub transactions: bool,
    /// Transactions from this time on: a UTC date, or a time such as 2026-11-20T08:00:00Z
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
    /// Transactions of this tenant user
    #[arg(long, value_name = "ID")]
    tenant_user: Option<String>,
    /// Maximum number of transactions to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
    /// Show all, regardless of --limit
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
