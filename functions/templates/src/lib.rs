//! Routes of templates.

pub mod create_template;
pub mod delete_template;
pub mod get_template;
pub mod list_templates;
pub mod update_template;

mod content;
pub mod shape;
