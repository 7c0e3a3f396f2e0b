//! What organizations and operators set.

pub(crate) mod counted;
pub mod environment_secrets;
pub mod environments;
pub mod forges;
pub mod plugins;
pub mod profiles;
pub mod providers;
pub mod task_definitions;
pub mod templates;
