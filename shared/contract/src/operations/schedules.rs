//! Operations of schedules.

use awo_domain::ScheduleId;
use awo_domain::api_key::Scope;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::record::Empty;
use crate::routes::{Route, creating, keyed, needing};
use crate::schedules::input::ScheduleBody;
use crate::schedules::output::{FiringShape, ScheduleShape};
use crate::schema::Schemas;

/// `GET /v1/schedules`
pub const LIST_SCHEDULES: Route = keyed(
    "GET",
    "/v1/schedules",
    Scope::SchedulesRead,
    "list-schedules",
);
/// `POST /v1/schedules`
pub const CREATE_SCHEDULE: Route = creating(
    writing("POST", "/v1/schedules", "create-schedule"),
    "/v1/schedules",
    "/id",
);
/// `GET /v1/schedules/{id}`
pub const GET_SCHEDULE: Route = keyed(
    "GET",
    "/v1/schedules/{id}",
    Scope::SchedulesRead,
    "get-schedule",
);
/// `PUT /v1/schedules/{id}`
pub const UPDATE_SCHEDULE: Route = writing("PUT", "/v1/schedules/{id}", "update-schedule");
/// `DELETE /v1/schedules/{id}`
pub const DELETE_SCHEDULE: Route = keyed(
    "DELETE",
    "/v1/schedules/{id}",
    Scope::SchedulesWrite,
    "delete-schedule",
);
/// `POST /v1/schedules/{id}/fire`
pub const FIRE_SCHEDULE: Route = creating(
    writing("POST", "/v1/schedules/{id}/fire", "fire-schedule"),
    "/v1/work-orders",
    "/workOrderId",
);
/// `POST /v1/schedules/{id}/resume`
pub const RESUME_SCHEDULE: Route = writing("POST", "/v1/schedules/{id}/resume", "resume-schedule");
/// `GET /v1/schedules/{id}/firings`
pub const LIST_FIRINGS: Route = keyed(
    "GET",
    "/v1/schedules/{id}/firings",
    Scope::SchedulesRead,
    "list-firings",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_SCHEDULES,
    CREATE_SCHEDULE,
    GET_SCHEDULE,
    UPDATE_SCHEDULE,
    DELETE_SCHEDULE,
    FIRE_SCHEDULE,
    RESUME_SCHEDULE,
    LIST_FIRINGS,
];

/// A route that may have work orders created: it is for keys that may do so themselves.
const fn writing(method: &'static str, path: &'static str, function: &'static str) -> Route {
    let route = keyed(method, path, Scope::SchedulesWrite, function);
    needing(route, Scope::WorkOrdersWrite)
}

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("schedules", &schemas.of::<ScheduleShape>());
    let list = Operation::of(&LIST_SCHEDULES, "List schedules", "Newest first.");
    let get = Operation::of(
        &GET_SCHEDULE,
        "Get a schedule",
        "With the next five times at which it fires.",
    )
    .path::<ScheduleId>();
    let delete = Operation::of(
        &DELETE_SCHEDULE,
        "Delete a schedule",
        "It fires no more; its work orders stay.",
    )
    .path::<ScheduleId>();
    vec![
        list.pages(DEFAULT_LIMIT)
            .answers(Success::with(200, "A page of schedules.", page)),
        create(schemas),
        get.answers(Success::of::<ScheduleShape>(schemas, 200, "The schedule.")),
        update(schemas),
        delete.answers(Success::nothing("It is gone.")),
        fire(schemas),
        resume(schemas),
        firings(schemas),
    ]
}

fn example() -> Value {
    json!({
        "name": "Nightly dependency update",
        "cron": "30 2 * * MON-FRI",
        "timezone": "Europe/Berlin",
        "workOrder": {
            "taskPrompt": "Update the dependencies, and make the tests pass.",
            "workspaceSource": { "type": "git", "repository": "https://git.example.com/service.git" },
            "limits": { "maxCredits": 50 },
        },
        "overlap": "skip",
        "catchUp": "latest",
        "pauseAfterFailures": 3,
    })
}

fn create(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &CREATE_SCHEDULE,
        "Create a schedule",
        "It creates a work order at each time of its timetable, within 120 s, once. There are at most a hundred.",
    )
    .body(ScheduleBody.schema(schemas), example())
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<ScheduleShape>(schemas, 201, "The schedule."))
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &UPDATE_SCHEDULE,
        "Replace a schedule",
        "What is left out gets its default. A changed timetable never fires for the past. A paused schedule \
         stays paused. 409 means that concurrent requests changed it.",
    )
    .path::<ScheduleId>()
    .body(ScheduleBody.schema(schemas), example())
    .fails(&[Failure::Conflict])
    .answers(Success::of::<ScheduleShape>(schemas, 200, "The schedule."))
}

fn fire(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &FIRE_SCHEDULE,
        "Fire a schedule now",
        "Creates a work order, also while the schedule is paused or disabled. What refuses a create refuses it, \
         and is no firing; an earlier work order that `overlap` does not allow is 409. There is no body.",
    )
    .path::<ScheduleId>()
    .optional_body(Empty.schema(schemas), json!({}))
    .idempotent()
    .fails(&[
        Failure::Conflict,
        Failure::InsufficientCredits,
        Failure::QueueFull,
    ])
    .answers(Success::of::<FiringShape>(schemas, 201, "The firing."))
}

fn resume(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &RESUME_SCHEDULE,
        "Resume a schedule",
        "It fires from now on, and has no failures. Its work orders count in the budgets of the key that \
         resumed it. There is no body.",
    )
    .path::<ScheduleId>()
    .optional_body(Empty.schema(schemas), json!({}))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<ScheduleShape>(schemas, 200, "The schedule."))
}

fn firings(schemas: &mut Schemas) -> Operation {
    let page = plain_list("firings", &schemas.of::<FiringShape>());
    Operation::of(
        &LIST_FIRINGS,
        "List firings of a schedule",
        "Newest first, those of the last 90 days.",
    )
    .path::<ScheduleId>()
    .pages(DEFAULT_LIMIT)
    .answers(Success::with(200, "A page of firings.", page))
}
