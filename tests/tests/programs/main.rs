//! The real Claude Code, Codex and opencode, each driven by the real runner on the whole local
//! service, against our own model server. `make test-agents` installs them and runs this; `make
//! test` does not. And the real Go and Maven, which not every machine has, against private registries.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

mod models;
mod outcomes;
mod registries;
mod scene;
mod tools;
mod tutorial;
mod whole_runs;
