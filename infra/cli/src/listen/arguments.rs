//! Arguments for receiving events during development.

use awo_domain::webhook::EventType;
use clap::Args;

use crate::arguments::names;
use crate::quantity;

const LISTEN_HELP: &str = "\
Events are read through the API and posted from this machine, so the receiver may be on loopback, and no
webhook is made. Bodies, ids and signatures are those of a webhook (docs/webhooks.md). The signing secret
is this machine's own and stays the same. An event is posted once: it is not retried. Events that came
while this was not running are sent with --since.

Examples:
  awo listen --forward-to http://localhost:3000/hook
  awo listen --forward-to http://localhost:3000/hook --event run.completed --since 1h
  awo listen --print-secret";

#[derive(Debug, Args)]
#[command(after_help = LISTEN_HELP)]
pub struct Listen {
    /// Receiver to post events to: https, or http on loopback; without it they are only shown
    #[arg(long, value_name = "URL")]
    pub forward_to: Option<String>,
    /// Only events of this type; may be repeated
    #[arg(long = "event", value_name = "TYPE", value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub events: Vec<String>,
    /// Begin so far back, such as 10m or 1h [default: now]
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub since: Option<u64>,
    /// Print the signing secret, and end
    #[arg(long)]
    pub print_secret: bool,
}

const TRIGGER_HELP: &str = "\
The sample is made up and comes from this machine; no run is made. It goes to the receiver of the last
`awo listen`, signed with the same secret.

Examples:
  awo trigger run.completed
  awo trigger verification.failed --forward-to http://localhost:3000/hook";

#[derive(Debug, Args)]
#[command(after_help = TRIGGER_HELP)]
pub struct Trigger {
    /// The type of the event
    #[arg(value_name = "TYPE", value_parser = names(EventType::ALL.map(EventType::as_str)))]
    pub event: String,
    /// Receiver to post it to [default: that of the last `awo listen`]
    #[arg(long, value_name = "URL")]
    pub forward_to: Option<String>,
}
