//! Arguments for receiving events during development.

use awo_domain::webhook::EventType;
use clap::Args;

use crate::arguments::names;
use crate::quantity;

const LISTEN_HELP: &str = "\
awo reads events through the API and posts them from this machine, so the receiver may be on
loopback. No webhook is created. Bodies, ids and signatures are those of a webhook
(docs/webhooks.md). The signing secret belongs to this machine and does not change. Each event is
posted once; a failed post is not retried. Use --since to post earlier events.

Examples:
  awo listen --forward-to http://localhost:3000/hook
  awo listen --forward-to http://localhost:3000/hook --event run.completed --since 1h
  awo listen --print-secret";

#[derive(Debug, Args)]
#[command(after_help = LISTEN_HELP)]
pub struct Listen {
    /// Receiver to post events to: https, or http on loopback [default: only show events]
    #[arg(long, value_name = "URL")]
    pub forward_to: Option<String>,
    /// Only events of this type; may be repeated
    #[arg(long = "event", value_name = "TYPE", value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub events: Vec<String>,
    /// Include events since this long ago, such as 10m or 1h [default: only new events]
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub since: Option<u64>,
    /// Print the signing secret and exit
    #[arg(long)]
    pub print_secret: bool,
}

const TRIGGER_HELP: &str = "\
The sample event is generated on this machine; no run is created. It goes to the receiver of the
last `awo listen`, signed with the same secret.

Examples:
  awo trigger run.completed
  awo trigger verification.failed --forward-to http://localhost:3000/hook";

#[derive(Debug, Args)]
#[command(after_help = TRIGGER_HELP)]
pub struct Trigger {
    /// Type of the event
    #[arg(value_name = "TYPE", value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub event: String,
    /// Receiver to post to [default: the receiver of the last `awo listen`]
    #[arg(long, value_name = "URL")]
    pub forward_to: Option<String>,
}
