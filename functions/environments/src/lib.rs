//! Routes of environments.

pub mod create_environment;
pub mod delete_environment;
pub mod delete_environment_secret;
pub mod get_environment;
mod inheritance;
pub mod list_environments;
pub mod set_environment_secret;
pub mod update_environment;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_ENVIRONMENT, create_environment::function),
    whole(&routes::DELETE_ENVIRONMENT, delete_environment::function),
    whole(
        &routes::DELETE_ENVIRONMENT_SECRET,
        delete_environment_secret::function,
    ),
    whole(&routes::GET_ENVIRONMENT, get_environment::function),
    whole(&routes::LIST_ENVIRONMENTS, list_environments::function),
    whole(
        &routes::SET_ENVIRONMENT_SECRET,
        set_environment_secret::function,
    ),
    whole(&routes::UPDATE_ENVIRONMENT, update_environment::function),
];
