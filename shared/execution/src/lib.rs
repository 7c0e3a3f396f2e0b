//! Runs on compute: giving slots to waiting runs, stopping runs, and seeing them to their end.
//! Functions for callers and workers stand on the same steps here, so that each of them is safe
//! to be repeated, doubled, or taken over by the sweep.

pub mod cascades;
mod deaths;
pub mod dispatcher;
pub mod endings;
pub mod launcher;
pub mod parents;
pub mod purger;
pub mod start_task;
pub mod stopper;
pub mod verifier;
