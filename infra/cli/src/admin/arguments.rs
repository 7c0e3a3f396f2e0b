//! Arguments of `awo admin`.

use awo_domain::OrgId;
use awo_domain::RunId;
use awo_domain::api_key::KeyId;
use awo_domain::run::RunStatus;
use clap::{Args, Subcommand};

use super::values::{BookingArguments, Scopes, key_id, org_name, scopes, secret_name};
use crate::arguments::names;
use crate::quantity::{self, Credits};

const AFTER_HELP: &str = "\
These commands work on the stores themselves. They find them through the process's environment
(AWO_WORK_TABLE, AWO_LEDGER_TABLE, AWO_SETTINGS_TABLE, AWO_DELIVERIES_TABLE, for set-secret
AWO_STACK, the stack's name, and the SDK's own variables), or, with --local, --data-dir or AWO_DATA_DIR, through the data directory of the local
service that runs.

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
    /// Make an organization, without credits and keys
    CreateOrg {
        /// What you call it
        #[arg(long, value_parser = org_name)]
        name: String,
    },
    /// List the organizations, with what runs and what waits
    ListOrgs,
    /// Show an organization
    ShowOrg {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Call an organization something else
    RenameOrg {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// What you call it
        #[arg(long, value_parser = org_name)]
        name: String,
    },
    /// Suspend an organization: its keys are refused and none of its runs begins; those under way
    /// go on
    SuspendOrg {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// End a suspension
    ReinstateOrg {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Delete a suspended organization for good: work orders, runs, keys, settings and secrets. Its
    /// ledger and usage stay, under its id alone
    DeleteOrg {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Do it; without this nothing is deleted
        #[arg(long)]
        yes: bool,
    },
    /// Show the queues of all organizations
    Queue,
    /// List the newest runs of all organizations
    Runs {
        /// Only those in this status
        #[arg(long, value_parser = names(RunStatus::ALL.map(RunStatus::as_str)))]
        status: Option<String>,
        /// How many of each organization
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
    /// Let no run begin; what is under way goes on, and what is submitted waits
    Pause {
        /// Only this organization [default: all that there are]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Let runs begin again
    Resume {
        /// Only this organization [default: all that there are]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Pause, and wait until nothing runs any more; it fails if that takes too long
    Drain {
        /// Only this organization [default: all that there are]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
        /// Longest wait, such as 30m
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = quantity::duration_ms)]
        timeout: u64,
    },
    /// Make an API key; it is shown this once
    CreateKey {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// What the key may do: names separated by commas, * for everything
        #[arg(long, value_name = "NAMES", value_parser = scopes)]
        scopes: Scopes,
        /// Requests a minute [default: the deployment's]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        requests_per_minute: Option<u32>,
        /// What you call the key: the person or the program that has it
        #[arg(long, value_parser = org_name)]
        name: Option<String>,
        /// When it ends, from now, such as 90d or 12h [default: never]
        #[arg(long, value_name = "TIME", value_parser = quantity::lifetime_ms)]
        expires_in: Option<u64>,
    },
    /// Make a new key with the scopes, limit and name of another, which ends after an overlap
    RotateKey {
        /// The id of the key that ends: the 12 characters after org_live_
        #[arg(long, value_name = "ID", value_parser = key_id)]
        key_id: KeyId,
        /// For how long both are good, such as 24h
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = quantity::lifetime_ms)]
        overlap: u64,
        /// When the new one ends, from now, such as 90d or 12h [default: never]
        #[arg(long, value_name = "TIME", value_parser = quantity::lifetime_ms)]
        expires_in: Option<u64>,
    },
    /// List an organization's keys with their last use; the keys themselves are not kept and cannot be shown
    ListKeys {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Revoke a key for ever
    RevokeKey {
        /// The id of the key: the 12 characters after org_live_
        #[arg(long, value_name = "ID", value_parser = key_id)]
        key_id: KeyId,
    },
    /// Make the keys of an earlier release work with this one; once, before the functions are deployed
    UpgradeKeys {
        /// The organization: org_… [default: each of them]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Add credits to an organization
    Grant {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// How many; up to six decimal places
        #[arg(long, value_name = "N", value_parser = quantity::credits)]
        credits: Credits,
        #[command(flatten)]
        booking: BookingArguments,
    },
    /// Give credits back for a run, in all at most what it cost
    Refund {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// The run: run_…
        #[arg(long, value_name = "ID", value_parser = quantity::run_id)]
        run: RunId,
        /// How many; up to six decimal places
        #[arg(long, value_name = "N", value_parser = quantity::credits)]
        credits: Credits,
        #[command(flatten)]
        booking: BookingArguments,
    },
    /// Check that balances are what all entries and open holds come to; exit code 1 if one is not
    CheckLedger {
        /// The organization: org_… [default: each of them]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Set an organization's own limits; what is not named stays as it is
    #[command(group = clap::ArgGroup::new("limit").required(true).multiple(true))]
    SetLimits {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// Runs at the same time
        #[arg(long, value_name = "N", group = "limit", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max_concurrent: Option<u32>,
        /// Work orders that may wait
        #[arg(long, value_name = "N", group = "limit", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max_queue_size: Option<u32>,
    },
    /// Declare by which keys of `metadata` costs are told apart; instead of those declared before
    SetCostLabels {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// The keys, up to five; an empty list declares none
        #[arg(long, value_name = "KEYS", value_delimiter = ',')]
        labels: Vec<String>,
        /// Of these, the ones without which no work order is created
        #[arg(long, value_name = "KEYS", value_delimiter = ',')]
        required: Vec<String>,
    },
    /// Let reports count what an earlier release settled; once, after the functions are deployed
    BackfillCosts {
        /// The organization: org_… [default: each of them]
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: Option<OrgId>,
    },
    /// Set a secret; its value is read from standard input, or asked for without echo
    SetSecret {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// A model provider (anthropic or openai), or git:HOST for the token of a git host
        #[arg(long, value_parser = secret_name)]
        name: String,
    },
    /// List the names of an organization's secrets; their values are not shown
    ListSecrets {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
    },
    /// Delete a secret: runs find none at once, and Secrets Manager forgets it after 30 days
    DeleteSecret {
        /// The organization: org_…
        #[arg(long, value_name = "ID", value_parser = quantity::org_id)]
        org: OrgId,
        /// As it was set: anthropic, openai, git:HOST
        #[arg(long, value_parser = secret_name)]
        name: String,
    },
}
