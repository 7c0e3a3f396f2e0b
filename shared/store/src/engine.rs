//! What every resource stands on: keys and kinds of items, changes, transactions, queries, batches.

pub(crate) mod batch;
pub(crate) mod change;
pub mod idempotency;
pub(crate) mod item;
pub(crate) mod item_kind;
pub(crate) mod key;
pub mod list;
pub mod schema;
pub(crate) mod table;
pub(crate) mod transaction;
pub(crate) mod tries;
pub(crate) mod turns;
pub(crate) mod write;
