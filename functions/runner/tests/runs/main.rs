//! The runner as a whole, against a double of the control API, real repositories and real agents.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

mod agents;
mod by_hand;
mod control_double;
mod delivery;
mod diffs;
mod documented;
mod hearing;
mod hooks;
mod hostile;
mod keeping;
mod logs;
mod model_double;
mod models;
mod protocol;
mod reports;
mod runs;
mod scene;
mod stopping;
mod strategies;
mod verification;
mod workspaces;
