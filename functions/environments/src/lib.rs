//! Routes of environments.

pub mod create_environment;
pub mod delete_environment;
pub mod get_environment;
pub mod list_environments;
pub mod update_environment;

mod content;
pub mod shape;
