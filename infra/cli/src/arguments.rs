//! Command-line arguments.

mod audit;
mod contexts;
mod control;
mod show;
mod submit;
mod threads;
mod usage;
mod verification;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

pub use self::audit::{Audit, AuditAction, VerifyAudit};
pub use self::contexts::{Context, ContextAction, Login, context_name};
pub use self::control::{Cancel, Follow, Kill, Purge, Start};
pub use self::show::{Credits, Diff, Events, Get, List, Logs, Part, Queue, Runs};
pub use self::submit::{FIELDS, Submit, pairs};
pub use self::threads::{FollowUp, Thread};
pub use self::usage::{By, Usage};
pub use self::verification::{Checks, Verify};
use crate::output::Format;

const AFTER_HELP: &str = "\
awo takes the service's address and the API key from the first of these that is set:
  --url, --context or --data-dir
  AWO_URL with AWO_API_KEY or --api-key-file, AWO_CONTEXT, AWO_DATA_DIR
  the current context (awo login, awo context)
  the local service: the one in .local of this folder, else the last one that `make run` started

A work order or a run is named by its id, the beginning of its id, or @latest.

Exit codes:
  0    success
  1    the followed run did not succeed (with --require-verified: or its result is not verified),
       a kill could not be confirmed, an audit is broken, or awo doctor misses a layer
  2    the command line is invalid
  3    the service refused the request
  4    the service cannot be reached
  130  interrupted (a followed run continues)

Examples:
  awo submit --prompt 'Fix the failing tests' --follow       # the repository in this folder
  awo submit --repo https://example.com/team/project.git --prompt @task.md
  awo get @latest
  awo diff @latest | git apply
  awo cancel wo_01k0000000000000000000000a --reason 'wrong branch' --wait";

/// Submit coding tasks to the Agent Work Order Service and follow them.
#[derive(Debug, Parser)]
#[command(name = "awo", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Arguments {
    #[command(flatten)]
    pub connection: Connection,
    /// Print only the API's JSON on standard output; the same as --format json
    #[arg(long, global = true, conflicts_with = "format")]
    json: bool,
    /// Output format [default: table]
    #[arg(long, global = true, value_enum)]
    format: Option<Format>,
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// How answers are written.
    pub fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            self.format.unwrap_or(Format::Table)
        }
    }
}

/// Where the service is.
#[derive(Debug, Args)]
pub struct Connection {
    /// Address of the service; https, or http on loopback [env: AWO_URL]
    #[arg(long, global = true, value_name = "URL", help_heading = "Connection")]
    pub url: Option<String>,
    /// Context to use: a service and key that `awo login` stored [env: AWO_CONTEXT]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Connection", conflicts_with_all = ["url", "data_dir"])]
    pub context: Option<String>,
    /// File that contains the API key [default: the key in AWO_API_KEY]
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
    /// Continue the work of a work order with another task, on the same branch
    FollowUp(Box<FollowUp>),
    /// Show the thread of a work order: the turns on one branch
    Thread(Thread),
    /// Start a new run of a queued or failed work order
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
    /// Show the agent's output
    Logs(Logs),
    /// Show every check of a run's verifications, with the full message
    Checks(Checks),
    /// Verify a working copy as a run does, without service, agent or credits
    Verify(Verify),
    /// Show a run's changes as a unified diff
    Diff(Diff),
    /// Show and verify the audit record of a run's configuration
    Audit(Audit),
    /// Permanently delete work orders and their runs
    Purge(Purge),
    /// Show the state of the queue, or a work order's position in it
    Queue(Queue),
    /// List work orders, newest first
    List(List),
    /// List runs, newest first
    Runs(Runs),
    /// Show the credit balance and the newest transactions
    Credits(Credits),
    /// Show the pull requests of threads: merged, closed and open, and the cost of a merged one
    Outcomes(crate::outcomes::Outcomes),
    /// Show the usage of finished runs by model or day, or their charges by tenant or cost label
    Usage(Usage),
    /// Print the address of the console, a page that shows money and runs in a browser
    Console,
    /// Show costs by model, tenant, label and more
    Finance(crate::finance::arguments::Finance),
    /// Manage webhooks
    Webhooks(crate::webhooks::arguments::Webhooks),
    /// Receive events on this machine while developing
    Listen(crate::listen::arguments::Listen),
    /// Send a sample event to the receiver of awo listen
    Trigger(crate::listen::arguments::Trigger),
    /// Serve the Model Context Protocol on standard input and output, for agents as clients
    Mcp,
    /// Manage schedules: work orders at the times of a cron expression
    Schedules(crate::schedules::arguments::Schedules),
    /// Manage inboxes: URLs to which forges and other senders post signed deliveries
    Inboxes(crate::inboxes::arguments::Inboxes),
    /// Manage triggers: work orders for events of forges and other senders
    Triggers(crate::triggers::arguments::Triggers),
    /// Manage environments: variables, secrets, setup, caches, registries, size
    Environments(crate::environments::arguments::Environments),
    /// Manage harness profiles
    Profiles(crate::profiles::arguments::Profiles),
    /// Manage templates of workspace sources
    Templates(crate::templates::arguments::Templates),
    /// Manage verification plugins
    Plugins(crate::plugins::arguments::Plugins),
    /// Verify the workspace of a run on the service
    Verification(crate::verification::arguments::Verification),
    /// Show the layers that confine client code on this machine, what is missing, and how to repair it
    Doctor,
    /// Print the service's OpenAPI document
    Openapi,
    /// Print a shell's completion script
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all manual pages to a folder
    Man {
        /// Folder to write to, such as /usr/local/share/man/man1
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Store a service's address and API key, and use that service
    Login(Login),
    /// Manage the contexts that awo login stored
    Context(Context),
    /// Operate the service: organizations, keys, credits, limits and secrets
    Admin(crate::admin::arguments::Admin),
}

pub fn names<const N: usize>(names: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(names)
}

#[cfg(test)]
mod tests;
