//! Routes of verification: plugins, and manual verification.

pub mod delete_plugin;
pub mod disable_plugin;
pub mod enable_plugin;
pub mod get_plugin;
pub mod list_plugins;
pub mod register_plugin;
pub mod run_verification;

mod asked;
mod content;
mod harness;
pub mod shape;
