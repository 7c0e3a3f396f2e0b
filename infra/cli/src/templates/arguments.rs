//! Arguments of `awo templates`.

use clap::{Args, Subcommand};

use crate::arguments::Part;

const AFTER_HELP: &str = "\
FILE contains the template as JSON: name, description, source, variables, hooks, tags
(docs/openapi.json).

Examples:
  awo templates create services services.json
  awo submit --template services --var name=billing --prompt 'Fix the tests'";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Templates {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List templates of workspace sources
    List(List),
    /// Show a template as JSON
    Show(One),
    /// Create a template
    Create(Write),
    /// Update a template; fields that FILE does not contain are not changed
    Update(Write),
    /// Delete a template
    Delete(One),
}

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub part: Part,
}

#[derive(Debug, Args)]
pub struct One {
    /// Id of the template
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Write {
    /// Id of the template
    pub id: String,
    /// File with the template as JSON, or - for standard input
    pub file: String,
    /// Display name
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
}
