//! What can be typed after `awo audit`.

use clap::{Args, Subcommand};

use crate::reference::{self, Reference};

#[derive(Debug, Args)]
pub struct Audit {
    #[command(subcommand)]
    pub action: AuditAction,
}

#[derive(Debug, Subcommand)]
pub enum AuditAction {
    /// Check that a run's chain of configuration snapshots is whole, and name its first broken
    /// link
    Verify(VerifyAudit),
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
