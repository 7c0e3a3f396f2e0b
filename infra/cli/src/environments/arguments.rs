//! What can be typed after `awo environments`.

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
FILE contains the environment as JSON: description, variables, secrets, setup, caches, registries, image, size,
services, egress (docs/environments.md). It names each secret and its phases (setup, verify, agent); set-secret
sets the value, with a key that has the scope environments:secrets.

Examples:
  echo '{\"variables\":{\"CI\":\"1\"},\"setup\":[{\"name\":\"deps\",\"run\":\"npm ci\"}]}' | awo environments create node -
  awo environments show node --json
  awo environments set-secret node NPM_TOKEN < token
  awo submit --environment node --prompt 'Fix the tests'";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Environments {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List environments
    List,
    /// Show an environment as JSON
    Show(One),
    /// Create an environment
    Create(Write),
    /// Replace an environment; fields that FILE does not contain are removed
    Update(Write),
    /// Delete an environment that no profile and no template names, and the values of its secrets
    Delete(One),
    /// Set the value of a secret that the environment names: one line from standard input, or typed without echo
    SetSecret(OneSecret),
    /// Delete the value of a secret
    DeleteSecret(OneSecret),
}

#[derive(Debug, Args)]
pub struct Write {
    /// Name of the environment
    pub name: String,
    /// File with the environment as JSON, or - for standard input
    pub file: String,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
}

#[derive(Debug, Args)]
pub struct One {
    /// Name of the environment
    pub name: String,
}

#[derive(Debug, Args)]
pub struct OneSecret {
    /// Name of the environment
    pub name: String,
    /// Name of the secret
    pub secret: String,
}
