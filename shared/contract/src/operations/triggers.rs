//! Operations of triggers.

use awo_domain::TriggerId;
use awo_domain::api_key::Scope;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::routes::{Route, creating, keyed, needing};
use crate::schema::Schemas;
use crate::triggers::input::{Evaluation, TriggerBody};
use crate::triggers::output::{EvaluationShape, TriggerShape};

/// `GET /v1/triggers`
pub const LIST_TRIGGERS: Route = keyed("GET", "/v1/triggers", Scope::TriggersRead, "list-triggers");
/// `POST /v1/triggers`
pub const CREATE_TRIGGER: Route = creating(
    writing("POST", "/v1/triggers", "create-trigger"),
    "/v1/triggers",
    "/id",
);
/// `GET /v1/triggers/{id}`
pub const GET_TRIGGER: Route = keyed(
    "GET",
    "/v1/triggers/{id}",
    Scope::TriggersRead,
    "get-trigger",
);
/// `PUT /v1/triggers/{id}`
pub const UPDATE_TRIGGER: Route = writing("PUT", "/v1/triggers/{id}", "update-trigger");
/// `DELETE /v1/triggers/{id}`
pub const DELETE_TRIGGER: Route = keyed(
    "DELETE",
    "/v1/triggers/{id}",
    Scope::TriggersWrite,
    "delete-trigger",
);
/// `POST /v1/triggers/{id}/evaluate`
pub const EVALUATE_TRIGGER: Route = keyed(
    "POST",
    "/v1/triggers/{id}/evaluate",
    Scope::TriggersRead,
    "evaluate-trigger",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_TRIGGERS,
    CREATE_TRIGGER,
    GET_TRIGGER,
    UPDATE_TRIGGER,
    DELETE_TRIGGER,
    EVALUATE_TRIGGER,
];

/// A route that may have work orders created: it is for keys that may do so themselves.
const fn writing(method: &'static str, path: &'static str, function: &'static str) -> Route {
    let route = keyed(method, path, Scope::TriggersWrite, function);
    needing(route, Scope::WorkOrdersWrite)
}

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("triggers", &schemas.of::<TriggerShape>());
    let list = Operation::of(&LIST_TRIGGERS, "List triggers", "Newest first.");
    let get = Operation::of(&GET_TRIGGER, "Get a trigger", "With its state.").path::<TriggerId>();
    let delete = Operation::of(
        &DELETE_TRIGGER,
        "Delete a trigger",
        "It judges no further delivery; its work orders stay.",
    )
    .path::<TriggerId>();
    vec![
        list.pages(DEFAULT_LIMIT)
            .answers(Success::with(200, "A page of triggers.", page)),
        create(schemas),
        get.answers(Success::of::<TriggerShape>(schemas, 200, "The trigger.")),
        update(schemas),
        delete.answers(Success::nothing("It is gone.")),
        evaluate(schemas),
    ]
}

fn example() -> Value {
    json!({
        "name": "Issues with the label agent",
        "inboxId": "inb_01kb4x00000000000000000000",
        "events": ["issue.labeled"],
        "repositories": ["github.com/acme/*"],
        "filter": { "labels": ["agent"] },
        "action": "create",
        "workOrder": {
            "taskPrompt": "Resolve this issue.\n{{issue.title}}\n{{issue.body}}",
            "limits": { "maxCredits": 50 },
        },
    })
}

fn create(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &CREATE_TRIGGER,
        "Create a trigger",
        "It judges each delivery to its inbox, and creates one work order at most of each. There are at most a hundred.",
    )
    .body(TriggerBody.schema(schemas), example())
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TriggerShape>(schemas, 201, "The trigger."))
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &UPDATE_TRIGGER,
        "Replace a trigger",
        "What is left out gets its default. A paused trigger goes on. Deliveries that were judged before stay as they \
         are. 409 means that concurrent requests changed it.",
    )
    .path::<TriggerId>()
    .body(TriggerBody.schema(schemas), example())
    .fails(&[Failure::Conflict])
    .answers(Success::of::<TriggerShape>(schemas, 200, "The trigger."))
}

fn evaluate(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &EVALUATE_TRIGGER,
        "Evaluate a trigger",
        "Says what the trigger would do with a delivery, and why. Nothing is written, and the forge is not asked.",
    )
    .path::<TriggerId>()
    .body(
        Evaluation.schema(schemas),
        json!({ "event": "issues", "payload": { "action": "labeled" } }),
    )
    .answers(Success::of::<EvaluationShape>(schemas, 200, "The judgement."))
}
