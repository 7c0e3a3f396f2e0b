//! A function's access to its surroundings: settings from the environment, the clock, the SDK's
//! clients, the queues (SQS), compute (ECS) and the file system of tasks (EFS).
//!
//! Nothing here knows whether it runs in the cloud or on one machine: only endpoints differ, and
//! the SDK reads those from the environment.

pub mod bodies;
pub mod clock;
pub mod compute;
pub mod definitions;
pub mod environment;
pub mod files;
pub mod launch;
pub mod model_role;
pub mod notifications;
pub mod personal;
pub mod queue;
pub mod secrets;
pub mod settings;
pub mod telemetry;

mod cloud;

use mimalloc::MiMalloc;

pub use clock::{Clock, Mint};
pub use cloud::{Cloud, http_client};
pub use environment::{Environment, SetupError};

/// For every program that has this crate in it: a call of the SDK makes some hundred allocations,
/// which were a quarter of what a delivery costs.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
