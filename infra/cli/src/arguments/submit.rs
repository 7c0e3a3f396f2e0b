//! Arguments for submitting a work order.

use awo_domain::agent::AgentType;
use awo_domain::work_order::MAX_ITERATIONS;
use clap::Args;

use super::names;
use crate::quantity;
use crate::reference::{self, Reference};

const SUBMIT_HELP: &str = "\
Examples:
  awo submit --prompt 'Fix the tests' --follow
  awo submit --repo https://example.com/team/project.git --prompt @task.md --follow
  git diff | awo submit --repo ../project --branch next --prompt -
  awo submit --prompt 'Fix the tests' --follow -- sh -c './fix.sh \"$(cat \"$AWO_PROMPT_FILE\")\"'
  awo submit --template nightly --var team=core --prompt @task.md";

#[derive(Debug, Args)]
#[command(after_help = SUBMIT_HELP)]
pub struct Submit {
    /// Repository to work on: an https URL, or a folder. A service on this machine clones the
    /// folder; any other service clones its remote `origin` [default: the current folder]
    #[arg(long, value_name = "URL|DIR")]
    pub repo: Option<String>,
    /// Task: its text, @FILE to read it from a file, or - to read it from standard input
    #[arg(long, value_name = "TEXT")]
    pub prompt: String,
    /// Branch to start from [default: the repository's default branch]
    #[arg(long)]
    pub branch: Option<String>,
    /// Template that defines the repository to work on, instead of --repo
    #[arg(long, value_name = "ID", conflicts_with_all = ["repo", "branch"])]
    pub template: Option<String>,
    /// Template variable; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", requires = "template", value_parser = quantity::pair)]
    pub variables: Vec<(String, String)>,
    /// Parent work order
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub parent: Option<Reference>,
    /// Agent to run [default: set by the service]
    #[arg(long, value_name = "TYPE", value_parser = names(AgentType::ALL.map(AgentType::as_str)))]
    pub agent: Option<String>,
    /// Model for the agent; requires --agent
    #[arg(long, requires = "agent")]
    pub model: Option<String>,
    /// Program of a command agent and its arguments: everything that follows; prefer -- COMMAND
    #[arg(long, value_name = "ARGV", num_args = 1.., allow_hyphen_values = true)]
    pub command: Option<Vec<String>>,
    /// Program of a command agent and its arguments, as a JSON array of strings
    #[arg(long, value_name = "JSON", conflicts_with = "command", value_parser = quantity::argv)]
    pub command_json: Option<quantity::Argv>,
    /// Maximum number of iterations of agent and verification
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITERATIONS)))]
    pub max_iterations: Option<u32>,
    /// Maximum credits that the run may use
    #[arg(long, value_name = "N", value_parser = quantity::credits)]
    pub max_credits: Option<quantity::Credits>,
    /// Maximum duration of the run, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub max_duration: Option<u64>,
    /// Tenant that the work order is for
    #[arg(long, value_name = "ID")]
    pub tenant: Option<String>,
    /// User of the tenant
    #[arg(long, value_name = "ID", requires = "tenant")]
    pub tenant_user: Option<String>,
    /// Metadata stored with the work order; may be repeated
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = quantity::pair)]
    pub metadata: Vec<(String, String)>,
    /// Harness profile [default: default]
    #[arg(long, value_name = "PROFILE")]
    pub harness: Option<String>,
    /// Environment of the run's commands [default: the template's, else the harness profile's]
    #[arg(long, value_name = "ENVIRONMENT")]
    pub environment: Option<String>,
    /// Idempotency key: repeating the request with it creates no second work order [default: a
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Follow the run's progress until it ends
    #[arg(long)]
    pub follow: bool,
    /// Follow the run, and exit with 1 unless the result is verified
    #[arg(long)]
    pub require_verified: bool,
    /// Program of a command agent and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["command", "command_json"])]
    pub argv: Vec<String>,
}
