//! Arguments of `awo profiles`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
FILE holds the profile as JSON: description, extends, loopStrategy, verification, gitOps, executionLimits
(docs/openapi.json). A field that it leaves out comes from the profile that it extends, else from `default`.

Examples:
  awo profiles show ci-focused --resolve > careful.json
  echo '{\"extends\":\"ci-focused\",\"verification\":{\"required\":true}}' | awo profiles create careful -
  awo submit --harness careful --prompt 'Fix the tests'";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Profiles {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List harness profiles, the built-in ones too
    List,
    /// Show a profile as JSON
    Show(Show),
    /// Create a profile
    Create(Write),
    /// Replace a profile; what FILE leaves out is gone
    Update(Write),
    /// Check what FILE would make of a profile, and change nothing; exit code 1 if it is not valid
    Validate(Write),
    /// Delete a profile that no other extends
    Delete(One),
}

#[derive(Debug, Args)]
pub struct Show {
    /// The profile
    pub name: String,
    /// With what it inherits
    #[arg(long)]
    pub resolve: bool,
}

#[derive(Debug, Args)]
pub struct Write {
    /// The profile
    pub name: String,
    /// A file with its JSON, or - for standard input
    pub file: String,
    /// For people
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The profile that it inherits from
    #[arg(long, value_name = "PROFILE")]
    pub extends: Option<String>,
}

#[derive(Debug, Args)]
pub struct One {
    /// The profile
    pub name: String,
}
