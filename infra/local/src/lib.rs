//! The local cloud: stand-ins for the AWS services that the product runs on, on loopback, for
//! development, tests and single machines.
//!
//! Invariant: no rule of the product is implemented here, and only `functions` and [`service`]
//! refer to the product. The product calls every stand-in through the AWS SDK and is called with
//! real Lambda events; only its endpoint URLs differ from the cloud's. Where a stand-in must differ
//! from the real service, it is stricter, not more lenient.

pub mod access;
mod arn;
mod aws_json;
pub mod calls;
mod clock;
mod concurrency;
pub mod confinement;
pub mod dynamodb;
pub mod ecs;
pub mod efs;
pub mod function;
pub mod functions;
pub mod gateway;
pub mod health;
mod in_process;
pub mod index_lag;
pub mod invoke_later;
pub mod locks;
pub mod mapping;
pub mod metrics;
mod runner_environment;
pub mod s3;
pub mod schedule;
pub mod secrets;
mod serve;
pub mod service;
pub mod shutdown;
pub mod sqs;
pub mod sts;
pub mod workspace_root;

pub use arn::{ACCOUNT, REGION};
pub use in_process::http_client;
pub use serve::Server;
pub use service::{MINIMUM_COMPRESSION_SIZE, Options, Service, StartError};
