//! Arguments of `awo triggers`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
FILE contains the trigger as JSON: name, inboxId, events, repositories, filter, who, action, onForeign, workOrder,
settleSeconds, limits, enabled (docs/triggers.md).

Examples:
  awo triggers create label.json
  awo triggers evaluate trg_01k0000000000000000000000a payload.json --event issues
  awo list --trigger trg_01k0000000000000000000000a";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Triggers {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List triggers, newest first
    List,
    /// Show a trigger as JSON
    Get(TriggerArgument),
    /// Create a trigger
    Create {
        /// File with the trigger as JSON, or - for standard input
        file: String,
    },
    /// Replace a trigger; fields that FILE does not contain get their defaults, and a paused one goes on
    Update {
        #[command(flatten)]
        trigger: TriggerArgument,
        /// File with the trigger as JSON, or - for standard input
        file: String,
    },
    /// Show what a trigger would do with a delivery; nothing is written
    Evaluate(Evaluate),
    /// Delete a trigger; its work orders stay
    Delete(TriggerArgument),
}

#[derive(Debug, Args)]
pub struct TriggerArgument {
    /// Trigger: trg_…
    #[arg(value_name = "ID")]
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Evaluate {
    #[command(flatten)]
    pub trigger: TriggerArgument,
    /// File with the body of a delivery as JSON, or - for standard input
    pub file: String,
    /// Event as the header of the forge names it, such as issues or push
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
}
