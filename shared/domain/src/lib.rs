//! The rules of the product, pure: types, state machines, the ledger's arithmetic, the fair queue.
//!
//! Nothing here does I/O, reads a clock or generates a random number: times and ids are arguments.
//! Every rule is defined once, here, and all other code calls it.

pub mod agent;
pub mod api_key;
pub mod audit;
pub mod budget;
pub mod control;
pub mod cost;
pub mod csv;
pub mod environment;
pub mod error;
pub mod event;
pub mod family;
pub mod forge;
mod hmac;
pub mod id;
pub mod inbox;
pub mod ledger;
pub mod manual;
pub mod money;
mod names;
pub mod otlp;
pub mod outcome;
pub mod plugin;
pub mod profile;
pub mod pull_request;
pub mod queue;
pub mod run;
pub mod schedule;
pub mod source;
pub mod span;
pub mod statement;
pub mod stop;
pub mod task_prompt;
pub mod template;
pub mod thread;
pub mod time;
pub mod trigger;
pub mod usage;
pub mod verification;
pub mod webhook;
pub mod work_order;

pub mod schema;

pub use error::{Error, Fault, Resource};
pub use id::{
    AttemptId, BudgetId, DeliveryId, EventId, InboxDeliveryId, InboxId, OrgId, RunId, ScheduleId,
    SnapshotId, TransactionId, TriggerId, VerificationId, WebhookId, WorkOrderId,
};
pub use task_prompt::TaskPrompt;
pub use time::Timestamp;
