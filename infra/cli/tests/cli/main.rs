//! The program itself, as people and scripts call it: against a double of the API for output and
//! exit codes, and against the local service for an operator's commands.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has to fail loudly"
)]

mod admin;
mod audit;
mod call;
mod checkouts;
mod contexts;
mod diff_and_purge;
mod double;
mod errors;
mod events;
mod finance;
mod follow;
mod forges;
mod formats;
mod inboxes;
mod listen;
mod mcp;
mod operations;
mod operators;
mod orders;
mod outcomes;
mod providers;
mod references;
mod submit;
mod usage;
mod verified;
mod webhooks;
