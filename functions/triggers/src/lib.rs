//! Routes of triggers.

mod content;
pub mod create_trigger;
pub mod delete_trigger;
pub mod evaluate_trigger;
pub mod get_trigger;
pub mod list_triggers;
pub mod update_trigger;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_TRIGGER, create_trigger::function),
    whole(&routes::DELETE_TRIGGER, delete_trigger::function),
    whole(&routes::EVALUATE_TRIGGER, evaluate_trigger::function),
    whole(&routes::GET_TRIGGER, get_trigger::function),
    whole(&routes::LIST_TRIGGERS, list_triggers::function),
    whole(&routes::UPDATE_TRIGGER, update_trigger::function),
];
