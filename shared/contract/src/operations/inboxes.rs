//! Operations of inboxes, of the deliveries to them, and of their senders.

use awo_domain::api_key::Scope;
use awo_domain::inbox::delivery::InboxOutcome;
use awo_domain::{InboxDeliveryId, InboxId};
use serde_json::json;

use crate::failure::Failure;
use crate::field::Field;
use crate::inboxes::input::{InboxUpdate, NewInbox, SecretRotation};
use crate::inboxes::output::{
    InboxDeliveryShape, InboxSecretShape, InboxShape, NewInboxShape, ReceiptShape,
};
use crate::operation::{Operation, Success, plain_list};
use crate::page::DEFAULT_LIMIT;
use crate::record::Empty;
use crate::routes::{Route, creating, keyed, needing, signed};
use crate::schema::{Schemas, reference};

/// `GET /v1/inboxes`
pub const LIST_INBOXES: Route = keyed("GET", "/v1/inboxes", Scope::TriggersRead, "list-inboxes");
/// `POST /v1/inboxes`
pub const CREATE_INBOX: Route = creating(
    keyed("POST", "/v1/inboxes", Scope::TriggersWrite, "create-inbox"),
    "/v1/inboxes",
    "/inbox/id",
);
/// `GET /v1/inboxes/{id}`
pub const GET_INBOX: Route = keyed("GET", "/v1/inboxes/{id}", Scope::TriggersRead, "get-inbox");
/// `PATCH /v1/inboxes/{id}`
pub const UPDATE_INBOX: Route = keyed(
    "PATCH",
    "/v1/inboxes/{id}",
    Scope::TriggersWrite,
    "update-inbox",
);
/// `DELETE /v1/inboxes/{id}`
pub const DELETE_INBOX: Route = keyed(
    "DELETE",
    "/v1/inboxes/{id}",
    Scope::TriggersWrite,
    "delete-inbox",
);
/// `POST /v1/inboxes/{id}/rotate-secret`
pub const ROTATE_INBOX_SECRET: Route = keyed(
    "POST",
    "/v1/inboxes/{id}/rotate-secret",
    Scope::TriggersWrite,
    "rotate-inbox-secret",
);
/// `GET /v1/inboxes/{id}/deliveries`
pub const LIST_INBOX_DELIVERIES: Route = keyed(
    "GET",
    "/v1/inboxes/{id}/deliveries",
    Scope::TriggersRead,
    "list-inbox-deliveries",
);
/// `POST /v1/inboxes/{id}/deliveries/{deliveryId}/replay`
pub const REPLAY_INBOX_DELIVERY: Route = needing(
    keyed(
        "POST",
        "/v1/inboxes/{id}/deliveries/{deliveryId}/replay",
        Scope::TriggersWrite,
        "replay-inbox-delivery",
    ),
    Scope::WorkOrdersWrite,
);
/// `POST /v1/hooks/{inboxId}`
pub const RECEIVE_DELIVERY: Route = signed("/v1/hooks/{inboxId}", "receive-delivery");

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_INBOXES,
    CREATE_INBOX,
    GET_INBOX,
    UPDATE_INBOX,
    DELETE_INBOX,
    ROTATE_INBOX_SECRET,
    LIST_INBOX_DELIVERIES,
    REPLAY_INBOX_DELIVERY,
    RECEIVE_DELIVERY,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let page = plain_list("inboxes", &schemas.of::<InboxShape>());
    let list = Operation::of(
        &LIST_INBOXES,
        "List inboxes",
        "Newest first. Secrets are not shown.",
    );
    let get = Operation::of(&GET_INBOX, "Get an inbox", "Its secret is not shown.");
    let delete = Operation::of(
        &DELETE_INBOX,
        "Delete an inbox",
        "Deliveries to it are refused from now on. What its deliveries have created stays.",
    );
    vec![
        list.pages(DEFAULT_LIMIT)
            .answers(Success::with(200, "A page of inboxes.", page)),
        create(schemas),
        get.path::<InboxId>()
            .answers(Success::of::<InboxShape>(schemas, 200, "The inbox.")),
        update(schemas),
        delete
            .path::<InboxId>()
            .answers(Success::nothing("It is gone.")),
        rotate(schemas),
        deliveries(schemas),
        replay(schemas),
        receive(schemas),
    ]
}

fn create(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &CREATE_INBOX,
        "Create an inbox",
        "Only this response has the secret with which the sender signs. There are at most ten; then 409.",
    )
    .body(
        NewInbox.schema(schemas),
        json!({ "name": "Our repositories", "kind": "github" }),
    )
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<NewInboxShape>(
        schemas,
        201,
        "The inbox, its URL, and its secret.",
    ))
}

fn update(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &UPDATE_INBOX,
        "Update an inbox",
        "Given fields replace the present ones. The kind stays. Deliveries to a disabled inbox are refused as if there were none. 409 means that concurrent requests changed it.",
    )
    .path::<InboxId>()
    .body(InboxUpdate.schema(schemas), json!({ "enabled": true }))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<InboxShape>(schemas, 200, "The inbox."))
}

fn rotate(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &ROTATE_INBOX_SECRET,
        "Rotate the secret of an inbox",
        "Only this response has the new secret. For 24 hours the previous one is accepted, too. Another rotation within that time ends the older one at once. 409 means that concurrent requests changed the inbox.",
    )
    .path::<InboxId>()
    .optional_body(SecretRotation.schema(schemas), json!({}))
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<InboxSecretShape>(
        schemas,
        200,
        "The new secret.",
    ))
}

fn deliveries(schemas: &mut Schemas) -> Operation {
    let page = plain_list("deliveries", &schemas.of::<InboxDeliveryShape>());
    let outcome = schemas.of::<InboxOutcome>();
    Operation::of(
        &LIST_INBOX_DELIVERIES,
        "List the deliveries to an inbox",
        "Newest first, those of the last 30 days, each with what every trigger of the inbox made of it.",
    )
    .path::<InboxId>()
    .query("outcome", outcome, "Those of this outcome.")
    .pages(DEFAULT_LIMIT)
    .answers(Success::with(200, "A page of deliveries.", page))
}

fn replay(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &REPLAY_INBOX_DELIVERY,
        "Process a delivery once more",
        "The triggers of the inbox judge it as they are now; one that has made a work order of it makes no other. 409 if it waits for its processing already, or its body, which is stored for 7 days, is gone.",
    )
    .path::<InboxId>()
    .path::<InboxDeliveryId>()
    .optional_body(Empty.schema(schemas), json!({}))
    .fails(&[Failure::Conflict])
    .answers(Success::of::<InboxDeliveryShape>(
        schemas,
        202,
        "The delivery, which waits for its processing.",
    ))
}

fn receive(schemas: &mut Schemas) -> Operation {
    Operation::of(
        &RECEIVE_DELIVERY,
        "Receive a delivery",
        "For senders, which sign the raw body as the kind of the inbox has it; there is no API key. The delivery is stored before it is acknowledged. A missing or wrong signature, an unknown and a disabled inbox have the same 401. 503 with a thousand deliveries of the organization that are not processed.",
    )
    .path_text(reference("InboxId"), "The id of an inbox.")
    .foreign_body(
        "JSON of any kind, at most 4 MiB; of GitHub and Gitea also a form with `payload`.",
        json!({ "zen": "Approachable is better than simple." }),
    )
    .fails(&[Failure::QueueFull])
    .answers(Success::of::<ReceiptShape>(
        schemas,
        200,
        "A duplicate of a delivery that was stored before.",
    ))
    .answers(Success::of::<ReceiptShape>(schemas, 202, "It is stored."))
}
