//! Arguments of `awo plugins`.

use clap::{Args, Subcommand};

use crate::arguments::names;
use crate::quantity;

const AFTER_HELP: &str = "\
A custom plugin is a command that runs in the workspace; it passes with exit code 0.

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
    /// List verification plugins, including built-in ones
    List,
    /// Show a plugin
    Show(One),
    /// Register a custom plugin
    Register(Register),
    /// Enable a plugin
    Enable(One),
    /// Disable a plugin
    Disable(One),
    /// Delete a custom plugin
    Delete(One),
}

#[derive(Debug, Args)]
pub struct One {
    /// Plugin: built-in:… or custom:…
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Register {
    /// Id of the plugin: custom:NAME
    pub id: String,
    /// Verification level of the plugin
    #[arg(long, value_parser = names(["L0", "L1", "L2", "L3", "custom"]), default_value = "custom")]
    pub level: String,
    /// Display name [default: the id]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Timeout, such as 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub timeout: Option<u64>,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub argv: Vec<String>,
}
