//! Black-box tests of the service, fault injection, and the parity of template and routes.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so and ends"
)]

mod audit;
mod authorisation;
mod bad_input;
mod broken_deliveries;
mod budgets;
mod cascades;
mod children;
mod compression;
mod contention;
mod cost_backfill;
mod cost_labels;
mod cost_reports;
mod costs;
mod crash_points;
mod delivery;
mod delivery_permits;
mod deployment;
mod details;
mod diff;
mod edge;
mod events;
mod families;
mod family_budgets;
mod house;
mod http_api;
mod http_lists;
mod image;
mod keys;
mod kills;
mod lagging_indexes;
mod ledger_checks;
mod live_events;
mod local_program;
mod logs;
mod loose_ends;
mod methods;
mod model;
mod no_capacity;
mod openapi;
mod paging;
mod paid_runs;
mod parents;
mod permits;
mod places;
mod plugins;
mod privileges;
mod profile_chains;
mod profiles;
mod purge;
mod queue;
mod releases;
mod restart;
mod rivals;
mod sandboxes;
mod secrets;
mod shares;
mod single_server;
mod slow_ends;
mod source_rules;
mod stopped_runners;
mod stops;
mod story;
mod subscribers;
mod template;
mod templates;
mod threat_model;
mod transactions;
mod usage;
mod variables;
mod verification;
mod verified;
mod wake_ups;
mod webhooks;
mod whole_runs;
