//! Operations of runs.

use awo_domain::api_key::Scope;
use awo_domain::run::RunStatus;
use awo_domain::work_order::MAX_ITERATIONS;
use awo_domain::{RunId, WorkOrderId};
use serde_json::json;

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::routes::{Route, keyed, streaming};
use crate::runs::diff::DiffShape;
use crate::runs::input::CancelBody;
use crate::runs::log::LogsShape;
use crate::runs::output::{RunShape, TimelineShape};
use crate::schema::{Schemas, default, whole};

/// `GET /v1/runs`
pub const LIST_RUNS: Route = keyed("GET", "/v1/runs", Scope::RunsRead, "list-runs");
/// `GET /v1/runs/{id}`
pub const GET_RUN: Route = keyed("GET", "/v1/runs/{id}", Scope::RunsRead, "get-run");
/// `POST /v1/runs/{id}/cancel`
pub const CANCEL_RUN: Route = keyed(
    "POST",
    "/v1/runs/{id}/cancel",
    Scope::RunsWrite,
    "cancel-run",
);
/// `GET /v1/runs/{id}/events`
pub const LIST_RUN_EVENTS: Route = streaming(keyed(
    "GET",
    "/v1/runs/{id}/events",
    Scope::RunsRead,
    "list-run-events",
));
/// `GET /v1/runs/{id}/logs`
pub const GET_RUN_LOGS: Route = keyed("GET", "/v1/runs/{id}/logs", Scope::RunsRead, "get-run-logs");
/// `GET /v1/runs/{id}/diff`
pub const GET_RUN_DIFF: Route = keyed("GET", "/v1/runs/{id}/diff", Scope::RunsRead, "get-run-diff");

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_RUNS,
    GET_RUN,
    CANCEL_RUN,
    LIST_RUN_EVENTS,
    GET_RUN_LOGS,
    GET_RUN_DIFF,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let list = plain_list("runs", &schemas.of::<RunShape>());
    let list = Operation::of(&LIST_RUNS, "List runs", "Newest first.")
        .query(
            "workOrderId",
            schemas.of::<WorkOrderId>(),
            "Those of this work order.",
        )
        .query("status", schemas.of::<RunStatus>(), "Those of this status.")
        .query(
            "tenantId",
            json!({ "type": "string" }),
            "Those of this tenant.",
        )
        .pages(DEFAULT_LIMIT)
        .answers(Success::with(200, "A page of runs.", list));
    let get = Operation::of(
        &GET_RUN,
        "Get a run",
        "`computeStoppedAt` means that none of its processes is left, `settledAt` that its cost is final.",
    ).path::<RunId>();
    let diff = Operation::of(
        &GET_RUN_DIFF,
        "Get the changes of a run",
        "The unified diff from its base to its newest commit, up to 1 MiB; empty without a commit.",
    )
    .path::<RunId>();
    let cancel = Operation::of(
        &CANCEL_RUN,
        "Cancel a run",
        "Responds at once; the processes are stopped afterwards. Canceling a work order's newest run cancels the work order. Terminal runs are 409.",
    ).path::<RunId>()
    .optional_body(CancelBody.schema(schemas), json!({ "reason": "no longer needed" }))
    .fails(&[Failure::Conflict]);
    vec![
        list,
        get.answers(Success::of::<RunShape>(schemas, 200, "The run.")),
        cancel.answers(Success::of::<RunShape>(schemas, 200, "The run, canceled.")),
        events(schemas),
        logs(schemas),
        diff.answers(Success::of::<DiffShape>(schemas, 200, "Its changes.")),
    ]
}

fn events(schemas: &mut Schemas) -> Operation {
    let sequence = whole(0..=u64::from(u32::MAX));
    let stream = json!({
        "type": "string",
        "description": "Server-sent events, until the run's end or for 14 minutes.",
    });
    Operation::of(
        &LIST_RUN_EVENTS,
        "List a run's events",
        "The timeline of a run, in order; live with `Accept: text/event-stream`.",
    ).path::<RunId>()
    .query(
        "after",
        default(sequence.clone(), 0),
        "The last sequence seen.",
    )
    .query(
        "limit",
        default(whole(1..=u64::from(MAX_LIMIT)), MAX_LIMIT),
        "The maximum size of a page; not for a live stream.",
    )
    .header(
        "Last-Event-ID",
        sequence,
        "The last received sequence, for a live stream; it takes precedence over `after`.",
    )
    .answers(Success::of::<TimelineShape>(
        schemas,
        200,
        "A page of events.",
    ))
    .answers_also(200, "text/event-stream", stream)
    .answers_nothing_also(
        204,
        "To `Accept: text/event-stream`: the run has ended and has no further event. A standard EventSource then stops.",
    )
}

fn logs(schemas: &mut Schemas) -> Operation {
    let iteration = whole(1..=u64::from(MAX_ITERATIONS));
    Operation::of(
        &GET_RUN_LOGS,
        "Get what the agent wrote",
        "By iteration, the last 256 KiB of each.",
    )
    .path::<RunId>()
    .query("iteration", iteration, "This one alone.")
    .query(
        "after",
        default(whole(0..=u64::from(MAX_ITERATIONS)), 0),
        "Those after this iteration.",
    )
    .query(
        "limit",
        default(whole(1..=u64::from(MAX_LIMIT)), DEFAULT_LIMIT),
        "How many at most.",
    )
    .answers(Success::of::<LogsShape>(schemas, 200, "Its output."))
}
