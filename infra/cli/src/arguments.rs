//! Command-line arguments.

mod audit;
mod contexts;
mod control;
mod show;
mod submit;
mod usage;
mod verification;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

pub use self::audit::{Audit, AuditAction, VerifyAudit};
pub use self::contexts::{Context, ContextAction, Login, context_name};
pub use self::control::{Cancel, Follow, Kill, Purge, Start};
pub use self::show::{Credits, Diff, Events, Get, List, Logs, Part, Queue, Runs};
pub use self::submit::Submit;
pub use self::usage::{By, Usage};
pub use self::verification::{Checks, Verify};
use crate::output::Format;

const AFTER_HELP: &str = "\
The service and the key are found in this order:
  --url, --context or --data-dir
  AWO_URL with AWO_API_KEY or --api-key-file, AWO_CONTEXT, AWO_DATA_DIR
  the context in use (awo login, awo context)
  the local service: of .local in this folder, else the one that `make run` started last

Where a work order or a run is named, its id, the beginning of its id or @latest will do.

Exit codes:
  0    done
  1    the run that was followed did not succeed (with --require-verified: or was not verified), a kill could not be confirmed, or an audit
       is broken
  2    the command line is wrong
  3    the service refused
  4    the service cannot be reached
  130  interrupted (a run that is followed goes on)

Examples:
  awo submit --prompt 'Fix the failing tests' --follow       # the repository you are in
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
    /// Answer on standard output with the API's JSON and nothing else: --format json
    #[arg(long, global = true, conflicts_with = "format")]
    json: bool,
    /// How answers are written [default: table]
    #[arg(long, global = true, value_enum)]
    format: Option<Format>,
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// How answers are written.
    pub fn format(&self) -> Format {
        match self.json {
            true => Format::Json,
            false => self.format.unwrap_or(Format::Table),
        }
    }
}

/// Where the service is.
#[derive(Debug, Args)]
pub struct Connection {
    /// Address of the service; https, or http on loopback [env: AWO_URL]
    #[arg(long, global = true, value_name = "URL", help_heading = "Connection")]
    pub url: Option<String>,
    /// Service and key that `awo login` has stored under this name [env: AWO_CONTEXT]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Connection", conflicts_with_all = ["url", "data_dir"])]
    pub context: Option<String>,
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
    /// Show and verify the record of the configuration that a run had
    Audit(Audit),
    /// Delete work orders for good, with their runs
    Purge(Purge),
    /// Show how full the queue is, or the position of a work order in it
    Queue(Queue),
    /// List work orders, newest first
    List(List),
    /// List runs, newest first
    Runs(Runs),
    /// Show the credit balance and the newest transactions
    Credits(Credits),
    /// Show what finished runs used, by model, day or tenant
    Usage(Usage),
    /// Review what was booked, by model, tenant, label and more
    Finance(crate::finance::arguments::Finance),
    /// Manage webhooks
    Webhooks(crate::webhooks::arguments::Webhooks),
    /// Receive events on this machine while developing
    Listen(crate::listen::arguments::Listen),
    /// Send a sample event to the receiver of awo listen
    Trigger(crate::listen::arguments::Trigger),
    /// Manage harness profiles
    Profiles(crate::profiles::arguments::Profiles),
    /// Manage templates of workspace sources
    Templates(crate::templates::arguments::Templates),
    /// Manage verification plugins
    Plugins(crate::plugins::arguments::Plugins),
    /// Have the service verify the workspace of a run
    Verification(crate::verification::arguments::Verification),
    /// Print the service's OpenAPI document
    Openapi,
    /// Print completions for a shell, to be read by it
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all pages into a folder
    Man {
        /// The folder, such as /usr/local/share/man/man1
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Store the address and key of a service, and use it
    Login(Login),
    /// Choose among the services that awo login has stored
    Context(Context),
    /// Operate the service: organizations, keys, credits, limits, secrets
    Admin(crate::admin::arguments::Admin),
}

pub fn names<const N: usize>(names: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(names)
}

#[cfg(test)]
mod tests;
