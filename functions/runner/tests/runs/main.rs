//! The runner as a whole, against a double of the control API, real repositories and real agents.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

mod agents;
mod baselines;
mod bedrock;
mod budgets;
mod canaries;
mod checkouts;
mod children;
mod conflicts;
mod control_double;
mod delivery;
mod diffs;
mod documented;
mod evidence;
mod gates;
mod git_over_https;
mod green;
mod hooks;
mod hostile;
mod inspections;
mod integration;
mod intended_changes;
mod isolation;
mod keeping;
mod live;
mod logs;
mod machine;
mod manual;
mod merged_pull_requests;
mod model_double;
mod models;
mod other_forges;
mod outages;
mod profile_keys;
mod protocol;
mod pull_requests;
mod redirections;
mod reports;
mod runs;
mod scene;
mod serving;
mod steps;
mod stop_listener;
mod stopping;
mod strategies;
mod submodules;
mod threads;
mod verification;
mod waiting;
mod workspaces;
