//! Routes of verification: plugins, and manual verification.

pub mod delete_plugin;
pub mod disable_plugin;
pub mod enable_plugin;
pub mod get_plugin;
pub mod list_plugins;
pub mod register_plugin;
pub mod run_verification;

mod harness;
mod request;

use awo_http::program::{ApiProgram, streaming, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::DELETE_PLUGIN, delete_plugin::function),
    whole(&routes::DISABLE_PLUGIN, disable_plugin::function),
    whole(&routes::ENABLE_PLUGIN, enable_plugin::function),
    whole(&routes::GET_PLUGIN, get_plugin::function),
    whole(&routes::LIST_PLUGINS, list_plugins::function),
    whole(&routes::REGISTER_PLUGIN, register_plugin::function),
    streaming(&routes::RUN_VERIFICATION, run_verification::function),
];
