//! What can be typed.

mod audit;
mod usage;
mod verification;

use std::path::PathBuf;

use awo_domain::agent::AgentType;
use awo_domain::run::RunStatus;
use awo_domain::work_order::{MAX_ITERATIONS, WorkOrderStatus};
use awo_domain::{RunId, WorkOrderId};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

pub use self::audit::{Audit, AuditAction, VerifyAudit};
pub use self::usage::{By, Usage};
pub use self::verification::{Checks, Verify};
use crate::quantity::{self, Id};

const AFTER_HELP: &str = "\
The service and the key are found in this order:
  --url or AWO_URL, with --api-key-file or AWO_API_KEY
  the local service of the data directory (--data-dir or AWO_DATA_DIR, else .local)

Exit codes:
  0    done
  1    the run that was followed did not succeed (with --require-verified: or was not verified), a kill could not be confirmed, or an audit
       is broken
  2    the command line is wrong
  3    the service refused
  4    the service cannot be reached
  130  interrupted (a run that is followed goes on)

Examples:
  awo submit --repo https://example.com/team/project.git --prompt 'Fix the failing tests' --follow
  awo list --status running
  awo get run_01k0000000000000000000000a --json
  awo cancel wo_01k0000000000000000000000a --reason 'wrong branch' --wait";

/// Submit coding tasks to the Agent Work Order Service and follow them.
#[derive(Debug, Parser)]
#[command(name = "awo", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Arguments {
    #[command(flatten)]
    pub connection: Connection,
    /// Answer on standard output with the API's JSON and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// Where the service is.
#[derive(Debug, Args)]
pub struct Connection {
    /// Address of the service; https, or http on loopback [env: AWO_URL]
    #[arg(long, global = true, value_name = "URL", help_heading = "Connection")]
    pub url: Option<String>,
    /// File that holds the API key; else the key is taken from AWO_API_KEY
    #[arg(long, global = true, value_name = "PATH", help_heading = "Connection")]
    pub api_key_file: Option<PathBuf>,
    /// Data directory of the local service [env: AWO_DATA_DIR] [default: .local]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Connection")]
    pub data_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Submit a work order
    Submit(Box<Submit>),
    /// Start a new run of a work order that is queued or has failed
    Start(Start),
    /// Follow a run until it ends
    Follow(Follow),
    /// Cancel a work order or a run
    Cancel(Cancel),
    /// Kill the processes of a work order
    Kill(Kill),
    /// Show a work order or a run
    Get(Get),
    /// Show the events of a run
    Events(Events),
    /// Show what the agent printed
    Logs(Logs),
    /// Show every check of every verification of a run, with its whole message
    Checks(Checks),
    /// Verify a working copy as a run would, without service, agent or credits
    Verify(Verify),
    /// Show what a run has changed, as a unified diff
    Diff(Diff),
    /// Check what a run went by
    Audit(Audit),
    /// Delete work orders for good, with their runs
    Purge(Purge),
    /// Show how full the queue is, or the place of a work order in it
    Queue(Queue),
    /// List work orders, newest first
    List(List),
    /// List runs, newest first
    Runs(Runs),
    /// Show the credit balance and the newest transactions
    Credits(Credits),
    /// Show what finished runs used, by model or by day
    Usage(Usage),
    /// Tell other services what happens to runs
    Webhooks(crate::webhooks::arguments::Webhooks),
    /// Operate the service: organizations, keys, credits, limits, secrets
    Admin(crate::admin::arguments::Admin),
}

const SUBMIT_HELP: &str = "\
Examples:
  awo submit --repo https://example.com/team/project.git --prompt @task.md --follow
  git diff | awo submit --repo https://example.com/team/project.git --branch next --prompt -
  awo submit --repo file:///home/me/project --prompt 'Fix the tests' --command ./fix.sh --fast";

#[derive(Debug, Args)]
#[command(after_help = SUBMIT_HELP)]
pub struct Submit {
    /// Repository to work on: an https URL (the local service also takes file:///…)
    #[arg(long, value_name = "URL")]
    pub repo: String,
    /// The task: its text, @FILE to read it from a file, or - for standard input
    #[arg(long, value_name = "TEXT")]
    pub prompt: String,
    /// Branch to start from [default: the repository's default branch]
    #[arg(long)]
    pub branch: Option<String>,
    /// Agent to run [default: the service's]
    #[arg(long, value_name = "TYPE", value_parser = names(AgentType::ALL.map(AgentType::as_str)))]
    pub agent: Option<String>,
    /// Model for the agent; needs --agent
    #[arg(long, requires = "agent")]
    pub model: Option<String>,
    /// Program of a command agent and its arguments; all that follows belongs to it
    #[arg(long, value_name = "ARGV", num_args = 1.., allow_hyphen_values = true)]
    pub command: Option<Vec<String>>,
    /// The same as a JSON array of strings, wherever it stands
    #[arg(long, value_name = "JSON", conflicts_with = "command", value_parser = quantity::argv)]
    pub command_json: Option<quantity::Argv>,
    /// Most iterations of agent and verification
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITERATIONS)))]
    pub max_iterations: Option<u32>,
    /// Most credits that the run may use
    #[arg(long, value_name = "N", value_parser = quantity::credits)]
    pub max_credits: Option<quantity::Credits>,
    /// Longest time the run may take, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub max_duration: Option<u64>,
    /// Tenant that the work is for
    #[arg(long, value_name = "ID")]
    pub tenant: Option<String>,
    /// User of that tenant
    #[arg(long, value_name = "ID", requires = "tenant")]
    pub tenant_user: Option<String>,
    /// A pair to keep with the work order; may be repeated
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = quantity::pair)]
    pub metadata: Vec<(String, String)>,
    /// Harness profile [default: default]
    #[arg(long, value_name = "PROFILE")]
    pub harness: Option<String>,
    /// Names this submission, so that it is made once however often it is sent [default: a fresh
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Show the run's progress until it ends
    #[arg(long)]
    pub follow: bool,
    /// Follow the run, and exit with 1 unless its result is verified
    #[arg(long)]
    pub require_verified: bool,
}

pub fn names<const N: usize>(names: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(names)
}

#[derive(Debug, Args)]
pub struct Follow {
    /// The run: run_…
    #[arg(value_parser = quantity::run_id)]
    pub run: RunId,
    /// Exit with 1 unless its result is verified
    #[arg(long)]
    pub require_verified: bool,
}

#[derive(Debug, Args)]
pub struct Start {
    /// The work order: wo_…
    #[arg(value_parser = quantity::work_order_id)]
    pub work_order: WorkOrderId,
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
    /// A work order (wo_…) or a run (run_…)
    #[arg(value_parser = quantity::id)]
    pub id: Id,
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
    /// The work order: wo_…
    #[arg(value_parser = quantity::work_order_id)]
    pub work_order: WorkOrderId,
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

#[derive(Debug, Args)]
pub struct Events {
    /// A run (run_…), or a work order (wo_…) for its newest run
    #[arg(value_parser = quantity::id)]
    pub id: Id,
    /// Go on showing them as they come, until the run ends
    #[arg(long)]
    pub follow: bool,
    /// Only those after this sequence
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32))]
    pub after: u32,
}

#[derive(Debug, Args)]
pub struct Logs {
    /// A run (run_…), or a work order (wo_…) for its newest run
    #[arg(value_parser = quantity::id)]
    pub id: Id,
    /// Only this iteration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// A run (run_…), or a work order (wo_…) for its newest run
    #[arg(value_parser = quantity::id)]
    pub id: Id,
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

#[derive(Debug, Args)]
pub struct Queue {
    /// A work order (wo_…), to see its place
    #[arg(value_parser = quantity::work_order_id)]
    pub work_order: Option<WorkOrderId>,
}

#[derive(Debug, Args)]
pub struct Get {
    /// A work order (wo_…) or a run (run_…)
    #[arg(value_parser = quantity::id)]
    pub id: Id,
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
    /// Only the children of this work order: wo_…
    #[arg(long, value_name = "ID", value_parser = quantity::work_order_id)]
    pub parent: Option<WorkOrderId>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Runs {
    /// Only those of this work order: wo_…
    #[arg(long, value_name = "ID", value_parser = quantity::work_order_id)]
    pub work_order: Option<WorkOrderId>,
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
    /// How many transactions to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
}

#[cfg(test)]
mod tests;
