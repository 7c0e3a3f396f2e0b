//! Routes of harness profiles.

pub mod create_profile;
pub mod delete_profile;
pub mod get_profile;
pub mod list_profiles;
pub mod shape;
pub mod update_profile;
pub mod validate_profile;

mod content;
mod replace;
