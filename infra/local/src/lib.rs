//! The local cloud: stand-ins for the AWS services that the product runs on, on loopback, for
//! development, tests and single machines.
//!
//! Invariant: no rule of the product lives here, and only [`service`] knows that there is one. The product speaks to every stand-in through
//! the AWS SDK and is spoken to by real Lambda events; only its endpoint URLs differ from the
//! cloud's. Where a stand-in must differ from the real service, it is stricter, not kinder.

pub mod access;
mod arn;
mod aws_json;
mod clock;
pub mod dynamodb;
pub mod ecs;
mod ecs_event;
mod ecs_logs;
mod ecs_process;
mod ecs_protocol;
mod ecs_run_task;
mod ecs_task;
pub mod function;
pub mod gateway;
mod gateway_answer;
mod gateway_event;
mod gateway_routes;
pub mod invoke_later;
pub mod mapping;
pub mod schedule;
pub mod secrets;
mod secrets_file;
mod serve;
pub mod service;
pub mod shutdown;
pub mod sqs;
mod sqs_attributes;
mod sqs_error;
mod sqs_message;
mod sqs_protocol;
mod sqs_queue;
mod sqs_receive;
mod sqs_store;

pub use arn::{ACCOUNT, REGION};
pub use serve::Server;
pub use service::{Options, Service, StartError};
