//! Runs on compute: assigns slots to waiting runs, stops runs, and ends them. Routes and workers
//! share these steps, so each is safe to be repeated, duplicated, or taken over by the sweep.

pub mod cascades;
pub mod creation;
mod deaths;
pub mod definitions;
pub mod dispatcher;
pub mod endings;
pub mod git_access;
pub mod inboxes;
pub mod launcher;
pub mod opening;
pub mod outcomes;
pub mod parents;
pub mod purger;
pub mod reports;
pub mod request;
pub mod scheduler;
mod start_failure;
pub mod start_task;
pub mod starter;
pub mod stopper;
pub mod verifier;
