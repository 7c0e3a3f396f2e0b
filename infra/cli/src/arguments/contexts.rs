//! Arguments for selecting a service.

use clap::{Args, Subcommand};

const LOGIN_HELP: &str = "\
awo reads the key from standard input, or prompts for it without echo. It stores the key in
~/.config/awo, in a file that only you can read.

Examples:
  awo login https://awo.example.com
  awo login https://staging.example.com --name staging < key";

#[derive(Debug, Args)]
#[command(after_help = LOGIN_HELP)]
pub struct Login {
    /// Address of the service; https, or http on loopback
    #[arg(value_name = "URL")]
    pub address: String,
    /// Name of the context [default: the host]
    #[arg(long, value_parser = context_name)]
    pub name: Option<String>,
}

const CONTEXT_HELP: &str = "\
A context is a service's address and API key. `awo login` creates a context and makes it the
current one. The context `local` always exists: it is the service that `make run` starts on this
machine.

To use a context for one command: awo --context NAME …, or AWO_CONTEXT.";

#[derive(Debug, Args)]
#[command(after_help = CONTEXT_HELP)]
pub struct Context {
    #[command(subcommand)]
    pub action: ContextAction,
}

#[derive(Debug, Subcommand)]
pub enum ContextAction {
    /// List the contexts; * marks the current one
    List,
    /// Make a context the current one
    Use {
        /// Name of the context
        #[arg(value_parser = context_name)]
        name: String,
    },
    /// Show which service commands use, and why
    Show,
    /// Delete a context and its key from this machine
    Delete {
        /// Name of the context
        #[arg(value_parser = context_name)]
        name: String,
    },
}

/// Longest name of a context.
const MAX_NAME: usize = 64;

/// Reads the name of a context.
pub fn context_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if (1..=MAX_NAME).contains(&text.len()) && text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be 1 to {MAX_NAME} letters, digits, dots, colons, hyphens or underscores"
        ))
    }
}
