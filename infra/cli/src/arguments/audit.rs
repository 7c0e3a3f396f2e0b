//! Arguments of `awo audit`.

use clap::{Args, Subcommand};

use crate::reference::{self, Reference};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Audit {
    /// Id of a run, or of a work order for all its runs
    #[arg(value_parser = reference::parse)]
    pub id: Option<Reference>,
    #[command(subcommand)]
    pub action: Option<AuditAction>,
}

#[derive(Debug, Subcommand)]
pub enum AuditAction {
    /// Show the audit record of a run, or of each run of a work order
    Show(OfAny),
    /// List the configuration changes made during the run
    Changes(OfRun),
    /// Show the number of iterations and configuration changes of a run
    Summary(OfRun),
    /// List the configuration snapshots, one per iteration
    Snapshots(OfRun),
    /// Verify the chain of configuration snapshots, and show its first broken link
    Verify(VerifyAudit),
}

#[derive(Debug, Args)]
pub struct OfAny {
    /// Id of a run, or of a work order for all its runs
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

#[derive(Debug, Args)]
pub struct OfRun {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

#[derive(Debug, Args)]
pub struct VerifyAudit {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Previously recorded chain head, which the chain must still contain
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
}
