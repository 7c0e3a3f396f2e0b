//! The foundation of the black-box tests: a service on the stand-ins, a client of its API, faults
//! between the product and AWS, and the rules that must always hold.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on says so and ends"
)]

pub mod agents;
mod audit_rules;
mod budget_rules;
pub mod bulk_runs;
pub mod client;
pub mod contract;
mod cost_rules;
pub mod counted_requests;
pub mod crash_part;
pub mod deployment_rules;
pub mod driven;
pub mod everything;
mod family_rules;
pub mod faults;
pub mod functions;
pub mod gate;
pub mod invoke;
pub mod local;
pub mod measure;
mod outcome_rules;
pub mod privileges;
pub mod processes;
pub mod receiver;
pub mod recorder;
pub mod repository;
pub mod role_sessions;
pub mod rules;
pub mod seed;
pub mod service;
pub mod statement_rules;
pub mod subscriber_rules;
pub mod world;

mod usage_rules;
mod verification_rules;
