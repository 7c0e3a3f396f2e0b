//! Arguments of `awo schedules`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
FILE contains the schedule as JSON: name, cron, timezone, workOrder, overlap, catchUp, pauseAfterFailures,
startsAt, endsAt, enabled (docs/schedules.md).

Examples:
  awo schedules create nightly.json
  awo schedules fire sch_01k0000000000000000000000a
  awo list --schedule sch_01k0000000000000000000000a";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Schedules {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List schedules, newest first
    List,
    /// Show a schedule as JSON
    Get(ScheduleId),
    /// Create a schedule
    Create {
        /// File with the schedule as JSON, or - for standard input
        file: String,
    },
    /// Replace a schedule; fields that FILE does not contain get their defaults
    Update {
        #[command(flatten)]
        schedule: ScheduleId,
        /// File with the schedule as JSON, or - for standard input
        file: String,
    },
    /// Create a work order of a schedule now
    Fire(ScheduleId),
    /// Let a paused schedule fire from now on
    Resume(ScheduleId),
    /// List firings of the last 90 days, newest first
    Firings(ScheduleId),
    /// Delete a schedule; its work orders stay
    Delete(ScheduleId),
}

#[derive(Debug, Args)]
pub struct ScheduleId {
    /// Schedule: sch_…
    #[arg(value_name = "ID")]
    pub id: String,
}
