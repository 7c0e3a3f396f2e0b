//! However a command tries to escape, no process of it is alive when the supervisor has reported.
//!
//! Every test marks its processes by its own environment variable and searches for that mark in all
//! of `/proc`.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

mod escapes;
mod filter;
mod limits;
mod network;
mod sandbox;
mod scene;
mod stop_requests;

/// Arguments of every supervisor here.
const EXTRA: &[&str] = &[];
