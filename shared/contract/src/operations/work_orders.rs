//! Operations of work orders.

use awo_domain::api_key::Scope;
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{ScheduleId, TriggerId, WorkOrderId};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::record::Empty;
use crate::routes::{Route, creating, keyed, streaming};
use crate::runs::output::StartedRunShape;
use crate::schema::Schemas;
use crate::work_orders::input::{FollowUpBody, NewWorkOrder};
use crate::work_orders::output::WorkOrderShape;
use crate::work_orders::stops::{CanceledShape, KilledShape, PurgeShape};
use crate::work_orders::stops::{KillBody, PurgeBody};
use crate::work_orders::threads::ThreadShape;

/// `POST /v1/work-orders`
pub const CREATE_WORK_ORDER: Route = creating(
    keyed(
        "POST",
        "/v1/work-orders",
        Scope::WorkOrdersWrite,
        "create-work-order",
    ),
    "/v1/work-orders",
    "/id",
);
/// `GET /v1/work-orders`
pub const LIST_WORK_ORDERS: Route = keyed(
    "GET",
    "/v1/work-orders",
    Scope::WorkOrdersRead,
    "list-work-orders",
);
/// `GET /v1/work-orders/{id}`
pub const GET_WORK_ORDER: Route = keyed(
    "GET",
    "/v1/work-orders/{id}",
    Scope::WorkOrdersRead,
    "get-work-order",
);
/// `POST /v1/work-orders/{id}/follow-ups`
pub const FOLLOW_UP_WORK_ORDER: Route = creating(
    keyed(
        "POST",
        "/v1/work-orders/{id}/follow-ups",
        Scope::WorkOrdersWrite,
        "follow-up-work-order",
    ),
    "/v1/work-orders",
    "/id",
);
/// `GET /v1/threads/{id}`
pub const GET_THREAD: Route = keyed(
    "GET",
    "/v1/threads/{id}",
    Scope::WorkOrdersRead,
    "get-thread",
);
/// `DELETE /api/v1/work-orders/{id}`
pub const CANCEL_WORK_ORDER: Route = keyed(
    "DELETE",
    "/api/v1/work-orders/{id}",
    Scope::WorkOrdersWrite,
    "cancel-work-order",
);
/// `POST /api/v1/work-orders/{id}/kill`
pub const KILL_WORK_ORDER: Route = streaming(keyed(
    "POST",
    "/api/v1/work-orders/{id}/kill",
    Scope::RunsWrite,
    "kill-work-order",
));
/// `POST /api/v1/work-orders/purge`
pub const PURGE_WORK_ORDERS: Route = streaming(keyed(
    "POST",
    "/api/v1/work-orders/purge",
    Scope::All,
    "purge-work-orders",
));
/// `POST /api/v1/work-orders/{id}/runs`
pub const START_RUN: Route = creating(
    keyed(
        "POST",
        "/api/v1/work-orders/{id}/runs",
        Scope::RunsWrite,
        "start-run",
    ),
    "/v1/runs",
    "/runId",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    CREATE_WORK_ORDER,
    LIST_WORK_ORDERS,
    GET_WORK_ORDER,
    FOLLOW_UP_WORK_ORDER,
    GET_THREAD,
    CANCEL_WORK_ORDER,
    KILL_WORK_ORDER,
    PURGE_WORK_ORDERS,
    START_RUN,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("workOrders", &schemas.of::<WorkOrderShape>());
    let list = Operation::of(&LIST_WORK_ORDERS, "List work orders", "Newest first.")
        .query(
            "status",
            schemas.of::<WorkOrderStatus>(),
            "Those of this status.",
        )
        .tenants()
        .query(
            "parentId",
            schemas.of::<WorkOrderId>(),
            "The children of this work order.",
        )
        .query(
            "threadId",
            schemas.of::<WorkOrderId>(),
            "The turns of this thread.",
        )
        .query(
            "scheduleId",
            schemas.of::<ScheduleId>(),
            "Those that this schedule created.",
        )
        .query(
            "triggerId",
            schemas.of::<TriggerId>(),
            "Those that this trigger created.",
        )
        .pages(DEFAULT_LIMIT)
        .answers(Success::with(200, "A page of work orders.", page));
    let get = Operation::of(
        &GET_WORK_ORDER,
        "Get a work order",
        "`runId` names its newest run.",
    )
    .path::<WorkOrderId>();
    let cancel = Operation::of(
        &CANCEL_WORK_ORDER,
        "Cancel a work order",
        "It is `canceled` at once; its processes are stopped afterwards. Terminal work orders are 409.",
    ).path::<WorkOrderId>()
    .fails(&[Failure::Conflict]);
    let start = Operation::of(
        &START_RUN,
        "Start a new run",
        "The work order is `queued`, and its waiting run is replaced, or `failed`. Other statuses are 409. There is no body.",
    ).path::<WorkOrderId>()
    .optional_body(Empty.schema(schemas), json!({}))
    .idempotent()
    .fails(&[Failure::Conflict, Failure::InsufficientCredits]);
    vec![
        create(schemas),
        list,
        get.answers(Success::of::<WorkOrderShape>(
            schemas,
            200,
            "The work order.",
        )),
        cancel.answers(Success::of::<CanceledShape>(
            schemas,
            200,
            "It is canceled.",
        )),
        follow_up(schemas),
        thread(schemas),
        kill(schemas),
        purge(schemas),
        start.answers(Success::of::<StartedRunShape>(schemas, 201, "The new run.")),
    ]
}

fn example_order() -> Value {
    json!({
        "taskPrompt": "Make the failing test pass.",
        "workspaceSource": { "type": "git", "repository": "https://git.example.com/service.git", "branch": "main" },
        "maxIterations": 5,
        "tenantContext": { "tenantId": "acme", "tenantUserId": "u-17" },
        "agent": { "type": "command", "command": ["./agent.sh"] },
        "limits": { "maxCredits": 50 },
        "metadata": { "ticket": "A-1" },
    })
}

fn create(schemas: &mut Schemas) -> Operation {
    let body = NewWorkOrder { allow_file: false }.schema(schemas);
    Operation::of(
        &CREATE_WORK_ORDER,
        "Create a work order",
        "It gets its first run, which waits in the queue. The run's maximum cost is held.",
    )
    .body(body, example_order())
    .idempotent()
    .fails(&[Failure::InsufficientCredits, Failure::QueueFull])
    .answers(Success::of::<WorkOrderShape>(
        schemas,
        201,
        "The work order.",
    ))
}

fn follow_up(schemas: &mut Schemas) -> Operation {
    let body = FollowUpBody.schema(schemas);
    let example = json!({ "taskPrompt": "Name the test after the rule that it shows." });
    Operation::of(
        &FOLLOW_UP_WORK_ORDER,
        "Follow up a work order",
        "Creates the next turn of its thread, on the same branch and the same pull request; `id` may be \
         any turn. Members that are left out are those of the turn before, but `limits` and `maxIterations` are \
         the profile's. A turn waits until those before it have ended. 409 with `details.reason`: `child`, \
         `thread_full` (100 turns), `waiting_full` (10 turns have not ended).",
    )
    .path::<WorkOrderId>()
    .body(body, example)
    .idempotent()
    .fails(&[
        Failure::Conflict,
        Failure::InsufficientCredits,
        Failure::QueueFull,
    ])
    .answers(Success::of::<WorkOrderShape>(
        schemas,
        201,
        "The work order of the new turn.",
    ))
}

fn thread(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &GET_THREAD,
        "Get a thread",
        "The turns that continue each other on one branch; a thread has the id of its first work order.",
    )
    .path::<WorkOrderId>()
    .answers(Success::of::<ThreadShape>(schemas, 200, "The thread."))
}

fn kill(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &KILL_WORK_ORDER,
        "Kill a work order's agent",
        "Answers when the process tree is known to be dead. If that takes longer than 5 s, the \
         answer begins as 200 with white space: read `success`.",
    )
    .path::<WorkOrderId>()
    .optional_body(
        KillBody.schema(schemas),
        json!({ "immediate": true, "reason": "it went astray" }),
    )
    .late()
    .answers(Success::of::<KilledShape>(
        schemas,
        200,
        "All its processes are dead, or `success` is false.",
    ))
}

fn purge(schemas: &mut Schemas) -> Operation {
    let example = json!({ "statuses": ["succeeded"], "olderThanDays": 0, "dryRun": true });
    Operation::of(
        &PURGE_WORK_ORDERS,
        "Purge work orders",
        "Deletes work orders with their runs, events, logs, diffs and audit, for good; the ledger and \
         usage stay. What is alive is killed first. One call deletes up to 10 000 and takes up to \
         15 minutes: if it takes longer than 5 s, the answer begins as 200 with white space, so look \
         at `success`, and call again until nothing is deleted.",
    )
    .optional_body(PurgeBody.schema(schemas), example)
    .late()
    .answers(Success::of::<PurgeShape>(schemas, 200, "The deleted work orders."))
}
