//! Arguments of `awo audit`.

use clap::{Args, Subcommand};

use crate::reference::{self, Reference};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Audit {
    /// A run, or a work order for all its runs
    #[arg(value_parser = reference::parse)]
    pub id: Option<Reference>,
    #[command(subcommand)]
    pub action: Option<AuditAction>,
}

#[derive(Debug, Subcommand)]
pub enum AuditAction {
    /// Show the configuration that a run had, or the runs of a work order
    Show(OfAny),
    /// List what was changed in the configuration while the run went on
    Changes(OfRun),
    /// Show how many iterations and changes a run had
    Summary(OfRun),
    /// List the snapshots of the configuration, one an iteration
    Snapshots(OfRun),
    /// Verify the chain of configuration snapshots, and name its first broken link
    Verify(VerifyAudit),
}

#[derive(Debug, Args)]
pub struct OfAny {
    /// A run, or a work order for all its runs
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

#[derive(Debug, Args)]
pub struct OfRun {
    /// A run, or a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}

#[derive(Debug, Args)]
pub struct VerifyAudit {
    /// A run, or a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// A chain head that was noted before: the chain must lead to it or beyond
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
}
