//! Arguments for selecting a service.

use clap::{Args, Subcommand};

const LOGIN_HELP: &str = "\
The key is read from standard input, or asked for without echo. It is stored in ~/.config/awo, in a file
that only you can read.

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
A context is a service and the key to it. `awo login` makes one and uses it from then on. The context
`local` is always there: it is the service of `make run` on this machine.

For one command: awo --context NAME …, or AWO_CONTEXT.";

#[derive(Debug, Args)]
#[command(after_help = CONTEXT_HELP)]
pub struct Context {
    #[command(subcommand)]
    pub action: ContextAction,
}

#[derive(Debug, Subcommand)]
pub enum ContextAction {
    /// List the contexts; the one in use has a star
    List,
    /// Use a context from now on
    Use {
        /// The context
        #[arg(value_parser = context_name)]
        name: String,
    },
    /// Show which service a command would go to, and why
    Show,
    /// Delete a context, and its key from this machine
    Delete {
        /// The context
        #[arg(value_parser = context_name)]
        name: String,
    },
}

/// Longest name of a context.
const MAX_NAME: usize = 64;

/// Reads the name of a context.
pub fn context_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    match (1..=MAX_NAME).contains(&text.len()) && text.chars().all(fits) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "must be 1 to {MAX_NAME} letters, digits, dots, colons, hyphens or underscores"
        )),
    }
}
