//! Arguments of `awo inboxes`.

use awo_domain::inbox::delivery::InboxOutcome;
use awo_domain::inbox::{DuplicateRule, InboxKind, SignatureEncoding};
use clap::{Args, Subcommand};

use crate::arguments::{Part, names};

const AFTER_HELP: &str = "\
The secret is shown once: enter it, with the URL, where the sender has its webhooks (docs/inboxes.md).

Examples:
  awo inboxes create \"Our repositories\" --kind github
  awo inboxes create Forge --kind gitea --host git.example.com
  awo inboxes create Tickets --kind hmac --header x-ticket-signature --encoding hex
  awo inboxes deliveries inb_01k0000000000000000000000a --outcome refused";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Inboxes {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List inboxes, newest first
    List(List),
    /// Show an inbox
    Show(InboxArgument),
    /// Create an inbox; its secret is shown only once
    Create(Create),
    /// Update an inbox; fields that are not given are not changed
    Update(Update),
    /// Create a new secret, shown only once; the old one is accepted for 24 hours, too
    Rotate(Rotate),
    /// List the deliveries of the last 30 days, newest first, with what triggers made of them
    Deliveries(Deliveries),
    /// Process a stored delivery once more
    Replay(Replay),
    /// Delete an inbox; deliveries to it are refused from then on
    Delete(InboxArgument),
}

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct InboxArgument {
    /// Inbox: inb_…
    #[arg(value_name = "ID")]
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Create {
    /// Name, for people
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Kind of the sender
    #[arg(long, value_parser = names(InboxKind::ALL.map(InboxKind::as_str)))]
    pub kind: String,
    /// Host of the forge [default: github.com or gitlab.com; required for gitea]
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// For gitlab: also accept X-Gitlab-Token where there is no signature
    #[arg(long)]
    pub token: bool,
    /// For hmac: the header that contains the signature
    #[arg(long, value_name = "NAME", conflicts_with = "token")]
    pub header: Option<String>,
    /// For hmac: the text before the signature in its header
    #[arg(long, value_name = "TEXT", requires = "header")]
    pub prefix: Option<String>,
    /// For hmac: the encoding of the signature [default: hex]
    #[arg(long, requires = "header", value_parser = names(SignatureEncoding::ALL.map(SignatureEncoding::as_str)))]
    pub encoding: Option<String>,
    /// For hmac: the rule by which a delivery is a duplicate [default: body]
    #[arg(long, value_parser = names(DuplicateRule::ALL.map(DuplicateRule::as_str)))]
    pub duplicates: Option<String>,
    /// Read the secret that the sender chose from standard input [default: a new one]
    #[arg(long)]
    pub secret_stdin: bool,
    /// Idempotency key: repeating the request with it creates no second inbox [default: a
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub struct Update {
    #[command(flatten)]
    pub inbox: InboxArgument,
    /// New name
    #[arg(long, value_name = "TEXT", group = "change")]
    pub name: Option<String>,
    /// New host of the forge
    #[arg(long, value_name = "HOST", group = "change")]
    pub host: Option<String>,
    /// Enable the inbox
    #[arg(long, group = "change", conflicts_with = "disable")]
    pub enable: bool,
    /// Disable the inbox: every delivery is refused
    #[arg(long, group = "change")]
    pub disable: bool,
}

#[derive(Debug, Args)]
pub struct Rotate {
    #[command(flatten)]
    pub inbox: InboxArgument,
    /// Read the secret that the sender chose from standard input [default: a new one]
    #[arg(long)]
    pub secret_stdin: bool,
    /// Idempotency key: repeating the request with it creates no second secret [default: a
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct Deliveries {
    #[command(flatten)]
    pub inbox: InboxArgument,
    /// Only deliveries with this outcome
    #[arg(long, value_parser = names(InboxOutcome::ALL.map(InboxOutcome::as_str)))]
    pub outcome: Option<String>,
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct Replay {
    #[command(flatten)]
    pub inbox: InboxArgument,
    /// Delivery: idl_…
    #[arg(value_name = "DELIVERY")]
    pub delivery: String,
}
