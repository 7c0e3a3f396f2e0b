//! The runner as a whole, against a double of the control API, real repositories and real agents.

mod agents;
mod control_double;
mod delivery;
mod hostile;
mod protocol;
mod runs;
mod scene;
mod verification;
mod workspaces;
