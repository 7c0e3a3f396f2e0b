//! DynamoDB: keys, items and transactions. The only crate that builds a key or an expression.
//!
//! Every change of state is a conditional write: the losing side gets the current state and
//! nothing else happens. Writes that belong together are one transaction.
//!
//! The items of the tables: `engine/item_kind.rs`.

pub mod capacity;
pub mod costs;
pub mod engine;
pub mod inboxes;
pub mod ledger;
pub mod organizations;
pub mod outcomes;
pub mod pull_requests;
pub mod queue;
pub mod reports;
pub mod runs;
pub mod schedules;
pub mod settings;
pub mod sweep;
pub mod triggers;
pub mod usage;
pub mod webhooks;
pub mod work_orders;

pub use engine::table::{Store, Tables};
pub use engine::tries::Tries;
