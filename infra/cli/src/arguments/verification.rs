//! Arguments for showing verifications, or starting one.

use std::path::PathBuf;

use clap::Args;

use crate::reference::{self, Reference};

#[derive(Debug, Args)]
pub struct Checks {
    /// Id of a run, or of a work order for its newest run
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Only the verification of this iteration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
}

const VERIFY_HELP: &str = "\
The verification plan comes from verify.yaml, or is derived from the project's manifests. As in a run,
the runner's engine runs it in a clean checkout, with an empty HOME, your PATH, CI=true and the places of
your tool chains; no other environment variable is passed. The checkout has your uncommitted changes and
new files, and nothing that git ignores; your folder stays as it is. With --in-place the commands run in
the folder itself: what is installed and built there is used again, so the result may differ from a run's.

Exit codes: 0 if the verification passes, 1 if it does not.

Examples:
  awo verify
  awo verify ../project --plan
  awo verify --in-place
  awo verify --explain
  awo verify --write";

#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub struct Verify {
    /// Folder to verify
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Show the plan without running it
    #[arg(long)]
    pub plan: bool,
    /// Show the plan and its origin: which file revealed what, what was left out, and the same plan as a
    /// verify.yaml
    #[arg(long)]
    pub explain: bool,
    /// Run the commands in the folder itself instead of a clean checkout
    #[arg(long)]
    pub in_place: bool,
    /// Write a detected plan to verify.yaml, without running it
    #[arg(long, conflicts_with = "explain")]
    pub write: bool,
}
