//! Routes of harness profiles.

pub mod create_profile;
pub mod delete_profile;
pub mod get_profile;
pub mod list_profiles;
pub mod update_profile;
pub mod validate_profile;

mod replace;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_PROFILE, create_profile::function),
    whole(&routes::DELETE_PROFILE, delete_profile::function),
    whole(&routes::GET_PROFILE, get_profile::function),
    whole(&routes::LIST_PROFILES, list_profiles::function),
    whole(&routes::UPDATE_PROFILE, update_profile::function),
    whole(&routes::VALIDATE_PROFILE, validate_profile::function),
];
