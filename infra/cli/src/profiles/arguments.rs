//! Arguments of `awo profiles`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
FILE contains the profile as JSON: description, extends, loopStrategy, verification, gitOps,
executionLimits (docs/openapi.json). A missing field is inherited from the extended profile, or
from `default`.

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
    /// List harness profiles, including built-in ones
    List,
    /// Show a profile as JSON
    Show(Show),
    /// Create a profile
    Create(Write),
    /// Replace a profile; fields that FILE does not contain are removed
    Update(Write),
    /// Validate a profile without saving it; exits with 1 if it is invalid
    Validate(Write),
    /// Delete a profile that no other profile extends
    Delete(One),
}

#[derive(Debug, Args)]
pub struct Show {
    /// Name of the profile
    pub name: String,
    /// Include inherited fields
    #[arg(long)]
    pub resolve: bool,
}

#[derive(Debug, Args)]
pub struct Write {
    /// Name of the profile
    pub name: String,
    /// File with the profile as JSON, or - for standard input
    pub file: String,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Profile to inherit from
    #[arg(long, value_name = "PROFILE")]
    pub extends: Option<String>,
}

#[derive(Debug, Args)]
pub struct One {
    /// Name of the profile
    pub name: String,
}
