//! Arguments of `awo admin`.

use awo_domain::OrgId;
use awo_domain::api_key::KeyId;
use awo_domain::run::RunStatus;
use clap::{Args, Subcommand};

use super::forges::{AppArguments, ForgeArguments};
use super::providers::ProviderArguments;
use super::values::{
    BookingArguments, ChargeArguments, KeyArguments, key_id, org_name, secret_name,
};
use crate::arguments::names;
use crate::quantity::{self, Credits};

const AFTER_HELP: &str = "\
These commands use the stores directly, not the API. For a deployment, set AWO_WORK_TABLE,
AWO_LEDGER_TABLE, AWO_SETTINGS_TABLE and AWO_DELIVERIES_TABLE to the tables, AWO_STACK to the
stack's name (for set-secret), and the AWS SDK's variables. For the running local service, use
--local, --data-dir or AWO_DATA_DIR.

Examples:
  awo admin --local create-org --name 'Team A'
  awo admin --local create-key --org org_01k0000000000000000000000a --scopes work-orders:write,runs:read
  awo admin --local grant --org org_01k0000000000000000000000a --credits 500
  awo admin --local set-secret --org org_01k0000000000000000000000a --name git:github.com < token";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Admin {
    /// Use the stores of the local service
    #[arg(long, global = true, help_heading = "Connection")]
    pub local: bool,
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Create an organization, without credits or keys
    CreateOrg {
        /// Name of the organization
        #[arg(long, value_parser = org_name)]
        name: String,
    },
    /// List organizations with their running and waiting work
    ListOrgs,
    /// Show an organization
    ShowOrg {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Rename an organization
    RenameOrg {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Name of the organization
        #[arg(long, value_parser = org_name)]
        name: String,
    },
    /// Suspend an organization: its keys are refused and no run starts; active runs continue
    SuspendOrg {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// End a suspension
    ReinstateOrg {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Permanently delete a suspended organization with its work orders, runs, keys, settings and
    /// secrets. The ledger and usage remain, identified only by the organization's id
    DeleteOrg {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Confirm the deletion; without this option nothing is deleted
        #[arg(long)]
        yes: bool,
    },
    /// Show the queues of all organizations
    Queue,
    /// List the newest runs of all organizations
    Runs {
        /// Only runs in this status
        #[arg(long, value_parser = names(RunStatus::ALL.map(RunStatus::as_str)))]
        status: Option<String>,
        /// Maximum number of runs per organization
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
    /// Pause the queue: no run starts, active runs continue, new work orders wait
    Pause {
        /// Only this organization [default: all organizations]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Resume the queue: runs start again
    Resume {
        /// Only this organization [default: all organizations]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Pause the queue and wait until all active runs have ended; fails after --timeout
    Drain {
        /// Only this organization [default: all organizations]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
        /// Maximum time to wait, such as 30m
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = quantity::duration_ms)]
        timeout: u64,
    },
    /// Create an API key; it is shown only once
    CreateKey {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        #[command(flatten)]
        terms: KeyArguments,
    },
    /// Replace a key by a new one with the same scopes, limit and name; both work for a while
    RotateKey {
        /// Id of the key to replace: the 12 characters after org_live_
        #[arg(long, value_name = "ID", value_parser = key_id)]
        key_id: KeyId,
        /// How long the old key remains valid, such as 24h
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = quantity::lifetime_ms)]
        overlap: u64,
        /// Lifetime of the new key, such as 90d or 12h [default: unlimited]
        #[arg(long, value_name = "TIME", value_parser = quantity::lifetime_ms)]
        expires_in: Option<u64>,
    },
    /// List an organization's keys with their last use; the keys themselves are not stored
    ListKeys {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Permanently revoke a key
    RevokeKey {
        /// Id of the key: the 12 characters after org_live_
        #[arg(long, value_name = "ID", value_parser = key_id)]
        key_id: KeyId,
    },
    /// Convert the API keys of an earlier release; run once, before the functions are deployed
    UpgradeKeys {
        /// Organization: org_… [default: all organizations]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Add credits to an organization
    Grant {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Amount in credits, with up to six decimal places
        #[arg(long, value_name = "N", value_parser = quantity::credits)]
        credits: Credits,
        #[command(flatten)]
        booking: BookingArguments,
    },
    /// Refund credits for a run or a manual verification, in total at most its cost
    Refund {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        #[command(flatten)]
        charge: ChargeArguments,
        /// Amount in credits, with up to six decimal places
        #[arg(long, value_name = "N", value_parser = quantity::credits)]
        credits: Credits,
        #[command(flatten)]
        booking: BookingArguments,
    },
    /// Check that each balance is the total of its entries and open holds; exits with 1 if not
    CheckLedger {
        /// Organization: org_… [default: all organizations]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Set an organization's own limits; a limit that is not given is not changed
    #[command(group = clap::ArgGroup::new("limit").required(true).multiple(true))]
    SetLimits {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Maximum number of concurrent runs
        #[arg(long, value_name = "N", group = "limit", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max_concurrent: Option<u32>,
        /// Maximum number of waiting work orders
        #[arg(long, value_name = "N", group = "limit", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max_queue_size: Option<u32>,
        /// Available credits below which webhooks get credits.low; 0 for never
        #[arg(long, value_name = "N", group = "limit", value_parser = quantity::credits_or_none)]
        credits_low: Option<Credits>,
    },
    /// Replace the cost labels: the `metadata` keys by which costs are reported
    SetCostLabels {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Keys, at most five; an empty list removes all
        #[arg(long, value_name = "KEYS", value_delimiter = ',')]
        labels: Vec<String>,
        /// Labels that every new work order must have
        #[arg(long, value_name = "KEYS", value_delimiter = ',')]
        required: Vec<String>,
    },
    /// Include costs settled by an earlier release in reports; run once, after the functions
    /// are deployed
    BackfillCosts {
        /// Organization: org_… [default: all organizations]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Set where an organization's models are called; without --base-url, at the provider's own
    /// base URL or the deployment's
    #[command(group = clap::ArgGroup::new("what").required(true))]
    SetProvider {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        #[command(flatten)]
        change: ProviderArguments,
    },
    /// Set which forge a git host has, so that results become pull requests (merge requests) there
    #[command(group = clap::ArgGroup::new("change").required(true))]
    SetForge {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        #[command(flatten)]
        change: ForgeArguments,
    },
    /// Set the GitHub App of a host: each run gets a token of it for its repository alone, renewed
    /// while the run lasts; the key is read from standard input
    #[command(group = clap::ArgGroup::new("change").required(true))]
    SetApp {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        #[command(flatten)]
        change: AppArguments,
    },
    /// Set a secret; the value is read from standard input, or prompted for without echo
    SetSecret {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Model provider (anthropic or openai), git:HOST for a git host's token, or
        /// env:ENVIRONMENT:NAME for a secret of an environment
        #[arg(long, value_parser = secret_name)]
        name: String,
    },
    /// List the names of an organization's secrets, without their values
    ListSecrets {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Delete a secret: runs lose it at once, Secrets Manager deletes it after 30 days
    DeleteSecret {
        /// Organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Name of the secret: anthropic, openai or git:HOST
        #[arg(long, value_parser = secret_name)]
        name: String,
    },
}
