//! What organizations and operators set.

pub mod environments;
pub mod plugins;
pub mod profiles;
pub mod providers;
pub mod task_definitions;
pub mod templates;
