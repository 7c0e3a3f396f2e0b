//! Everything that crosses the border of the API, declared once: functions read it, and the OpenAPI
//! document is printed from it.
//!
//! A value of a body is a [`Field`]; an object is a [`Record`], whose one function is the reader of a
//! body and the declaration of its schema. The dispatch is static, so a Lambda program contains the
//! readers alone.

pub mod audit;
pub mod body;
pub mod budgets;
pub mod credits;
pub mod environments;
pub mod failure;
pub mod field;
pub mod inboxes;
pub mod operation;
pub mod operations;
pub mod outcomes;
pub mod page;
pub mod path_id;
pub mod profiles;
pub mod queue;
pub mod record;
pub mod routes;
pub mod runs;
pub mod schedules;
pub mod schema;
pub mod success;
pub mod templates;
pub mod triggers;
pub mod usage;
pub mod verification;
pub mod webhooks;
pub mod work_orders;

pub use field::Field;
pub use path_id::PathId;
pub use record::{Members, Record};
