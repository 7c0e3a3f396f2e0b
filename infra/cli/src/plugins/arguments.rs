//! Arguments of `awo plugins`.

use clap::{Args, Subcommand};

use crate::arguments::names;
use crate::quantity;

const AFTER_HELP: &str = "\
A plugin of your own is a command that runs in the workspace; exit code 0 is passed.

Examples:
  awo plugins register custom:licences --level L0 -- ./check-licences --strict
  awo plugins disable built-in:sanity";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Plugins {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List verification plugins, the built-in ones too
    List,
    /// Show a plugin
    Show(One),
    /// Register a plugin of your own
    Register(Register),
    /// Have a plugin run again
    Enable(One),
    /// Have a plugin not run
    Disable(One),
    /// Delete a plugin of your own
    Delete(One),
}

#[derive(Debug, Args)]
pub struct One {
    /// The plugin: built-in:… or custom:…
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Register {
    /// Its id: custom:NAME
    pub id: String,
    /// The level at which it runs
    #[arg(long, value_parser = names(["L0", "L1", "L2", "L3", "custom"]), default_value = "custom")]
    pub level: String,
    /// What people call it [default: its id]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// For people
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Longest time it may take, such as 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub timeout: Option<u64>,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub argv: Vec<String>,
}
