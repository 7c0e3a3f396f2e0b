//! Routes of schedules.

mod content;
pub mod create_schedule;
pub mod delete_schedule;
pub mod fire_schedule;
pub mod get_schedule;
pub mod list_firings;
pub mod list_schedules;
pub mod resume_schedule;
mod shown;
pub mod update_schedule;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_SCHEDULE, create_schedule::function),
    whole(&routes::DELETE_SCHEDULE, delete_schedule::function),
    whole(&routes::FIRE_SCHEDULE, fire_schedule::function),
    whole(&routes::GET_SCHEDULE, get_schedule::function),
    whole(&routes::LIST_FIRINGS, list_firings::function),
    whole(&routes::LIST_SCHEDULES, list_schedules::function),
    whole(&routes::RESUME_SCHEDULE, resume_schedule::function),
    whole(&routes::UPDATE_SCHEDULE, update_schedule::function),
];
