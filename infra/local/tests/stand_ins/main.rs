//! The stand-ins, driven by the clients that the product uses. Each test is named after its rule.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has to fail loudly"
)]

mod cloud;
mod cluster;
mod concurrency;
mod dynamodb;
mod ecs;
mod ecs_conduct;
mod ecs_restart;
mod ecs_stop;
mod gateway;
mod gateway_limits;
mod gateway_stream;
mod in_process;
mod later;
mod mapping;
mod s3;
mod schedule;
mod secrets;
mod sqs;
mod sqs_limits;
mod sqs_poll;
mod sts;
