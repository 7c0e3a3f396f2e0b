//! Arguments of `awo verification`.

use clap::{Args, Subcommand};

use crate::arguments::names;
use crate::quantity;
use crate::reference::{self, Reference};

const AFTER_HELP: &str = "\
The service verifies a run's workspace, as long as it still has it, with its plugins and without
charging credits. To verify a local working copy, use `awo verify`.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Verification {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Verify the workspace of an ended run; exits with 1 unless the verification passes
    Run(Run),
}

#[derive(Debug, Args)]
pub struct Run {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse, required_unless_present = "work_dir")]
    pub id: Option<Reference>,
    /// Path of the workspace, as in a run's `workDir`
    #[arg(long, value_name = "PATH", conflicts_with = "id")]
    pub work_dir: Option<String>,
    /// Harness profile
    #[arg(long, value_name = "PROFILE")]
    pub harness: Option<String>,
    /// Only this level; may be repeated
    #[arg(long = "level", value_name = "LEVEL", value_parser = names(["L0", "L1", "L2", "L3", "custom"]))]
    pub levels: Vec<String>,
    /// Only this plugin; may be repeated
    #[arg(long = "plugin", value_name = "ID")]
    pub plugins: Vec<String>,
    /// Limit checks that examine files to this file; may be repeated
    #[arg(long = "modified-file", value_name = "PATH")]
    pub modified_files: Vec<String>,
    /// Maximum total duration, from 1s to 10m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub timeout: Option<u64>,
}
