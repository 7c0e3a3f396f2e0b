//! The state of a run that adds up over its iterations.

use std::collections::BTreeSet;

use awo_domain::agent::Feedback;
use awo_domain::control::GateComparison;
use awo_domain::usage::PricedUsage;
use awo_domain::verification::{Evidence, PluginResult};

use super::integration::Integration;
use crate::repository::{LeftOut, MissingSubmodule};

/// What adds up over the iterations.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) iterations: u32,
    pub(super) commit: Option<String>,
    pub(super) usage: Vec<PricedUsage>,
    pub(super) feedback: Vec<Feedback>,
    pub(super) session_id: Option<String>,
    /// True until the agent has tried to go on in the session of the turn before.
    pub(super) resumes_session: bool,
    /// The fewest failing checks so far.
    pub(super) best: Option<usize>,
    /// What the agent wrote in the last iterations, oldest first; at most [`MAX_WINDOW`](awo_domain::profile::MAX_WINDOW).
    pub(super) outputs: Vec<String>,
    /// What children did and is not merged.
    pub(super) integration: Integration,
    /// Whether the newest commit is verified, and what it changed of the tests.
    pub(super) verified: bool,
    pub(super) evidence: Evidence,
    pub(super) tests_changed: Vec<String>,
    /// Comparison of the newest commit with the gate that judges it.
    pub(super) gate: Option<GateComparison>,
    /// The base's own results, of the checks that ran there.
    pub(super) base: Vec<PluginResult>,
    /// Checks that the base was asked for.
    pub(super) asked_of_base: BTreeSet<String>,
    /// True once it is known what other runs had of the base.
    pub(super) knows_stored_base: bool,
    /// Protected files that were put back in the present iteration.
    pub(super) restored: Vec<String>,
    /// Files that decide what commands do and were put back in the present iteration.
    pub(super) gate_restored: Vec<String>,
    /// True for a run that has waited for its children.
    pub(super) resumes: bool,
    /// True for a run in a thread.
    pub(super) in_thread: bool,
    /// The agent's last summary.
    pub(super) summary: Option<String>,
    /// Files that the agent made in the present iteration and no commit takes.
    pub(super) left_out: LeftOut,
    /// Submodules at commits of the agent's that their remotes do not have.
    pub(super) unpublished: Vec<MissingSubmodule>,
}
