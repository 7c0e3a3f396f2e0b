//! Arguments for showing verifications, or starting one.

use std::path::PathBuf;

use clap::Args;

use crate::reference::{self, Reference};

#[derive(Debug, Args)]
pub struct Checks {
    /// A run, or a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Only the verification of this iteration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
}

const VERIFY_HELP: &str = "\
It finds the plan (verify.yaml, or what the manifests suggest) and follows it with the runner's own
engine: in the folder itself, with an empty HOME, your PATH and nothing else of your environment. A run
verifies a clean checkout of what is committed, so what is not committed or ignored by git may differ.

Exit codes: 0 if it passes, 1 if not.

Examples:
  awo verify
  awo verify ../project --plan";

#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub struct Verify {
    /// The folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Show the plan, and run nothing of it
    #[arg(long)]
    pub plan: bool,
}
