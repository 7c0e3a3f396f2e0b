//! Arguments for usage of finished runs.

use clap::Args;

use crate::reference::{self, Reference};

/// What the rows of usage are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    Model,
    Day,
    Tenant,
    /// A cost label.
    Label(String),
}

impl By {
    /// The name of the rows, and of what a report is grouped by.
    pub fn name(&self) -> String {
        match self {
            By::Model => "model".to_owned(),
            By::Day => "day".to_owned(),
            By::Tenant => "tenant".to_owned(),
            By::Label(name) => format!("label:{name}"),
        }
    }

    fn parse(text: &str) -> Result<By, String> {
        match (text, text.strip_prefix("label:")) {
            ("model", _) => Ok(By::Model),
            ("day", _) => Ok(By::Day),
            ("tenant", _) => Ok(By::Tenant),
            (_, Some(name)) if !name.is_empty() => Ok(By::Label(name.to_owned())),
            _ => Err("must be model, day, tenant or label:NAME".to_owned()),
        }
    }
}

#[derive(Debug, Args)]
pub struct Usage {
    /// Start of the period, included: a UTC date, or a time such as 2026-11-20T08:00:00Z
    #[arg(long, value_name = "DATE")]
    pub from: Option<String>,
    /// End of the period, excluded
    #[arg(long, value_name = "DATE")]
    pub to: Option<String>,
    /// Group the rows by model, day, tenant or label:NAME
    #[arg(long, value_name = "NAME", default_value = "model", value_parser = By::parse)]
    pub by: By,
    /// Only usage of this model
    #[arg(long)]
    pub model: Option<String>,
    /// Only usage of this run
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub run: Option<Reference>,
    /// Only usage of this work order's runs
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub work_order: Option<Reference>,
    /// Print the API's table by day and model as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}
