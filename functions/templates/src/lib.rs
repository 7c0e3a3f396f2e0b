//! Routes of templates.

pub mod create_template;
pub mod delete_template;
pub mod get_template;
pub mod list_templates;
pub mod update_template;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_TEMPLATE, create_template::function),
    whole(&routes::DELETE_TEMPLATE, delete_template::function),
    whole(&routes::GET_TEMPLATE, get_template::function),
    whole(&routes::LIST_TEMPLATES, list_templates::function),
    whole(&routes::UPDATE_TEMPLATE, update_template::function),
];
