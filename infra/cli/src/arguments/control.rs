//! Arguments for starting, following and ending work.

use awo_domain::work_order::WorkOrderStatus;
use clap::Args;

use super::names;
use crate::quantity;
use crate::reference::{self, Reference};

#[derive(Debug, Args)]
pub struct Follow {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Exit with 1 unless the result is verified
    #[arg(long)]
    pub require_verified: bool,
}

#[derive(Debug, Args)]
pub struct Start {
    /// Id of a work order, or of one of its runs
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Follow the run's progress until it ends
    #[arg(long)]
    pub follow: bool,
    /// Follow the run, and exit with 1 unless the result is verified
    #[arg(long)]
    pub require_verified: bool,
    /// Idempotency key: repeating the request with it starts no second run [default: a random
    /// key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct Cancel {
    /// Id of a work order or a run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Reason, stored with the run
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Wait until the processes have ended and the run is settled, and show the cost
    #[arg(long)]
    pub wait: bool,
}

const KILL_HELP: &str = "\
A kill sends SIGTERM, waits for the grace period, sends SIGKILL to the remaining processes, and
returns when no process is left. This can take the grace period plus one minute. To end work in an
orderly way, with its last usage reported, use awo cancel.";

#[derive(Debug, Args)]
#[command(after_help = KILL_HELP)]
pub struct Kill {
    /// Id of a work order, or of one of its runs
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Grace period between SIGTERM and SIGKILL, at most 30s [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = quantity::grace_ms)]
    pub grace: Option<u64>,
    /// Send SIGKILL immediately, without a grace period
    #[arg(long, conflicts_with = "grace")]
    pub now: bool,
    /// Reason, stored with the run
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

const PURGE_HELP: &str = "\
Queued work orders are canceled and running ones are killed before they are deleted. Credits,
transactions and usage are not deleted. Without --status, all work orders are deleted. The key
needs the scope *.

Examples:
  awo purge --status succeeded --status canceled --older-than 30 --dry-run
  awo purge --status failed --yes";

#[derive(Debug, Args)]
#[command(after_help = PURGE_HELP)]
pub struct Purge {
    /// Only work orders in this status; may be repeated
    #[arg(long, value_parser = names(WorkOrderStatus::ALL.map(WorkOrderStatus::as_str)))]
    pub status: Vec<String>,
    /// Only work orders created more than this many days ago, such as 30 or 0.5
    #[arg(long = "older-than", value_name = "DAYS")]
    pub older_than_days: Option<f64>,
    /// Only show how many work orders would be deleted
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Delete without asking for confirmation
    #[arg(long)]
    pub yes: bool,
}
