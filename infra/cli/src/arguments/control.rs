//! Arguments for starting, following and ending work.

use awo_domain::work_order::WorkOrderStatus;
use clap::Args;

use super::names;
use crate::quantity;
use crate::reference::{self, Reference};

#[derive(Debug, Args)]
pub struct Follow {
    /// A run, or a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Exit with 1 unless its result is verified
    #[arg(long)]
    pub require_verified: bool,
}

#[derive(Debug, Args)]
pub struct Start {
    /// A work order, or a run of it
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Show the run's progress until it ends
    #[arg(long)]
    pub follow: bool,
    /// Follow the run, and exit with 1 unless its result is verified
    #[arg(long)]
    pub require_verified: bool,
    /// Names this start, so that it is made once however often it is sent [default: a fresh
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct Cancel {
    /// A work order or a run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Why; it is kept with the run
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Wait until its processes are gone and it is paid, and show what it cost
    #[arg(long)]
    pub wait: bool,
}

const KILL_HELP: &str = "\
A kill sends SIGTERM, waits for the grace, sends SIGKILL to whatever is left, and answers when
nothing of it is alive; that may take the grace and a minute more. Work that is to end in good
order, with its last usage reported, is better canceled: awo cancel.";

#[derive(Debug, Args)]
#[command(after_help = KILL_HELP)]
pub struct Kill {
    /// A work order, or a run of it
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// From SIGTERM to SIGKILL, at most 30s [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = quantity::grace_ms)]
    pub grace: Option<u64>,
    /// Without grace: SIGKILL at once
    #[arg(long, conflicts_with = "grace")]
    pub now: bool,
    /// Why; it is kept with the run
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

const PURGE_HELP: &str = "\
What waits is canceled and what runs is killed before it is deleted. Credits, transactions and usage
stay. Without --status it deletes all work orders; the key needs the scope *.

Examples:
  awo purge --status succeeded --status canceled --older-than 30 --dry-run
  awo purge --status failed --yes";

#[derive(Debug, Args)]
#[command(after_help = PURGE_HELP)]
pub struct Purge {
    /// Only those in this status; may be repeated
    #[arg(long, value_parser = names(WorkOrderStatus::ALL.map(WorkOrderStatus::as_str)))]
    pub status: Vec<String>,
    /// Only those that were created more than this many days ago; fractions count
    #[arg(long = "older-than", value_name = "DAYS")]
    pub older_than_days: Option<f64>,
    /// Only say how many it would delete
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
